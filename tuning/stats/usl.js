/**
 * The Universal Scalability Law: X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), where N is the concurrency and X the
 * throughput (Gunther, "Guerrilla Capacity Planning", 2007, chapter 4).
 *
 * lambda_rps: throughput at a concurrency of 1; sigma_ratio: contention, the share of the work for which all queue; kappa_ratio:
 * coherency, what each pays for every other; peak: beyond it, throughput falls; limit_rps: where throughput levels off without a
 * peak. null: it has none.
 *
 * @typedef {ReturnType<typeof lawOf>} Law
 */

/** The coefficients of N / X = alone + contention (N - 1) + coherency N (N - 1) that may differ from zero. */
const SUBSETS = [[0], [0, 1], [0, 2], [0, 1, 2]]

/** Sums of squares that differ only beyond these digits differ by rounding. */
const DIGITS = 12

/**
 * Fits the law by least squares on N / X, which is linear in N - 1 and N (N - 1). Errors are relative, so that each level weighs the
 * same. No coefficient may be negative: of the fits without a negative one, the closest wins; among equals, the one with most zeros.
 *
 * @param {{ concurrency: number, rps: number }[]} points
 * @returns {Law | null} null: fewer than three different levels, or a level without throughput
 */
export function fitLaw(points) {
  const levels = new Set(points.map(({ concurrency }) => concurrency))
  if (levels.size < 3 || points.some(({ rps }) => rps === 0)) return null
  const rows = points.map(({ concurrency: n, rps }) => [1, n - 1, n * (n - 1)].map((x) => (x * rps) / n))
  const fits = SUBSETS.map((terms) => leastSquares(rows, terms)).filter((fit) => fit.every((value) => value >= 0))
  const [[alone, contention, coherency]] = fits.sort((a, b) => missOf(rows, a) - missOf(rows, b))
  return lawOf(1 / alone, contention / alone, coherency / alone)
}

/** The throughput that the law predicts. @param {Record<'lambda_rps' | 'sigma_ratio' | 'kappa_ratio', number>} law @param {number} n */
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

/** The sum of the squared errors. @param {number[][]} rows @param {number[]} fit */
function missOf(rows, fit) {
  const errors = rows.map((row) => row.reduce((sum, value, i) => sum + value * fit[i], -1))
  return Number(errors.reduce((sum, error) => sum + error ** 2, 0).toFixed(DIGITS))
}

/**
 * The coefficients with which the terms of each row come closest to 1: the normal equations, by Gauss-Jordan elimination.
 *
 * @param {number[][]} rows at least as many different ones as terms @param {number[]} terms whose coefficient is not fixed at 0
 */
function leastSquares(rows, terms) {
  const sum = (/** @type {(row: number[]) => number} */ of) => rows.reduce((total, row) => total + of(row), 0)
  const matrix = terms.map((i) => [...terms.map((j) => sum((row) => row[i] * row[j])), sum((row) => row[i])])
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
