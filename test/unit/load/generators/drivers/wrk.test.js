import t from 'tap'
import { measuredOnly, summarise, threadsFor } from '../../../../../load/generators/drivers/wrk.js'

t.test('wrk: what came after its timeout is no success', async (t) => {
  const nothing = { failed: null, threads: 2, numbers: 20, connect: 0, read: 0, write: 0, seconds: {} }
  const result = { ...nothing, sent: 10, requests: 10, duration_us: 1e6, timeout: 3 }
  const histogram = /** @type {[number, number][]} */ ([[1000, 7]])
  const load = { connections: 20, timeout_s: 1 }
  const traffic = summarise({ ...result, status: { 201: 10 }, histogram }, load)
  t.match(traffic, {
    status: { 201: 7 },
    completed: 7,
    goodput_rps: 7,
    success_ratio: 0.7,
    errors: { 'client:timeout': 3 },
  })
  t.equal(traffic.ok_latency_ms?.max, 1)
  t.equal(traffic.threads, 2)
  const mixed = summarise({ ...result, status: { 201: 2, 503: 8 }, histogram }, load)
  t.strictSame(mixed.status, { 503: 7 }, 'the successes are the first that are not counted')
})

t.test('wrk: a timeout of a fraction of a second counts, although wrk rounds it up', async (t) => {
  const result = { failed: null, threads: 2, numbers: 20, connect: 0, read: 0, write: 0, seconds: {}, timeout: 1 }
  const histogram = /** @type {[number, number][]} */ ([
    [1000, 4],
    [800_000, 5],
  ])
  const counts = { sent: 10, requests: 10, duration_us: 1e6, status: { 201: 10 }, histogram }
  const traffic = summarise({ ...result, ...counts }, { connections: 20, timeout_s: 0.5 })
  t.match(traffic, { status: { 201: 4 }, completed: 4, errors: { 'client:timeout': 6 } })
  t.equal(traffic.ok_latency_ms?.max, 1)
  t.equal(traffic.latency_ms?.max, 500)
})

t.test('wrk: the latencies it makes up are taken out again', async (t) => {
  const measured = /** @type {[number, number][]} */ ([
    [1, 5],
    [7, 3],
    [20, 2],
    [23, 1],
    [45, 4],
  ])
  for (const expected_us of [1, 3, 5, 10, 30]) {
    t.strictSame(measuredOnly(asWrkCorrects(measured, expected_us), expected_us), measured, `every ${expected_us} us`)
  }
})

t.test('wrk: every thread has the same number of connections, and none is left out', async (t) => {
  for (const [connections, cores, threads] of [
    [8, 2, 2],
    [7, 2, 1],
    [1, 4, 1],
    [9, 4, 3],
    [64, 6, 4],
  ]) {
    t.equal(threadsFor(connections, cores), threads, `${connections} connections on ${cores} cores`)
  }
})

/** What wrk does when its run is over. @param {[number, number][]} histogram @param {number} expected_us */
function asWrkCorrects(histogram, expected_us) {
  const most = Math.max(...histogram.map(([us]) => us))
  const data = Array.from({ length: most + 1 }, (_, us) => histogram.find(([one]) => one === us)?.[1] ?? 0)
  for (let us = 2 * expected_us; us <= most; us++) {
    for (let made = us - expected_us; data[us] > 0 && made > expected_us; made -= expected_us) data[made] += data[us]
  }
  return /** @type {[number, number][]} */ (data.map((count, us) => [us, count]).filter(([, count]) => count > 0))
}
