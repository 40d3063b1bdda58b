import { isValid } from '../../../load/capacity/ladder.js'
import { CONFIDENCE } from '../../stats/effects.js'
import { generatorShare, isFullShare } from '../../stats/generator-share.js'
import { median, pairedRatio, typical } from '../../stats/ranks.js'
import { crossingIn, rungsOf } from './climb.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { Rung } from './climb.js'
 * @import { Interval } from './cost.js'
 * @import { Name, RampPlan, Records, Series } from './design.js'
 */

/**
 * @typedef {Series & SeriesFindings} Found what run.json keeps of a series
 *
 * @typedef {object} SeriesFindings
 * @property {number} blocks with figures: those in which the climb met the ceiling; 0 where these are less than half
 * @property {number} met blocks in which it did
 * @property {number} tried blocks
 * @property {number} workers at the ceiling, the median of the blocks; NaN where the ceiling was not met
 * @property {Interval} rps at the ceiling; low and high are 0 and infinite where there are too few blocks
 * @property {boolean} refuses requests failed before the latency was at the ceiling, somewhere between the next two
 * @property {number} below_workers the rungs around the ceiling, medians
 * @property {number} above_workers
 * @property {Rung | null} furthest where it was not met: the rung that came nearest
 * @property {number} generator_core_ratio share of its cores that the generator used or waited for, at the rungs around the
 *   ceiling
 *
 * @typedef {{ found: Found, trials: Records, rps: Map<number, number>, below: number[] }} Climbed rps: at the ceiling, by block
 */

/** @param {RampPlan} plan @param {Series} series @param {Records} records of the series @returns {Climbed} */
export function climbedOf(plan, series, records) {
  const trials = records.filter(isValid)
  const blocks = [...new Set(records.map(({ at }) => at.block))].sort((one, other) => one - other)
  const met = blocks.flatMap((block) => {
    const crossing = crossingIn(
      plan,
      trials.filter(({ at }) => at.block === block),
    )
    return crossing ? [{ block, ...crossing }] : []
  })
  // Where less than half of the blocks met the ceiling, those that did are not typical.
  const crossings = 2 * met.length >= blocks.length ? met : []
  const [below, above] = [crossings.map((one) => one.below.workers), crossings.map((one) => one.above.workers)]
  const near = [...below, ...above]
  const around = near.length > 0 ? trials.filter(({ load }) => near.includes(load.connections)) : trials.slice(-1)
  const rungs = rungsOf(plan, trials).sort((one, other) => one.workers - other.workers)
  const furthest = rungs.at(rungs.every(({ over }) => over) ? 0 : -1) ?? null
  const found = {
    ...series,
    blocks: crossings.length,
    met: met.length,
    tried: blocks.length,
    workers: median(crossings.map(({ workers }) => workers)),
    rps: intervalOf(crossings.map(({ rps }) => rps)),
    refuses: 2 * crossings.filter(({ by_errors }) => by_errors).length > crossings.length,
    below_workers: median(below),
    above_workers: median(above),
    furthest: crossings.length > 0 ? null : furthest,
    generator_core_ratio: median(around.map(generatorShare)),
  }
  return { found, trials, below, rps: new Map(crossings.map(({ block, rps }) => [block, rps])) }
}

/** Whether a series answers for its side: the others check it. @param {Pick<RampPlan, 'drivers'>} plan @param {Series} series */
export function isMain({ drivers }, { driver, variant }) {
  return driver === drivers[0] && variant === 'all'
}

/** @template {{ found: Found }} T @param {T[]} all @param {Name} side @param {string} driver */
export function wholeMixOf(all, side, driver) {
  return all.find(({ found }) => found.side === side && found.driver === driver && found.variant === 'all')
}

/** What one series does at the ceiling, as a ratio to another, block by block. @param {Climbed} reference @param {Climbed} other @returns {Effect} */
export function ratioTo(reference, other) {
  return { level: other.found.key, ...pairedRatio(reference.rps, other.rps, CONFIDENCE) }
}

/** Whether the generator was at its own limit. @param {Pick<Found, 'generator_core_ratio'>} found */
export function isFull({ generator_core_ratio }) {
  return isFullShare(generator_core_ratio)
}

/** Why the rate at the ceiling is a lower bound. @param {Found} found @returns {string[]} none: it is not */
export function boundOf(found) {
  const { side, driver, blocks, refuses } = found
  if (blocks === 0) return []
  if (isFull(found)) return [`${driver} was at its own limit on ${side.toUpperCase()}`]
  return refuses ? [`${side.toUpperCase()} fails requests before it is at the ceiling`] : []
}

/** `A, wrk, without read` @param {RampPlan} plan @param {Series} series */
export function nameOf({ drivers, left_out }, { side, driver, variant }) {
  const by = drivers.length > 1 ? `, ${driver}` : ''
  return `${side.toUpperCase()}${by}${variant === 'without' ? `, without ${left_out}` : ''}`
}

/** @param {number[]} rates_rps @returns {Interval} */
function intervalOf(rates_rps) {
  const { estimate, low, high } = typical(rates_rps.map(Math.log), CONFIDENCE)
  return { estimate: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high) }
}
