import t from 'tap'
import { leavingOf, sharesOf } from '../../../../../tuning/experiments/balance/shares.js'

t.test('the share of an endpoint, and how long it took to leave it and to come back', async (t) => {
  /** @param {(bin: number) => number} failing requests in a bin of the one that fails; the two others get 3 each */
  const counts = (failing) => {
    const of = (/** @type {(bin: number) => number} */ count) => Array.from({ length: 60 }, (_, bin) => count(bin))
    const none = of(() => 0)
    const errors = of((bin) => (bin >= 10 && bin < 30 ? failing(bin) : 0))
    return {
      ...{ bin_ms: 100, names: ['a', 'b', 'failing'], from_s: 1, to_s: 3 },
      endpoints: [
        { requests: of(() => 3), errors: none },
        { requests: of(() => 3), errors: none },
        { requests: of(failing), errors },
      ],
    }
  }
  /** @type {[string, (bin: number) => number, { leave_s: number | null, back_s: number | null, errors: number }][]} */
  const cases = [
    ['at once, and back at once', (bin) => (bin >= 10 && bin < 30 ? 0 : 3), { leave_s: 0, back_s: 0, errors: 0 }],
    [
      'after 0.4 s, back after 1.2 s',
      (bin) => (bin >= 14 && bin < 42 ? 0 : 3),
      { leave_s: 0.4, back_s: 1.2, errors: 12 },
    ],
    ['never', () => 3, { leave_s: null, back_s: null, errors: 60 }],
    ['left for good', (bin) => (bin >= 12 ? 0 : 3), { leave_s: 0.2, back_s: null, errors: 6 }],
    [
      'one request now and then is not back',
      (bin) => (bin < 12 || bin >= 50 ? 3 : bin % 10 === 0 ? 1 : 0),
      { leave_s: 0.2, back_s: 2, errors: 7 },
    ],
  ]
  for (const [name, failing, expected] of cases) t.strictSame(leavingOf(counts(failing)), expected, name)
  const trial = counts((bin) => (bin < 30 ? 3 : 0))
  t.strictSame(sharesOf([trial, trial]), { a: 0.4, b: 0.4, failing: 0.2 })
})
