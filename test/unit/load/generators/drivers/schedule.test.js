import t from 'tap'
import { constantRate, poissonRate, recordedTimes } from '../../../../../load/generators/drivers/schedule.js'

const rows = [
  { rate_rps: 1000, duration_s: 1, elapsed_ms: -1, due: 0, about: 'nothing is due before the start' },
  { rate_rps: 1000, duration_s: 1, elapsed_ms: 0, due: 1, about: 'the first request is due at the start' },
  { rate_rps: 1000, duration_s: 1, elapsed_ms: 0.99, due: 1, about: 'the second is not due early' },
  { rate_rps: 1000, duration_s: 1, elapsed_ms: 1, due: 2, about: 'the second is due after one interval' },
  { rate_rps: 1000, duration_s: 1, elapsed_ms: 999, due: 1000, about: 'the last is due one interval before the end' },
  { rate_rps: 1000, duration_s: 1, elapsed_ms: 60_000, due: 1000, about: 'no more than the total is ever due' },
  { rate_rps: 10, duration_s: 3, elapsed_ms: 60_000, due: 30, about: 'the total is that of the whole time' },
  { rate_rps: 3, duration_s: 0.5, elapsed_ms: 60_000, due: 2, about: 'rounded' },
  { rate_rps: 1, duration_s: 10, elapsed_ms: -1500, due: 0, about: 'nor is anything due long before the start' },
  { rate_rps: 3, duration_s: 2, elapsed_ms: 400, due: 2, about: 'an interval may be a fraction of a millisecond' },
  {
    rate_rps: 1,
    duration_s: 0.1,
    elapsed_ms: 0,
    due: 1,
    about: 'a time shorter than an interval still holds one request',
  },
]

t.test('constantRate tells how many requests are due', async (t) => {
  for (const { rate_rps, duration_s, elapsed_ms, due, about } of rows) {
    t.equal(constantRate(rate_rps, duration_s).dueBy(elapsed_ms), due, about)
  }
})

t.test('constantRate counts a request as due at exactly the time it says', async (t) => {
  const schedule = constantRate(7300, 1)
  for (const i of [0, 1, 2, 999, 7299]) t.ok(schedule.dueBy(schedule.dueAt_ms(i) + 1e-6) >= i + 1, `request ${i}`)
})

t.test('constantRate spreads requests evenly from the start', async (t) => {
  const { total, dueAt_ms } = constantRate(4, 2)
  t.equal(total, 8)
  t.strictSame([0, 1, 2, 7].map(dueAt_ms), [0, 250, 500, 1750])
})

t.test('poissonRate: both questions have the same answer, and the rate is kept', async (t) => {
  for (const { rate_rps, duration_s } of [
    { rate_rps: 7300, duration_s: 1 },
    { rate_rps: 1000, duration_s: 2.5 },
    { rate_rps: 3, duration_s: 2 },
  ]) {
    const { total, dueAt_ms, dueBy } = poissonRate(rate_rps, duration_s, 1)
    t.equal(total, Math.round(rate_rps * duration_s))
    const times_ms = Array.from({ length: total }, (_, i) => dueAt_ms(i))
    t.strictSame(
      times_ms,
      times_ms.toSorted((a, b) => a - b),
      'they rise',
    )
    t.ok(times_ms[0] >= 0 && Number(times_ms.at(-1)) <= duration_s * 1000)
    const wrong = times_ms.filter((time_ms, i) => dueBy(time_ms) !== i + 1 || dueBy(time_ms - 1e-6) > i)
    t.strictSame(wrong, [])
    t.strictSame([dueBy(-1), dueBy(duration_s * 1000 + 1), dueBy(1e9)], [0, total, total])
  }
})

t.test('poissonRate: gaps are those of a Poisson process, the same for the same seed', async (t) => {
  const { total, dueAt_ms } = poissonRate(1000, 20, 7)
  const times_ms = Array.from({ length: total }, (_, i) => dueAt_ms(i))
  const gaps_ms = times_ms.slice(1).map((time_ms, i) => time_ms - times_ms[i])
  const mean = gaps_ms.reduce((sum, gap) => sum + gap, 0) / gaps_ms.length
  const share = (/** @type {number} */ from_ms) => gaps_ms.filter((gap) => gap > from_ms).length / gaps_ms.length
  t.ok(Math.abs(mean - 1) < 0.01, `mean: ${mean}`)
  // exp(-1) and exp(-3) of an exponential distribution; the bounds are more than three standard deviations.
  t.ok(Math.abs(share(1) - Math.exp(-1)) < 0.012, `longer than the mean: ${share(1)}`)
  t.ok(Math.abs(share(3) - Math.exp(-3)) < 0.006, `three times as long: ${share(3)}`)
  const again = poissonRate(1000, 20, 7)
  t.equal(again.dueAt_ms(12_345), times_ms[12_345], 'asked for in another order')
  t.equal(again.dueAt_ms(5), times_ms[5])
  t.not(poissonRate(1000, 20, 8).dueAt_ms(5), times_ms[5])
})

/** A burst, a lull and a second burst. */
const BURSTS = { times_s: Float64Array.of(0, 0, 0, 0.5, 4, 9, 9, 9), span_s: 10 }

t.test('recordedTimes: both questions have the same answer, and the rate is kept', async (t) => {
  for (const [rate_rps, duration_s] of [
    [0.8, 10],
    [8, 1],
    [100, 3],
    [7300, 1.1],
    [3, 0.5],
    [1, 0.1],
  ]) {
    const { total, dueAt_ms, dueBy } = recordedTimes(BURSTS, rate_rps, duration_s)
    t.equal(total, Math.max(1, Math.round(rate_rps * duration_s)))
    const times_ms = Array.from({ length: total }, (_, i) => dueAt_ms(i))
    t.strictSame(
      times_ms,
      times_ms.toSorted((a, b) => a - b),
      'they rise',
    )
    t.ok(times_ms[0] === 0 && Number(times_ms.at(-1)) <= duration_s * 1000)
    // Of requests that are due at once, the last tells how many are due by then.
    const due = new Map(times_ms.map((time_ms, i) => [time_ms, i + 1]))
    const wrong = times_ms.filter((time_ms) => {
      const count = Number(due.get(time_ms))
      return dueBy(time_ms) !== count || dueBy(time_ms - 1e-6) >= count
    })
    t.strictSame(wrong, [])
    t.strictSame([dueBy(-1), dueBy(1e9)], [0, total])
  }
})

t.test('recordedTimes: the log at another speed, as often as the time allows', async (t) => {
  const timesOf = (/** @type {number} */ rate_rps, /** @type {number} */ duration_s) => {
    const { total, dueAt_ms } = recordedTimes(BURSTS, rate_rps, duration_s)
    return Array.from({ length: total }, (_, i) => Math.round(dueAt_ms(i)))
  }
  t.strictSame(timesOf(0.8, 10), [0, 0, 0, 500, 4000, 9000, 9000, 9000], 'as it was recorded')
  t.strictSame(timesOf(1.6, 5), [0, 0, 0, 250, 2000, 4500, 4500, 4500], 'twice as fast')
  t.strictSame(timesOf(0.8, 20).slice(7, 12), [9000, 10_000, 10_000, 10_000, 10_500], 'again')
  t.strictSame(timesOf(4, 1), [0, 0, 0, 125], 'a part: the fifth, at 4 s, would be due at its end')
  t.strictSame(timesOf(2, 1), [0, 0], 'a part of a burst is a burst')
})
