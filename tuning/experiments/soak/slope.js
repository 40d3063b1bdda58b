import { meanOf, typical } from '../../../load/verdict/ranks.js'
import { CONFIDENCE } from '../../stats/effects.js'

/**
 * Points without a jump between them: a change of at least this much from one to the next.
 * @param {Point[]} points @param {number} least_jump @returns {Point[][]} one stretch more than there are jumps
 * @typedef {[x: number, y: number]} Point
 */
export function stretchesOf(points, least_jump) {
  const ends = points.flatMap(([, y], i) => (i > 0 && Math.abs(y - points[i - 1][1]) >= least_jump ? i : []))
  return [0, ...ends].map((from, i) => points.slice(from, ends[i]))
}

/** A line through fewer samples says nothing. */
const MIN_STEADY_SAMPLES = 4

/**
 * Least-squares slope that all stretches share, each with a level of its own, per unit of x; null if too few points.
 * @param {Point[][]} stretches
 */
export function slopeOf(stretches) {
  if (stretches.flat().length < MIN_STEADY_SAMPLES) return null
  const sums = stretches.map((own) => {
    const [mean_x, mean_y] = [meanOf(own.map(([x]) => x)), meanOf(own.map(([, y]) => y))]
    const above = own.reduce((sum, [x, y]) => sum + (x - mean_x) * (y - mean_y), 0)
    return [above, own.reduce((sum, [x]) => sum + (x - mean_x) ** 2, 0)]
  })
  const [above, below] = [0, 1].map((i) => sums.reduce((sum, own) => sum + own[i], 0))
  return below > 0 ? above / below : null
}

/**
 * The interval of the slope that all stretches share, without an assumption on how the values scatter: pairs of points half a stretch
 * apart, each with a slope of its own (Theil, "A rank-invariant method of linear regression", 1950, the incomplete method), and
 * the interval of the signed-rank test. Null with too few pairs: fewer than six.
 * @param {Point[][]} stretches @returns {{ low: number, high: number } | null} per unit of x
 */
export function slopeInterval(stretches) {
  const slopes = stretches.flatMap((own) => {
    const apart = Math.ceil(own.length / 2)
    return own.slice(apart).map(([x, y], i) => (y - own[i][1]) / (x - own[i][0]))
  })
  const { low, high } = typical(slopes, CONFIDENCE)
  return Number.isFinite(low) && Number.isFinite(high) ? { low, high } : null
}
