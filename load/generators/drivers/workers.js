import { once } from 'node:events'
import { EXPIRE_INTERVAL_MS } from './connection.js'
import { openSender } from './sender.js'
import { countClosedLoop } from './tally.js'

/**
 * @import { Connection } from './connection.js'
 * @import { Driver, Load, Phase } from './index.js'
 * @import { Recorder } from './recorder.js'
 * @import { Sender } from './sender.js'
 * @import { Answered } from './tally.js'
 */

const RETRY_DELAY_MS = 10

/**
 * Closed loop over the connections of `paced`, for any HTTP or HTTPS service. Each worker has its own connection and sends its next request
 * after the last is answered, at most at the rate of the load's per_worker_rps: it has a place every 1 / per_worker_rps and sends once for
 * each, late if an answer is late. Latency starts when a request is sent, and includes connecting if it had to wait for that.
 * @type {Driver}
 */
export const workers = {
  name: 'workers',
  loop: 'closed',
  version: async () => process.version,
  async open(load) {
    const sender = await openSender(load)
    let requests = 0
    return {
      run: (phase) =>
        countClosedLoop(load, phase, (...counting) => drive(sender, load, phase, () => requests++, counting)),
      close: sender.close,
    }
  },
}

/**
 * @param {Sender} sender @param {Load} load @param {Phase} phase @param {() => number} nth number of the next request
 * @param {[recorder: Recorder, answered: Answered]} counting
 */
async function drive({ connections, send }, load, { duration_s, signal }, nth, [recorder, answered]) {
  const { timeout_s, per_worker_rps } = load
  const start_ms = performance.now()
  const end_ms = start_ms + duration_s * 1000
  const gap_ms = per_worker_rps ? 1000 / per_worker_rps : 0

  /** @param {Connection} connection @param {number} i of the worker @param {() => void} ended */
  function work(connection, i, ended) {
    // Those that pause begin one after the other: at once, all would send in bursts.
    let place_ms = start_ms + (gap_ms * i) / connections.length
    let due_ms = place_ms
    const next = () => {
      const now_ms = performance.now()
      if (now_ms >= end_ms || signal.aborted) return ended()
      if (due_ms > now_ms) return void setTimeout(next, Math.min(due_ms, end_ms) - now_ms)
      recorder.sent++
      const name = send(connection, nth(), (status, error) => {
        const answered_ms = performance.now()
        if (error) recorder.error(error, answered_ms - now_ms, name)
        else answered(name, status, answered_ms - now_ms)
        place_ms = placeAfter(place_ms, gap_ms, answered_ms)
        due_ms = error ? Math.max(place_ms, answered_ms + RETRY_DELAY_MS) : place_ms
        next()
      })
    }
    next()
  }

  const expiring = setInterval(() => {
    for (const connection of connections) connection.expire(timeout_s * 1000, performance.now())
  }, EXPIRE_INTERVAL_MS)
  const all = connections.map((connection, i) => {
    return new Promise((resolve) => work(connection, i, () => resolve(null)))
  })
  await Promise.race([Promise.all(all), once(signal, 'abort')])
  clearInterval(expiring)
}

/**
 * The next place of a worker: the last that passed while it waited, for which it sends at once, or else the one to come. The earlier ones
 * are dropped. So a stall of the target, which answers all workers at the same moment, does not make them send in step from then on. Pure.
 * @param {number} place_ms @param {number} gap_ms between its places; 0: no cap @param {number} answered_ms
 */
export function placeAfter(place_ms, gap_ms, answered_ms) {
  if (gap_ms === 0) return answered_ms
  return place_ms + Math.max(1, Math.floor((answered_ms - place_ms) / gap_ms)) * gap_ms
}
