import { typical } from '../../../load/verdict/ranks.js'
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

/** Fewer pairs of points have no slope in common, such as those of three samples. */
const MIN_PAIRS = 2

/**
 * The slope that all stretches share, each with a level of its own, and its interval, without an assumption on how the values scatter:
 * pairs of points half a stretch apart, each with a slope of its own (Theil, "A rank-invariant method of linear regression", 1950, the
 * incomplete method), and the estimate and the interval of the signed-rank test. Per unit of x.
 * @param {Point[][]} stretches
 * @returns {{ slope: number | null, interval: { low: number, high: number } | null }} null with too few pairs: two, or six for an interval
 */
export function slopeOf(stretches) {
  const slopes = stretches.flatMap((own) => {
    const apart = Math.ceil(own.length / 2)
    return own.slice(apart).map(([x, y], i) => (y - own[i][1]) / (x - own[i][0]))
  })
  const { estimate, low, high } = typical(slopes, CONFIDENCE)
  const interval = Number.isFinite(low) && Number.isFinite(high) ? { low, high } : null
  return { slope: slopes.length < MIN_PAIRS ? null : estimate, interval }
}
