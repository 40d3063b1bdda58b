import t from 'tap'
import { Recorder, Samples } from '../../../../../load/generators/drivers/recorder.js'

t.test('summary gives exact percentiles by nearest rank', async (t) => {
  const recorder = new Recorder()
  for (let i = 1000; i >= 1; i--) recorder.answer(201, i, i)
  const { latency_ms } = recorder.summary(1000, 1)
  t.match(latency_ms, { min: 1, p25: 250, p50: 500, p75: 750, p90: 900, p95: 950, p99: 990, p999: 999, max: 1000 })
  t.equal(latency_ms?.mean, 500.5)
})

t.test('summary keeps every sample when there are more than its first buffer holds', async (t) => {
  const recorder = new Recorder()
  for (let i = 1; i <= 40_000; i++) recorder.answer(200, i, 10)
  const { latency_ms } = recorder.summary(40_000, 1)
  t.match(latency_ms, { min: 1, mean: 20_000.5, p25: 10_000, p50: 20_000, p75: 30_000, max: 40_000 })
})

t.test('millions of samples fit into bounded memory, and their percentiles are good to four digits', async (t) => {
  const samples = new Samples()
  const COUNT = 2_500_000
  for (let i = 1; i <= COUNT; i++) samples.add(i / 1000)
  const distribution = /** @type {any} */ (samples.distribution())
  for (const [name, q] of Object.entries({ p25: 0.25, p50: 0.5, p99: 0.99, p999: 0.999, max: 1 })) {
    const expected = (q * COUNT) / 1000
    t.ok(Math.abs(distribution[name] / expected - 1) < 3e-4, `${name}: ${distribution[name]} for ${expected}`)
  }
  t.match(distribution, { min: 0.001, mean: 1250.001 })
  t.ok(Math.abs(Number(samples.lately(0.99)) / 2475 - 1) < 0.01, 'of some of them')
  t.equal(samples.lately(0.99), null, 'nothing has come since')
  t.strictSame(samples.distribution(), distribution, 'it can be asked again')
})

t.test('rates are per second of the load, or of the time to the last answer when that took longer', async (t) => {
  const inTime = new Recorder()
  for (let i = 0; i < 100; i++) inTime.answer(201, 1, 900)
  t.equal(inTime.summary(100, 1).achieved_rps, 100)

  const overrun = new Recorder()
  for (let i = 0; i < 100; i++) overrun.answer(201, 1, 4000)
  t.equal(overrun.summary(100, 1).achieved_rps, 25)
  t.equal(overrun.summary(100, 1).goodput_rps, 25)
  t.equal(overrun.summary(100, 3).achieved_rps, 25)
  t.equal(overrun.summary(100, 3.999).achieved_rps, 25)
  t.equal(overrun.summary(100, 6).achieved_rps, 16.67, 'two digits')
})

t.test('answers 200 to 299 are a success', async (t) => {
  const recorder = new Recorder()
  for (const status of [199, 200, 299, 300]) recorder.answer(status, status, 1)
  const { goodput_rps, ok_latency_ms } = recorder.summary(4, 1)
  t.equal(goodput_rps, 2)
  t.match(ok_latency_ms, { min: 200, max: 299 }, 'whose latencies count on their own as well')
})

t.test('lateness and the wait for a connection have distributions of their own', async (t) => {
  const recorder = new Recorder()
  for (const ms of [1, 2, 3]) recorder.lateness.add(ms)
  for (const ms of [4, 5, 6.1236]) recorder.queued.add(ms)
  const { lateness_ms, queued_ms, latency_ms } = recorder.summary(3, 1)
  t.match(lateness_ms, { min: 1, mean: 2, p50: 2, max: 3 })
  t.match(queued_ms, { min: 4, p50: 5, max: 6.124 }, 'of three digits')
  t.equal(latency_ms, null)
})

t.test('progress tells how many requests had which end so far', async (t) => {
  const recorder = new Recorder()
  t.strictSame(recorder.counts, { sent: 0, completed: 0, ok: 0, failed: 0, p99_ms: null })
  recorder.sent = 4
  recorder.answer(201, 7, 10)
  recorder.answer(500, 8, 10)
  recorder.error('server:refused')
  t.strictSame(recorder.counts, { sent: 4, completed: 2, ok: 1, failed: 1, p99_ms: 8 })
  t.equal(recorder.summary(4, 1).sent, 4)
})

t.test('progress gives the p99 of what came since the last look, from a thousand to two thousand values', async (t) => {
  const recorder = new Recorder()
  const falling = (/** @type {number} */ size) => {
    for (let i = size; i >= 1; i--) recorder.answer(201, i, 10)
    return recorder.counts.p99_ms
  }
  t.equal(falling(100), 99, 'all of a few')
  t.equal(falling(1999), 1980, 'all of less than 2,000')
  t.equal(falling(3000), 2970, 'every other one of 3,000, and none of those before')
  t.equal(falling(9000), 8912, 'every eighth of 9,000')
  t.equal(falling(0), null, 'nothing new')
})

t.test('goodput counts 2xx alone, success is of what was planned', async (t) => {
  const recorder = new Recorder([{ name: 'a' }, { name: 'b' }])
  for (const status of [201, 200, 503, 404]) recorder.answer(status, 1, 500, 'b')
  recorder.error('client:unsent', 10_000)
  const summary = recorder.summary(5, 1)
  t.match(summary.by_entry, { a: { completed: 0, ok: 0, latency_ms: null }, b: { completed: 4, ok: 2 } })
  t.equal(summary.by_entry?.b.latency_ms?.max, 1)
  t.equal(summary.goodput_rps, 2)
  t.equal(summary.achieved_rps, 4)
  t.equal(summary.success_ratio, 2 / 5)
  t.strictSame(summary.status, { 200: 1, 201: 1, 404: 1, 503: 1 })
  t.strictSame(summary.errors, { 'client:unsent': 1 })
})

t.test('a wait that was given up is a latency; an error that came at once is none', async (t) => {
  const recorder = new Recorder()
  recorder.answer(201, 5, 5)
  recorder.error('client:timeout', 10_000)
  recorder.error('server:refused', 1)
  const { latency_ms } = recorder.summary(3, 1)
  t.equal(latency_ms?.max, 10_000)
  t.equal(latency_ms?.min, 5)
})

t.test('what became of the requests without an answer is counted by entry, too', async (t) => {
  const recorder = new Recorder([{ name: 'a' }, { name: 'b' }])
  recorder.answer(201, 5, 5, 'a')
  recorder.error('client:timeout', 100, 'a')
  recorder.error('server:refused', 1, 'b')
  recorder.error('client:unsent', 200)
  const { by_entry } = recorder.summary(4, 1)
  t.match(by_entry, {
    a: { completed: 1, failed: 1, latency_ms: { max: 100 } },
    b: { completed: 0, failed: 1, latency_ms: null },
  })
})

t.test('answers are counted in the second in which they came, seconds without any included', async (t) => {
  const recorder = new Recorder()
  recorder.answer(201, 1, 10)
  recorder.answer(500, 1, 2500)
  t.strictSame(recorder.summary(2, 3).per_second, [
    { completed: 1, ok: 1 },
    { completed: 0, ok: 0 },
    { completed: 1, ok: 0 },
  ])
})

t.test('without a single sample there is no distribution', async (t) => {
  t.equal(new Recorder().summary(0, 1).success_ratio, 0, 'of nothing planned, nothing succeeded')
  t.match(new Recorder().summary(10, 1), { latency_ms: null, lateness_ms: null, achieved_rps: 0, success_ratio: 0 })
})

t.test('room for what is expected is made beforehand', async (t) => {
  const count = 20_000
  const [known, unknown] = [count, 1000].map((expected) => new Recorder([{ name: 'a' }], false, expected))
  let made = 0
  class Counted extends Float32Array {
    constructor(/** @type {number} */ length) {
      super(length)
      made++
    }
  }
  t.intercept(globalThis, 'Float32Array', { value: Counted })
  for (let i = 0; i < count; i++) known.answer(201, i, i, 'a', i)
  t.equal(made, 0, 'none is made during the load')
  for (let i = 0; i < count; i++) unknown.answer(201, i, i, 'a', i)
  t.ok(made > 0, 'but where more came than was expected')
})

t.test('nothing is lost, however many were expected', async (t) => {
  for (const expected of [undefined, 0, 10, 100, 1000]) {
    const samples = new Samples(expected)
    for (let i = 1; i <= 100; i++) samples.add(i)
    t.match(samples.distribution(), { min: 1, mean: 50.5, max: 100, p25: 25, p99: 99 }, `${expected} expected`)
  }
})
