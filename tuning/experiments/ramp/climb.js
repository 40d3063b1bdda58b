import { isValid } from '../../../load/capacity/ladder.js'
import { groupBy } from '../../stats/design.js'

/** @import { RampPlan, Records } from './design.js' */

/** @typedef {ReturnType<typeof rungsOf>[number]} Rung rps: successes per second */

/** The rungs of the valid trials; over: above the ceiling, or too many requests failed. @param {Pick<RampPlan, 'ceiling_ms'>} plan @param {Records} trials */
export function rungsOf({ ceiling_ms }, trials) {
  return trials.filter(isValid).map(({ load, traffic, outcome }) => {
    const mean_ms = traffic.latency_ms?.mean ?? Number.POSITIVE_INFINITY
    const over = mean_ms > ceiling_ms || outcome.verdict === 'fail'
    return { workers: load.connections, rps: traffic.goodput_rps, mean_ms, over }
  })
}

/**
 * The next number of workers: climbs until the latency is above the ceiling, or descends if the first rung was already above it,
 * then narrows down between the two rungs around the ceiling. Pure.
 * @param {Rung[]} rungs @param {{ start: number, most: number, growth: number, close: number, multiple?: number }} climb growth: factor
 *   from one rung to the next, until one is over; close: the factor between the rungs below and above the ceiling at which the climb
 *   ends; multiple: from this number on, workers are multiples of it @returns {number | null} null once enough is known
 */
export function nextWorkers(rungs, { start, most, growth, close, multiple = 1 }) {
  const unitOf = (/** @type {number} */ workers) => (workers < multiple ? 1 : multiple)
  const near = (/** @type {number} */ workers) => Math.round(workers / unitOf(workers)) * unitOf(workers)
  const top = Math.floor(most / unitOf(most)) * unitOf(most)
  const { below, above } = aroundCeiling(rungs)
  if (below && above) {
    const middle = near(Math.sqrt(below.workers * above.workers))
    const isBetween = middle > below.workers && middle < above.workers
    return isBetween && above.workers > below.workers * close ? middle : null
  }
  if (above) {
    const less = Math.min(above.workers - unitOf(above.workers - 1), near(above.workers / growth))
    return above.workers <= 1 ? null : Math.max(1, less)
  }
  if (!below) return Math.min(near(start), top)
  const more = Math.max(below.workers + unitOf(below.workers), near(below.workers * growth))
  return below.workers >= top ? null : Math.min(top, more)
}

/** The crossing of each block that met the ceiling. @param {Pick<RampPlan, 'ceiling_ms'>} plan @param {Records} records of one series */
export function crossingsOf(plan, records) {
  return [...groupBy(records, ({ at }) => at.block).values()].flatMap((own) => {
    const crossing = crossingOf(rungsOf(plan, own), plan.ceiling_ms)
    return crossing ? [{ block: Number(own[0].at.block), ...crossing }] : []
  })
}

/**
 * The point where the mean latency meets the ceiling: interpolated between the two rungs around it, on logarithmic scales.
 * @param {Rung[]} rungs @param {number} ceiling_ms
 * @returns null if every rung was below the ceiling, or every one above, or nothing succeeded. by_errors: requests failed
 *   before the latency reached the ceiling, so the rung below counts
 */
export function crossingOf(rungs, ceiling_ms) {
  const { below, above } = aroundCeiling(rungs)
  if (!below || !above || below.rps <= 0) return null
  const isKnown = above.mean_ms > ceiling_ms && Number.isFinite(above.mean_ms) && above.rps > 0
  if (!isKnown) return { workers: below.workers, rps: below.rps, by_errors: true, below, above }
  const share = Math.log(ceiling_ms / below.mean_ms) / Math.log(above.mean_ms / below.mean_ms)
  const between = (/** @type {'workers' | 'rps'} */ name) => below[name] * (above[name] / below[name]) ** share
  return { workers: between('workers'), rps: between('rps'), by_errors: false, below, above }
}

/** The lowest rung that is over the ceiling, and the highest rung below it that is not. @param {Rung[]} rungs */
export function aroundCeiling(rungs) {
  const sorted = [...rungs].sort((a, b) => a.workers - b.workers)
  const above = sorted.find(({ over }) => over) ?? null
  const below = sorted.findLast(({ over, workers }) => !over && (!above || workers < above.workers)) ?? null
  return { below, above }
}
