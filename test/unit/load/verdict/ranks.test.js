import t from 'tap'
import { seededRandom } from '../../../../load/system/random.js'
import { median, shift, typical } from '../../../../load/verdict/ranks.js'

/** Whole numbers. @param {number} from @param {number} to */
function range(from, to) {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}

t.test('median is the value in the middle, or the mean of the two', async (t) => {
  const rows = [
    [[], Number.NaN, 'none'],
    [[3], 3, 'one'],
    [[4, 1], 2.5, 'two'],
    [[30, 4, 5], 5, 'three, not in order'],
    [[10, 9, 100, 1], 9.5, 'four, by size and not as texts'],
    [[Number.POSITIVE_INFINITY, 1, 2, Number.NaN, 3], 2, 'what is no number does not count'],
  ]
  for (const [values, expected, about] of /** @type {[number[], number, string][]} */ (rows)) {
    t.ok(Object.is(median(values), expected), `${about}: ${median(values)}`)
  }
})

t.test('typical is the median of all means of two', async (t) => {
  t.equal(typical([1, 2, 10], 0.95).estimate, 3.75, '1, 1.5, 2, 5.5, 6, 10')
  t.equal(typical([5], 0.95).estimate, 5)
  t.strictSame(typical([], 0.95), {
    estimate: Number.NaN,
    low: Number.NEGATIVE_INFINITY,
    high: Number.POSITIVE_INFINITY,
    pairs: 0,
  })
})

t.test('typical: the interval is that of the signed-rank test', async (t) => {
  // Hollander, Wolfe & Chicken, table A.4: the largest rank sum with a probability below the tail, plus one.
  const rows = [
    [5, 0.95, null, 'too few: the extreme sum alone has 1/32'],
    [6, 0.95, 1, '1/64 on each side'],
    [6, 0.97, null, 'not that sure'],
    [7, 0.95, 3, 'P(W <= 2) = 0.023'],
    [8, 0.95, 4, 'P(W <= 3) = 0.020'],
    [10, 0.95, 9, 'P(W <= 8) = 0.024'],
    [10, 0.99, 4, 'P(W <= 3) = 0.0049'],
    [20, 0.95, 53, 'P(W <= 52) = 0.024'],
  ]
  for (const [size, confidence, rank, about] of /** @type {[number, number, number | null, string][]} */ (rows)) {
    const values = range(1, size)
    const means = values.flatMap((a) => values.filter((b) => b >= a).map((b) => (a + b) / 2)).sort((a, b) => a - b)
    const middle = (size + 1) / 2
    t.strictSame(
      typical([...values].reverse(), confidence),
      {
        estimate: middle,
        low: rank === null ? Number.NEGATIVE_INFINITY : means[rank - 1],
        high: rank === null ? Number.POSITIVE_INFINITY : means[means.length - rank],
        pairs: size,
      },
      `${size} values at ${confidence}: ${about}`,
    )
  }
  const { low, high } = typical(range(0, 59), 0.95)
  // The normal distribution: 1,830 / 2 means less 1.96 standard deviations of the rank sum.
  t.ok(low > 24 && low < 25.5 && high > 33.5 && high < 35, `${low} to ${high}`)
})

t.test('a tail of exactly the probability counts', async (t) => {
  t.equal(typical(range(1, 6), 1 - 2 / 64).low, 1)
  t.equal(shift([5, 6, 7], [1], 0.5).low, 4)
})

t.test('shift is the median of all differences', async (t) => {
  t.equal(shift([10, 20], [1, 2, 100], 0.95).estimate, 8.5, '-90, -80, 8, 9, 18, 19')
  t.equal(shift([7], [5], 0.95).estimate, 2)
})

t.test('shift: the interval is that of the rank-sum test', async (t) => {
  // Critical values of Mann and Whitney's U, two-sided.
  const rows = [
    [3, 3, 0.95, null, 'too few: the extreme has 1/20'],
    [4, 4, 0.95, 0, '1/70'],
    [3, 5, 0.95, 0, '1/56'],
    [5, 3, 0.95, 0, 'either way round'],
    [3, 4, 0.95, null, '1/35'],
    [5, 5, 0.95, 2, ''],
    [5, 8, 0.95, 6, ''],
    [8, 8, 0.95, 13, ''],
    [10, 10, 0.95, 23, ''],
    [10, 10, 0.99, 16, ''],
    [20, 20, 0.95, 127, ''],
    [30, 30, 0.95, 317, 'the last that is counted exactly'],
  ]
  for (const [size, other, confidence, u, about] of /** @type {[number, number, number, number | null, string][]} */ (
    rows
  )) {
    const [values, others] = [range(1, size).map((i) => i * 1000), range(1, other).map((i) => i * i)]
    const differences = values.flatMap((a) => others.map((b) => a - b)).sort((a, b) => a - b)
    const { low, high } = shift(values, [...others].reverse(), confidence)
    const name = `${size} and ${other} at ${confidence} ${about}`
    t.equal(low, u === null ? Number.NEGATIVE_INFINITY : differences[u], name)
    t.equal(high, u === null ? Number.POSITIVE_INFINITY : differences[differences.length - 1 - u], name)
  }
})

t.test('shift: many values go by the normal distribution', async (t) => {
  const values = range(1, 31).map((i) => i * 1000)
  const others = range(1, 30).map((i) => i * i)
  const differences = values.flatMap((a) => others.map((b) => a - b)).sort((a, b) => a - b)
  // 930 / 2 - z * sqrt(930 * 62 / 12)
  for (const [confidence, outside] of [
    [0.95, 329],
    [0.99, 286],
  ]) {
    const { low, high } = shift(values, others, confidence)
    t.equal(low, differences[outside - 1], `at ${confidence}`)
    t.equal(high, differences[930 - outside], `at ${confidence}`)
  }
  const exact = shift(values, others, 0.9)
  t.ok(
    exact.low > differences[329 - 1] && exact.high < differences[930 - 329],
    'a confidence without a quantile is counted',
  )
})

t.test('intervals hold what is true as often as they say', async (t) => {
  const random = seededRandom(1)
  const sample = (/** @type {number} */ size) => range(1, size).map(() => random() + random() - 1)
  const holds = (/** @type {{ low: number, high: number }} */ { low, high }) => low <= 0 && high >= 0
  const ones = range(1, 1000).filter(() => holds(typical(sample(8), 0.95))).length
  const twos = range(1, 1000).filter(() => holds(shift(sample(5), sample(6), 0.95))).length
  t.ok(ones >= 935 && ones <= 980, `${ones} of 1,000 samples`)
  t.ok(twos >= 935 && twos <= 985, `${twos} of 1,000 pairs of samples`)
})
