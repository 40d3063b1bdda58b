import { EXPIRE_INTERVAL_MS } from './connection.js'
import { UNSENT } from './errors.js'
import { Quiet } from './quiet.js'
import { Recorder } from './recorder.js'
import { constantRate, poissonRate, recordedTimes } from './schedule.js'

/**
 * @import { Connection, Done } from './connection.js'
 * @import { Load, Phase } from './index.js'
 * @import { Traffic } from '../../report/record.js'
 * @import { Recording } from '../access-log.js'
 */

/** Node's timers have a resolution of 1 ms. Answers also call pump, so at high rates pacing is finer. */
const PUMP_INTERVAL_MS = 1

/** Number of equal parts of a phase; the backlog is recorded at the end of each. */
export const LOOKS = 20

const REAL_CLOCK = { now: () => performance.now(), setInterval, clearInterval }

/**
 * Runs one phase until every request is answered, has failed or has timed out.
 * @template {Pick<Connection, 'expire'>} C
 * @param {C[]} connections @param {(connection: C, i: number, done: Done) => string | void} write sends request i, and returns the name of its entry
 * @param {Pick<Load, 'rate_rps' | 'timeout_s' | 'slices'> & { seed?: number, recording?: Recording, entries?: { name: string }[],
 *   nameOf?: (i: number) => string | undefined }} load seed: makes arrivals random; recording: supplies the arrivals; entries: entries
 *   of a mix; nameOf: the entry of a request that is never sent
 * @param {Phase} phase
 * @param {{ now: () => number } & Pick<typeof globalThis, 'setInterval' | 'clearInterval'>} [clock] in ms @returns {Promise<Traffic>}
 */
export function pace(connections, write, load, phase, clock = REAL_CLOCK) {
  const { timeout_s, slices, seed, recording, entries, nameOf } = load
  const { duration_s, signal, onCounts, onEnd, enough } = phase
  const rate = /** @type {number} */ (load.rate_rps)
  const random = seed === undefined ? null : poissonRate(rate, duration_s, seed)
  const recorded = recording && recordedTimes(recording, rate, duration_s)
  const schedule = recorded ?? random ?? constantRate(rate, duration_s)
  const recorder = new Recorder(entries, slices !== undefined, schedule.total)
  const quiet = new Quiet(onEnd)
  const timeout_ms = timeout_s * 1000
  /** A stack: the last connection used is reused first, so connections that the rate does not need stay idle and cost nothing. */
  const idle = [...connections]
  const start_ms = clock.now()
  let total = schedule.total
  let length_s = duration_s
  let noticed = 0
  let next = 0
  /** @type {number[]} */
  const backlog = []

  function pump() {
    const elapsed_ms = clock.now() - start_ms
    // A proof compares the requests served during its load; the rest of an overload would only delay the next load.
    if (slices && elapsed_ms >= duration_s * 1000) total = Math.min(total, next)
    const due = Math.min(total, schedule.dueBy(elapsed_ms))
    while (backlog.length < LOOKS && elapsed_ms >= ((backlog.length + 1) * duration_s * 1000) / LOOKS) {
      backlog.push(due - recorder.completed - recorder.failed)
    }
    for (; noticed < due; noticed++) recorder.lateness.add(elapsed_ms - schedule.dueAt_ms(noticed))
    for (; next < due; next++) {
      const waited_ms = elapsed_ms - schedule.dueAt_ms(next)
      if (waited_ms >= timeout_ms) recorder.error(UNSENT, waited_ms, nameOf?.(next))
      else if (idle.length > 0) dispatch(/** @type {C} */ (idle.pop()), next)
      else return
    }
  }

  /** @param {C} connection @param {number} i */
  function dispatch(connection, i) {
    recorder.sent++
    const due_ms = schedule.dueAt_ms(i)
    const sentAt_ms = clock.now() - start_ms
    recorder.queued.add(sentAt_ms - due_ms)
    const name = write(connection, i, (status, error) => {
      const at_ms = clock.now() - start_ms
      const latency_ms = at_ms - due_ms
      if (error) {
        recorder.error(error, latency_ms, name ?? '')
        // Reopening this connection may fail again, so all others are used first.
        idle.unshift(connection)
      } else {
        recorder.answer(status, latency_ms, at_ms, name ?? '', at_ms - sentAt_ms)
        idle.push(connection)
      }
      pump()
    })
  }

  return new Promise((resolve, reject) => {
    const pumping = clock.setInterval(() => {
      pump()
      if (recorder.completed + recorder.failed < total) {
        const elapsed_ms = clock.now() - start_ms
        if (elapsed_ms >= length_s * 1000) quiet.look(elapsed_ms, recorder.completed)
        return
      }
      quiet.end(recorder.completed)
      // A phase that stops early has no backlog at the remaining looks.
      const looks = Array.from({ length: LOOKS }, (_, i) => backlog[i] ?? 0)
      end(resolve, { ...recorder.summary(total, length_s), backlog: looks })
    }, PUMP_INTERVAL_MS)
    const expiring = clock.setInterval(() => {
      for (const connection of connections) connection.expire(timeout_ms, clock.now())
    }, EXPIRE_INTERVAL_MS)
    const counting = clock.setInterval(() => onCounts(recorder.counts), 1000)
    const abort = () => end(reject, signal.reason)
    signal.addEventListener('abort', abort)
    const stop = () => {
      length_s = Math.min(duration_s, (clock.now() - start_ms) / 1000)
      total = schedule.dueBy(length_s * 1000)
    }
    if (enough.aborted) stop()
    enough.addEventListener('abort', stop, { once: true })

    /** @template T @param {(value: T) => void} settle @param {T} value */
    function end(settle, value) {
      // Answers that arrive after an abort must not trigger more requests.
      total = 0
      for (const timer of [pumping, expiring, counting]) clock.clearInterval(timer)
      signal.removeEventListener('abort', abort)
      enough.removeEventListener('abort', stop)
      settle(value)
    }
  })
}
