import { getEventListeners } from 'node:events'
import t from 'tap'
import { TIMEOUT, UNSENT } from '../../../../../load/generators/drivers/errors.js'
import { pace } from '../../../../../load/generators/drivers/pacing.js'
import { seededRandom } from '../../../../../load/system/random.js'
import { virtualClock } from '../../../../support/virtual-clock.js'

/** @import { Done } from '../../../../../load/generators/drivers/connection.js' */

/** How often the generator looks at its schedule. */
const TICK_MS = 1

/** What the generator's clock shows when a phase begins; the tests count from there. */
const START_MS = 7_000_000

/** @param {ReturnType<typeof virtualClock>} clock */
const shown = (clock) => ({ ...clock, now: () => START_MS + clock.now() })

/**
 * One phase over connections that answer after some time, or never.
 * @param {object} options
 * @param {number} [options.rate_rps]
 * @param {number} [options.duration_s]
 * @param {number} [options.timeout_s]
 * @param {number} [options.connections]
 * @param {any[]} [options.slices] of a proof
 * @param {(i: number) => { after_ms?: number, status?: number, error?: string }} [options.answer] without after_ms: never
 * @param {() => number} [options.late_ms] how late timers run
 */
function startPhase({
  rate_rps = 100,
  duration_s = 1,
  timeout_s = 10,
  connections: count = 4,
  slices,
  answer = () => ({ after_ms: 5 }),
  late_ms,
}) {
  const clock = virtualClock({ late_ms })
  /** @type {{ i: number, connection: number, at_ms: number }[]} */
  const writes = []
  /** @type {{ counts: { sent: number, completed: number, failed: number }, at_ms: number }[]} */
  const counts = []
  const [stopping, enough] = [new AbortController(), new AbortController()]
  /** @type {number[]} */
  const endedAt_ms = []

  const connections = Array.from({ length: count }, (_, number) => {
    /** @type {{ done: Done, sentAt_ms: number } | null} */
    let request = null
    const finish = (/** @type {number} */ status, /** @type {string | null} */ error) => {
      const done = request?.done
      request = null
      done?.(status, error)
    }
    return {
      send: (/** @type {number} */ i, /** @type {Done} */ done) => {
        if (request) throw new Error(`expected connection ${number} to be idle for request ${i}`)
        writes.push({ i, connection: number, at_ms: clock.now() })
        request = { done, sentAt_ms: START_MS + clock.now() }
        const { after_ms, status = 201, error = null } = answer(i)
        if (after_ms !== undefined) clock.setTimeout(() => finish(error ? 0 : status, error), after_ms)
      },
      expire: (/** @type {number} */ timeout_ms, /** @type {number} */ now_ms) => {
        if (request && now_ms - request.sentAt_ms >= timeout_ms) finish(0, TIMEOUT)
      },
    }
  })
  const ended = pace(
    connections,
    (connection, i, done) => connection.send(i, done),
    { rate_rps, timeout_s, slices },
    {
      duration_s,
      signal: stopping.signal,
      enough: enough.signal,
      onCounts: (/** @type {any} */ { sent, completed, failed }) => {
        counts.push({ counts: { sent, completed, failed }, at_ms: clock.now() })
      },
      onEnd: () => endedAt_ms.push(clock.now()),
    },
    shown(clock),
  )
  return { clock, writes, counts, ended, stopping, enough, ends: () => endedAt_ms.length, endedAt_ms }
}

t.test(
  'every request leaves in its turn, within a tick of its time, and the phase ends with the last answer',
  async (t) => {
    const { clock, writes, ended, ends, stopping, enough } = startPhase({ rate_rps: 300, duration_s: 2 })
    clock.runUntil(2010)
    const traffic = await ended
    t.equal(writes.length, 600)
    t.strictSame(
      writes.map(({ i }) => i),
      Array.from({ length: 600 }, (_, i) => i),
    )
    const lateness_ms = writes.map(({ i, at_ms }) => at_ms - (i * 1000) / 300)
    t.ok(Math.min(...lateness_ms) >= 0, 'none is early')
    t.ok(Math.max(...lateness_ms) <= TICK_MS, `${Math.max(...lateness_ms)} ms`)
    t.equal(ends(), 1)
    t.equal(clock.timers(), 0, 'no timer is left')
    const listeners = [stopping, enough].map(({ signal }) => getEventListeners(signal, 'abort').length)
    t.strictSame(listeners, [0, 0], 'nobody listens any more')
    const { planned, sent, completed, achieved_rps, success_ratio, status, errors } = traffic
    t.strictSame(
      { planned, sent, completed, achieved_rps, success_ratio, status, errors },
      {
        planned: 600,
        sent: 600,
        completed: 600,
        achieved_rps: 299.7,
        success_ratio: 1,
        status: { 201: 600 },
        errors: {},
      },
    )
  },
)

t.test('the newest idle connection takes the next request, and those that are not needed stay idle', async (t) => {
  const { clock, writes, ended } = startPhase({
    ...{ rate_rps: 100, connections: 4 },
    answer: (i) => ({ after_ms: i === 50 ? 15 : 5 }),
  })
  clock.runUntil(1010)
  await ended
  const used = writes.map(({ connection }) => connection)
  t.strictSame(used.slice(0, 51), Array(51).fill(3))
  t.strictSame(used.slice(51, 53), [2, 2], 'while one is busy, another, which is idle last')
  t.strictSame([...new Set(used)], [3, 2])
})

t.test('a connection that failed waits until all others are busy', async (t) => {
  const { clock, writes, ended } = startPhase({
    ...{ rate_rps: 100, connections: 3 },
    answer: (i) => (i < 2 ? { after_ms: 5, error: 'client:ports' } : { after_ms: 5 }),
  })
  clock.runUntil(1010)
  const { errors, status } = await ended
  t.strictSame(
    writes.slice(0, 5).map(({ connection }) => connection),
    [2, 1, 0, 0, 0],
  )
  t.strictSame([errors, status], [{ 'client:ports': 2 }, { 201: 98 }])
})

t.test('the backlog is what was due and not finished, at the ends of twenty equal parts', async (t) => {
  const fine = startPhase({ rate_rps: 100, duration_s: 2 })
  fine.clock.runUntil(2010)
  t.strictSame(
    (await fine.ended).backlog,
    [...Array(19).fill(1), 0],
    'one is sent at the end of each part but the last',
  )

  const behind = startPhase({ rate_rps: 200, connections: 1, answer: () => ({ after_ms: 10 }) })
  behind.clock.runUntil(2010)
  const { backlog = [] } = await behind.ended
  t.equal(backlog.length, 20)
  t.strictSame([backlog[0], backlog[9], backlog[19]], [7, 52, 101], 'half of what is due is not served')
})

t.test('minutes at an odd rate do not drift, though each timer is late', async (t) => {
  for (const { rate_rps, duration_s } of [
    { rate_rps: 0.7, duration_s: 600 },
    { rate_rps: 7.3, duration_s: 300 },
    { rate_rps: 333.3, duration_s: 60 },
  ]) {
    const random = seededRandom(1)
    const { clock, writes, ended } = startPhase({ rate_rps, duration_s, late_ms: () => 1.5 * random() })
    clock.runUntil(duration_s * 1000 + 100)
    const { planned, sent, lateness_ms } = await ended
    t.equal(planned, Math.round(rate_rps * duration_s))
    t.equal(sent, planned)
    const off_ms = writes.map(({ i, at_ms }) => at_ms - (i * 1000) / rate_rps)
    t.equal(off_ms.length, planned)
    const worst_ms = off_ms.reduce((worst, one) => Math.max(worst, Math.abs(one)), 0)
    t.ok(worst_ms <= TICK_MS + 1.5, `${rate_rps}/s: each within a tick of its own time, the worst ${worst_ms} ms`)
    t.ok(Number(lateness_ms?.max) > TICK_MS, `${rate_rps}/s: the timers were late, and the lateness says so`)
  }
})

t.test(
  'after a stall of the generator all that was due leaves at once, and its wait is lateness and latency',
  async (t) => {
    const { clock, writes, ended } = startPhase({ rate_rps: 100, connections: 100 })
    clock.runUntil(205)
    clock.stall(500)
    clock.runUntil(1100)
    const traffic = await ended
    const caughtUp = writes.filter(({ at_ms }) => at_ms === 705)
    t.strictSame(
      caughtUp.map(({ i }) => i),
      Array.from({ length: 50 }, (_, n) => 21 + n),
      'those due from 210 to 700 ms',
    )
    const later = writes.filter(({ at_ms }) => at_ms > 705)
    t.strictSame(
      later.map(({ i, at_ms }) => [i, at_ms]),
      Array.from({ length: 29 }, (_, n) => [71 + n, 710 + 10 * n]),
      'and then each on its own time',
    )
    t.equal(traffic.lateness_ms?.max, 495, 'the first was due at 210 ms')
    t.equal(traffic.lateness_ms?.p75, 245, 'half of all were late, by 245 ms at the median')
    t.equal(traffic.queued_ms?.max, 495)
    t.equal(traffic.latency_ms?.max, 500, '5 ms of it the service’s')
  },
)

t.test('where every connection is busy requests queue, which is not lateness, and their wait counts', async (t) => {
  const { clock, writes, ended } = startPhase({
    ...{ rate_rps: 200, duration_s: 1, connections: 1 },
    answer: () => ({ after_ms: 10 }),
  })
  clock.runUntil(2010)
  const { completed, achieved_rps, lateness_ms, queued_ms, latency_ms, ok_service_ms } = await ended
  t.strictSame(
    writes.map(({ i, at_ms }) => [i, at_ms]),
    Array.from({ length: 200 }, (_, i) => [i, 1 + 10 * i]),
    'one leaves as soon as another is answered, in the order in which they were due',
  )
  t.equal(completed, 200)
  t.equal(achieved_rps, 99.95, 'over the 2.001 s to the last answer')
  t.ok(Number(lateness_ms?.max) <= TICK_MS, 'the generator did its part')
  t.equal(queued_ms?.max, 1 + 10 * 199 - 5 * 199)
  t.equal(latency_ms?.max, Number(queued_ms?.max) + 10)
  t.strictSame([ok_service_ms?.min, ok_service_ms?.max], [10, 10], 'the service had none of that wait')
})

t.test('an overload that proves a limit ends with its duration: what waits by then is not sent', async (t) => {
  const { clock, writes, ended } = startPhase({
    ...{ rate_rps: 200, duration_s: 1, connections: 1, slices: [] },
    answer: () => ({ after_ms: 10 }),
  })
  clock.runUntil(1020)
  const { planned, sent, completed } = await ended
  t.strictSame({ planned, sent, completed }, { planned: 100, sent: 100, completed: 100 })
  t.equal(writes.at(-1)?.at_ms, 991)
})

t.test('what waits for longer than the timeout is never sent, and its wait is a latency', async (t) => {
  const { clock, writes, ended } = startPhase({
    ...{ rate_rps: 100, duration_s: 1, timeout_s: 0.5, connections: 1 },
    answer: (i) => (i === 0 ? {} : { after_ms: 5 }),
  })
  clock.runUntil(5000)
  const { planned, sent, completed, errors, latency_ms } = await ended
  // The first is given up at 550 ms, when connections are next searched; by then those due until 50 ms have waited too long.
  t.strictSame(errors, { [TIMEOUT]: 1, [UNSENT]: 5 })
  t.equal(writes[1].i, 6)
  t.equal(writes[1].at_ms, 550)
  t.equal(planned, 100)
  t.equal(sent, 95)
  t.equal(completed, 94)
  t.equal(latency_ms?.max, 550)
  t.equal(latency_ms?.p99, 500, 'of those that were not sent')
})

t.test('an error frees its connection and is no latency; other answers are counted by status', async (t) => {
  const { clock, writes, ended } = startPhase({
    ...{ rate_rps: 100, connections: 1 },
    answer: (i) => (i % 2 ? { after_ms: 5, error: 'server:reset' } : { after_ms: 2, status: 503 }),
  })
  clock.runUntil(1010)
  const { sent, completed, errors, status, success_ratio, latency_ms } = await ended
  t.equal(writes.length, 100)
  t.strictSame(
    { sent, completed, errors, status, success_ratio },
    { sent: 100, completed: 50, errors: { 'server:reset': 50 }, status: { 503: 50 }, success_ratio: 0 },
  )
  t.ok(Number(latency_ms?.max) <= 2 + TICK_MS, 'of the 503s alone')
})

t.test('enough: nothing is begun any more, and the phase ends with the answers to what was', async (t) => {
  const { clock, writes, ended, enough, ends } = startPhase({
    ...{ rate_rps: 100, duration_s: 10, connections: 20 },
    answer: () => ({ after_ms: 100 }),
  })
  clock.runUntil(405)
  enough.abort()
  clock.runUntil(490)
  t.equal(ends(), 0, 'ten are still out')
  clock.runUntil(510)
  t.equal(ends(), 1)
  const { planned, sent, completed, success_ratio, per_second } = await ended
  t.equal(writes.length, 41)
  t.strictSame({ planned, sent, completed, success_ratio }, { planned: 41, sent: 41, completed: 41, success_ratio: 1 })
  t.strictSame(per_second, [{ completed: 41, ok: 41 }])
})

t.test('enough before the beginning: one request, for there is an answer to wait for', async (t) => {
  const clock = virtualClock()
  const ended = pace(
    [{ expire: () => {} }],
    (_, _i, done) => void clock.setTimeout(() => done(201, null), 5),
    { rate_rps: 100, timeout_s: 1 },
    {
      duration_s: 1,
      signal: new AbortController().signal,
      enough: AbortSignal.abort(),
      onCounts: () => {},
      onEnd: () => {},
    },
    shown(clock),
  )
  clock.runUntil(20)
  t.equal((await ended).planned, 1)
})

t.test('abort: the phase rejects with the reason, and answers that come later set off nothing', async (t) => {
  const { clock, writes, ended, stopping, ends } = startPhase({
    ...{ rate_rps: 100, connections: 2 },
    answer: () => ({ after_ms: 50 }),
  })
  clock.runUntil(301)
  const before = writes.length
  t.ok(before > 2)
  stopping.abort(new Error('the user has seen enough'))
  await t.rejects(ended, { message: 'the user has seen enough' })
  clock.runUntil(5000)
  t.equal(writes.length, before)
  t.equal(ends(), 0)
  t.equal(clock.timers(), 0)
})

t.test('somebody who watches is told once a second', async (t) => {
  const { clock, counts, ended } = startPhase({ rate_rps: 100, duration_s: 3, answer: () => ({ after_ms: 25 }) })
  clock.runUntil(3100)
  await ended
  t.strictSame(counts, [
    { at_ms: 1000, counts: { sent: 101, completed: 98, failed: 0 } },
    { at_ms: 2000, counts: { sent: 201, completed: 198, failed: 0 } },
    { at_ms: 3000, counts: { sent: 300, completed: 298, failed: 0 } },
  ])
})

t.test('there is room for every request before the first one leaves', async (t) => {
  /** @type {number[]} */
  const lengths = []
  class Counted extends Float32Array {
    constructor(/** @type {any[]} */ ...given) {
      super(.../** @type {[number]} */ (given))
      lengths.push(this.length)
    }
  }
  t.intercept(globalThis, 'Float32Array', { value: Counted })
  const { clock, ended } = startPhase({ rate_rps: 300, duration_s: 2 })
  t.ok(lengths.length > 0)
  t.ok(
    lengths.every((length) => length === 600),
    `${lengths}`,
  )
  clock.runUntil(2010)
  await ended
})

t.test('a request that is never sent counts for its entry', async (t) => {
  const clock = virtualClock({})
  const connection = { send() {}, expire() {} }
  const write = (/** @type {any} */ _, /** @type {number} */ _i, /** @type {Done} */ done) => {
    clock.setTimeout(() => done(201, null), 30)
    return 'a'
  }
  const load = { rate_rps: 100, timeout_s: 0.1, entries: [{ name: 'a' }], nameOf: () => 'a' }
  const phase = /** @type {any} */ ({
    duration_s: 0.5,
    signal: new AbortController().signal,
    enough: new AbortController().signal,
    onCounts() {},
    onEnd() {},
  })
  const ended = pace([connection], write, load, phase, clock)
  clock.runUntil(2000)
  const { planned, errors, by_entry } = await ended
  t.ok(errors[UNSENT] > 0, 'one connection cannot send all')
  t.equal(Number(by_entry?.a.completed) + Number(by_entry?.a.failed), planned)
})

t.test('a request without an answer does not put off the end of the load, and a late answer does', async (t) => {
  const lost = startPhase({ answer: (i) => (i === 50 ? {} : { after_ms: 5 }) })
  lost.clock.runUntil(20_000)
  await lost.ended
  t.equal(lost.endedAt_ms.length, 1, 'the load was over before the timeout')
  t.ok(lost.endedAt_ms[0] >= 1000 && lost.endedAt_ms[0] < 1200, `${lost.endedAt_ms} ms`)

  const late = startPhase({ answer: (i) => ({ after_ms: i === 50 ? 5000 : 5 }) })
  late.clock.runUntil(20_000)
  await late.ended
  const [before_ms, after_ms, ...more] = late.endedAt_ms
  t.ok(before_ms < 1200 && after_ms >= 5500 && after_ms < 5600, `${late.endedAt_ms} ms`)
  t.strictSame(more, [])

  const silent = startPhase({ answer: () => ({}) })
  silent.clock.runUntil(30_000)
  await silent.ended
  t.equal(silent.endedAt_ms.length, 1, 'no answer at all')
  t.ok(silent.endedAt_ms[0] < 1200, `${silent.endedAt_ms} ms`)
})

t.test('answers that trickle in after a load put off its end, but not once for each of them', async (t) => {
  const slow = startPhase({ rate_rps: 100, connections: 100, answer: (i) => ({ after_ms: 1000 + 150 * i }) })
  slow.clock.runUntil(30_000)
  await slow.ended
  t.ok(slow.endedAt_ms.length < 8, `${slow.endedAt_ms} ms`)
  t.ok(Number(slow.endedAt_ms.at(-1)) > 10_000, `${slow.endedAt_ms} ms`)
})
