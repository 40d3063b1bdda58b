import t from 'tap'
import { Recorder } from '../../../load/drivers/recorder.js'

t.test('summary gives exact percentiles by nearest rank', async (t) => {
  const recorder = new Recorder()
  for (let i = 1000; i >= 1; i--) recorder.answer(201, i, i)
  const { latency_ms } = recorder.summary(1000, 1)
  t.match(latency_ms, { min: 1, p25: 250, p50: 500, p75: 750, p90: 900, p95: 950, p99: 990, p999: 999, max: 1000 })
  t.equal(latency_ms?.mean, 500.5)
})

t.test('summary keeps every sample when there are more than its first buffer holds', async (t) => {
  const recorder = new Recorder()
  for (let i = 1; i <= 100_000; i++) recorder.answer(200, i, 10)
  t.match(recorder.summary(100_000, 1).latency_ms, { min: 1, p50: 50_000, max: 100_000 })
})

t.test('rates are per second of the load, or of the time to the last answer when that took longer', async (t) => {
  const inTime = new Recorder()
  for (let i = 0; i < 100; i++) inTime.answer(201, 1, 900)
  t.equal(inTime.summary(100, 1).achieved_rps, 100)

  const overrun = new Recorder()
  for (let i = 0; i < 100; i++) overrun.answer(201, 1, 4000)
  t.equal(overrun.summary(100, 1).achieved_rps, 25)
})

t.test('goodput counts 2xx alone, success is of what was planned', async (t) => {
  const recorder = new Recorder()
  for (const status of [201, 200, 503, 404]) recorder.answer(status, 1, 500)
  recorder.error('client:unsent', 10_000)
  const summary = recorder.summary(5, 1)
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
  recorder.error('server:refused')
  const { latency_ms } = recorder.summary(3, 1)
  t.equal(latency_ms?.max, 10_000)
  t.equal(latency_ms?.min, 5)
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
  t.match(new Recorder().summary(10, 1), { latency_ms: null, lateness_ms: null, achieved_rps: 0, success_ratio: 0 })
})
