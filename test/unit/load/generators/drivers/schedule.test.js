import t from 'tap'
import { constantRate } from '../../../../../load/generators/drivers/pacing.js'

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
