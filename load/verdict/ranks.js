/**
 * The typical value of a sample, with an interval that holds for any symmetric distribution: the Hodges-Lehmann estimate (the
 * median of all means of two values), and the interval of Wilcoxon's signed-rank test (Hollander, Wolfe & Chicken, "Nonparametric
 * Statistical Methods", 3.2 and 3.3). It is infinite with too few values for this confidence: fewer than six for 0.95.
 * @param {number[]} values @param {number} confidence such as 0.95
 */
export function typical(values, confidence) {
  const outside = criticalRank(values.length, (1 - confidence) / 2)
  return { ...estimateOf(meansOfTwo(values), outside), pairs: values.length }
}

/**
 * The amount by which one sample's values typically exceed another's, without pairs: the Hodges-Lehmann estimate (the median
 * of all differences), and the interval of the test of Wilcoxon, Mann and Whitney (the same book, 4.2 and 4.3). It is infinite
 * with too few values for this confidence: fewer than four of each for 0.95.
 * @param {number[]} values @param {number[]} others @param {number} confidence such as 0.95
 */
export function shift(values, others, confidence) {
  const differences = Float64Array.from(values.flatMap((a) => others.map((b) => a - b))).sort()
  return estimateOf(differences, criticalWins(values.length, others.length, (1 - confidence) / 2))
}

/** The median of the values that are known and finite; NaN without any. @param {Iterable<number | null | undefined>} values */
export function median(values) {
  const known = /** @type {number[]} */ ([...values].filter(Number.isFinite))
  return middleOf(Float64Array.from(known).sort())
}

/** NaN without values. @param {number[]} values */
export function meanOf(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The median, and the interval that leaves `outside` values out on each side. @param {Float64Array} sorted @param {number} outside */
function estimateOf(sorted, outside) {
  const isKnown = Number.isFinite(sorted[0]) && Number.isFinite(sorted.at(-1))
  return {
    estimate: middleOf(isKnown ? sorted : sorted.filter(Number.isFinite)),
    low: outside > 0 ? sorted[outside - 1] : Number.NEGATIVE_INFINITY,
    high: outside > 0 ? Number(sorted.at(-outside)) : Number.POSITIVE_INFINITY,
  }
}

/** @param {Float64Array} sorted */
function middleOf(sorted) {
  const middle = sorted.length / 2
  return sorted.length % 2 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Means of each value with itself and with every other, ascending. @param {number[]} values */
function meansOfTwo(values) {
  const means = new Float64Array((values.length * (values.length + 1)) / 2)
  let count = 0
  for (let i = 0; i < values.length; i++) {
    for (let j = i; j < values.length; j++) means[count++] = (values[i] + values[j]) / 2
  }
  return means.sort()
}

/** @type {Map<string, number>} by size and tail, since samples are often of the same size */
const criticalRanks = new Map()

/**
 * Number of means outside the interval on each side. W is the sum of those of the ranks 1 to n that belong to positive values, each
 * with probability 1/2.
 * @param {number} size @param {number} tail
 */
function criticalRank(size, tail) {
  const key = `${size} ${tail}`
  const known = criticalRanks.get(key)
  if (known !== undefined) return known
  const probabilities = new Float64Array((size * (size + 1)) / 2 + 1)
  probabilities[0] = 1
  for (let rank = 1; rank <= size; rank++) {
    for (let sum = (rank * (rank + 1)) / 2; sum >= 0; sum--) {
      probabilities[sum] = (probabilities[sum] + (sum >= rank ? probabilities[sum - rank] : 0)) / 2
    }
  }
  const critical = criticalOf(probabilities, tail)
  criticalRanks.set(key, critical)
  return critical
}

/** Above this many pairs the normal approximation is as good. */
const MOST_EXACT_PAIRS = 900
const NORMAL_QUANTILE = /** @type {Record<string, number>} */ ({ 0.025: 1.96, 0.005: 2.576 })

/**
 * Number of differences outside the interval on each side. U counts the pairs in which the first sample's value is the larger
 * one. The number of orders of both samples with u such pairs is the coefficient of x^u in the product over i, from 1 to size, of
 * (1 - x^(other + i)) / (1 - x^i), the Gaussian binomial coefficient (Andrews, "The Theory of Partitions", 1976, chapter 3).
 * @param {number} size @param {number} other @param {number} tail
 */
function criticalWins(size, other, tail) {
  const pairs = size * other
  const quantile = NORMAL_QUANTILE[String(Number(tail.toFixed(4)))]
  if (pairs > MOST_EXACT_PAIRS && quantile) {
    return Math.max(0, Math.floor(pairs / 2 - quantile * Math.sqrt((pairs * (size + other + 1)) / 12)))
  }
  const orders = new Float64Array(pairs + 1)
  orders[0] = 1
  for (let i = 1; i <= size; i++) {
    for (let u = pairs; u >= other + i; u--) orders[u] -= orders[u - other - i]
    for (let u = i; u <= pairs; u++) orders[u] += orders[u - i]
  }
  const all = orders.reduce((sum, number) => sum + number, 0)
  const probabilities = orders.map((number) => number / all)
  return criticalOf(probabilities, tail)
}

/** The largest number with P(less than it) <= the tail. @param {Float64Array} probabilities @param {number} tail */
function criticalOf(probabilities, tail) {
  let below = 0
  let number = 0
  for (; below + probabilities[number] <= tail; number++) below += probabilities[number]
  return number
}
