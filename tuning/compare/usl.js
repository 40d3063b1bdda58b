/**
 * The Universal Scalability Law: X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), where N is how many work at the
 * same time and X what gets done per second (Gunther, "Guerrilla Capacity Planning", 2007, chapter 4).
 *
 * @typedef {object} Law
 * @property {number} lambda_rps of one alone
 * @property {number} sigma_ratio contention: the share of the work for which all queue
 * @property {number} kappa_ratio coherency: what each pays for every other
 * @property {number | null} peak_concurrency where more bring less; null: nowhere
 * @property {number | null} peak_rps null: it only levels off, at limit_rps
 * @property {number | null} limit_rps what it levels off at; null: it does not
 */

/**
 * Fits the law by least squares on N / X, which is linear in N - 1 and N (N - 1); the squares are relative, so that each
 * level weighs the same. Coefficients that would be negative are nil.
 *
 * @param {{ concurrency: number, rps: number }[]} points
 * @returns {Law | null} null: fewer than three different levels
 */
export function fitLaw(points) {
  if (new Set(points.map(({ concurrency }) => concurrency)).size < 3) return null
  const rows = points.map(({ concurrency: n, rps }) => ({ y: n / rps, x: [1, n - 1, n * (n - 1)] }))
  for (const terms of [[0, 1, 2], [0, 1], [0, 2], [0]]) {
    const solved = leastSquares(rows, terms)
    if (!solved || solved.some((coefficient) => coefficient < 0)) continue
    const [alone, contention, coherency] = [0, 1, 2].map((term) => solved[terms.indexOf(term)] ?? 0)
    if (alone > 0) return lawOf(1 / alone, contention / alone, coherency / alone)
  }
  return null
}

/** What the law predicts. @param {Pick<Law, 'lambda_rps' | 'sigma_ratio' | 'kappa_ratio'>} law @param {number} n */
export function predictedRate({ lambda_rps, sigma_ratio, kappa_ratio }, n) {
  return (lambda_rps * n) / (1 + sigma_ratio * (n - 1) + kappa_ratio * n * (n - 1))
}

/** @param {number} lambda_rps @param {number} sigma_ratio @param {number} kappa_ratio @returns {Law} */
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

/**
 * The normal equations, by Gauss' elimination.
 *
 * @param {{ y: number, x: number[] }[]} rows weighted by 1 / y^2
 * @param {number[]} terms of x that take part
 * @returns {number[] | null} null: they have no single solution
 */
function leastSquares(rows, terms) {
  const sum = (/** @type {(row: { y: number, x: number[] }) => number} */ of) => {
    return rows.reduce((total, row) => total + of(row) / row.y ** 2, 0)
  }
  const matrix = terms.map((i) => [...terms.map((j) => sum(({ x }) => x[i] * x[j])), sum(({ x, y }) => x[i] * y)])
  for (const [i, pivot] of matrix.entries()) {
    if (Math.abs(pivot[i]) < Number.EPSILON) return null
    for (const row of matrix) {
      if (row === pivot) continue
      const factor = row[i] / pivot[i]
      for (const k of row.keys()) row[k] -= factor * pivot[k]
    }
  }
  return matrix.map((row, i) => row[terms.length] / row[i])
}
