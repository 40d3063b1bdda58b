/**
 * The typical value of a sample, with an interval for it that holds whatever the distribution, as long as it is
 * symmetric: the Hodges-Lehmann estimate (the median of all means of two values), and the interval that belongs to
 * Wilcoxon's signed-rank test (Hollander, Wolfe & Chicken, "Nonparametric Statistical Methods", 3.2 and 3.3).
 *
 * @param {number[]} values
 * @param {number} confidence such as 0.95
 * @returns {{ estimate: number, low: number, high: number, pairs: number }} low and high are infinite where there are too
 *   few values for this confidence: six for 0.95
 */
export function typical(values, confidence) {
  const means = meansOfTwo(values)
  const outside = criticalRank(values.length, (1 - confidence) / 2)
  const [low, high] =
    outside === 0 ? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY] : [means[outside - 1], means.at(-outside)]
  return { estimate: median(means), low, high: Number(high), pairs: values.length }
}

/** @param {number[]} values at least one @returns {number} NaN without values */
export function median(values) {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b)
  const middle = sorted.length / 2
  if (sorted.length === 0) return Number.NaN
  return sorted.length % 2 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Each value with itself and with every other, rising. @param {number[]} values */
function meansOfTwo(values) {
  return values.flatMap((a, i) => values.slice(i).map((b) => (a + b) / 2)).sort((a, b) => a - b)
}

/**
 * How many of the means lie outside on each side: the largest number with P(W < it) <= the tail, where W is the sum of
 * those of the ranks 1 to n that belong to positive values, each with probability 1/2.
 *
 * @param {number} size
 * @param {number} tail
 */
function criticalRank(size, tail) {
  const probabilities = new Float64Array((size * (size + 1)) / 2 + 1)
  probabilities[0] = 1
  for (let rank = 1; rank <= size; rank++) {
    for (let sum = probabilities.length - 1; sum >= 0; sum--) {
      probabilities[sum] = (probabilities[sum] + (sum >= rank ? probabilities[sum - rank] : 0)) / 2
    }
  }
  let below = 0
  let rank = 0
  for (; below + probabilities[rank] <= tail; rank++) below += probabilities[rank]
  return rank
}
