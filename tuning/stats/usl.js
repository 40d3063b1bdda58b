/**
 * The Universal Scalability Law: X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), where N is how many work at the
 * same time and X what gets done per second (Gunther, "Guerrilla Capacity Planning", 2007, chapter 4).
 *
 * lambda_rps: of one alone; sigma_ratio: contention, the share of the work for which all queue; kappa_ratio: coherency, what each
 * pays for every other; peak: where more bring less; limit_rps: what it levels off at, without a peak. null: it has none.
 *
 * @typedef {ReturnType<typeof lawOf>} Law
 */

/** Coefficients of N / X = alone + contention (N - 1) + coherency N (N - 1) that may differ from zero. */
const SUBSETS = [[0], [0, 1], [0, 2], [0, 1, 2]]

/** Squares that differ by less do so by rounding. */
const DIGITS = 12

/**
 * Fits the law by least squares on N / X, which is linear in N - 1 and N (N - 1); the squares are relative, so that each
 * level weighs the same. No coefficient may be negative: of the fits without one, the closest wins; among equals, the one
 * with the most zeros.
 *
 * @param {{ concurrency: number, rps: number }[]} points
 * @returns {Law | null} null: fewer than three different levels, or a level without throughput
 */
export function fitLaw(points) {
  if (new Set(points.map(({ concurrency }) => concurrency)).size < 3) return null
  const rows = points.map(({ concurrency: n, rps }) => ({ y: n / rps, x: [1, n - 1, n * (n - 1)] }))
  const fits = SUBSETS.map((terms) => leastSquares(rows, terms)).filter((fit) => fit.every((value) => value >= 0))
  const [best] = fits.sort((a, b) => missOf(rows, a) - missOf(rows, b))
  if (!best) return null
  const [alone, contention, coherency] = best
  return lawOf(1 / alone, contention / alone, coherency / alone)
}

/** What the law predicts. @param {Record<'lambda_rps' | 'sigma_ratio' | 'kappa_ratio', number>} law @param {number} n */
export function predictedRate({ lambda_rps, sigma_ratio, kappa_ratio }, n) {
  return (lambda_rps * n) / (1 + sigma_ratio * (n - 1) + kappa_ratio * n * (n - 1))
}

/** @param {number} lambda_rps @param {number} sigma_ratio @param {number} kappa_ratio */
function lawOf(lambda_rps, sigma_ratio, kappa_ratio) {
  const law = { lambda_rps, sigma_ratio, kappa_ratio }
  const peak = kappa_ratio > 0 ? Math.max(1, Math.sqrt(Math.max(0, 1 - sigma_ratio) / kappa_ratio)) : null
  return {
    ...law,
    peak_concurrency: peak,
    peak_rps: peak === null ? null : predictedRate(law, peak),
    limit_rps: peak === null && sigma_ratio > 0 ? lambda_rps / sigma_ratio : null,
  }
}

/** The sum of the squares. @param {Rows} rows @param {number[]} fit */
function missOf(rows, fit) {
  const fitted = (/** @type {number[]} */ x) => x.reduce((sum, value, i) => sum + value * fit[i], 0)
  return Number(rows.reduce((sum, { y, x }) => sum + (fitted(x) / y - 1) ** 2, 0).toFixed(DIGITS))
}

/**
 * A coefficient for each x, 0 for those that take no part: the normal equations, by Gauss' elimination.
 *
 * @typedef {{ y: number, x: number[] }[]} Rows weighted by 1 / y^2
 * @param {Rows} rows of at least three different levels
 * @param {number[]} terms of x that take part
 */
function leastSquares(rows, terms) {
  const sum = (/** @type {(row: Rows[number]) => number} */ of) => {
    return rows.reduce((total, row) => total + of(row) / row.y ** 2, 0)
  }
  const matrix = terms.map((i) => [...terms.map((j) => sum(({ x }) => x[i] * x[j])), sum(({ x, y }) => x[i] * y)])
  for (const [i, pivot] of matrix.entries()) {
    for (const row of matrix) {
      if (row === pivot) continue
      const factor = row[i] / pivot[i]
      for (const k of row.keys()) row[k] -= factor * pivot[k]
    }
  }
  const solved = matrix.map((row, i) => row[terms.length] / row[i])
  return [0, 1, 2].map((term) => solved[terms.indexOf(term)] ?? 0)
}
