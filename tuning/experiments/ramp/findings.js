import { CONFIDENCE, ratioOf } from '../../stats/effects.js'
import { generatorShare, isFullShare } from '../../stats/generator-share.js'
import { median, typical } from '../../stats/ranks.js'
import { costPerMillion, costRatio } from './cost.js'
import { blocksTried, crossingsOf, rungsOf, seriesOf, trialsOf, typicalCrossings } from './steps.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { Rung } from './climb.js'
 * @import { Interval } from './cost.js'
 * @import { Name, RampPlan, Records, Series, Variant } from './steps.js'
 */

/** A background that got less through than this was not what was asked for. */
const KEPT_RATIO = 0.95

/**
 * What was found of one series.
 *
 * @typedef {object} Found
 * @property {string} key
 * @property {Name} side
 * @property {string} driver
 * @property {Variant} variant
 * @property {number} blocks of which the figures are: those in which the climb met the ceiling; none where they are less
 *   than half of all
 * @property {number} met blocks in which it did
 * @property {number} tried blocks
 * @property {number} workers at the ceiling, the median of the blocks; NaN where the ceiling was not met
 * @property {Interval} rps at the ceiling; low and high are 0 and infinite where there are too few blocks
 * @property {boolean} refuses requests failed before the latency was at the ceiling, somewhere between the next two
 * @property {number} below_workers the rungs around the ceiling, medians
 * @property {number} above_workers
 * @property {Rung | null} furthest where it was not met: the rung that came nearest
 * @property {number} generator_core_ratio of the cores that it can use: what the generator used or waited for, at the rungs
 *   around the ceiling
 *
 * @typedef {object} Findings
 * @property {Found[]} series
 * @property {Effect | null} work of one B, in As; null where there is no B, or no telling
 * @property {string[]} bounded why the rate of a side is a lower bound, of which no ratio and no cost is made
 * @property {Record<'a' | 'b' | 'b_to_a', Interval | null>} cost of a million requests at the ceiling;
 *   b_to_a: what the same work costs on B, as a share of what it costs on A
 * @property {number | null} kept_ratio of the background's writes that got through; null: none
 */

/**
 * What a ramp found. Pure.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @returns {Findings}
 */
export function findingsOf(plan, records) {
  const series = seriesOf(plan).map((one) => foundOf(plan, records, one))
  const [driver] = plan.drivers
  const bounded = series.flatMap((found) => (found.driver === driver && found.variant === 'all' ? boundOf(found) : []))
  const isKnown = plan.sides.b && bounded.length === 0
  const work = isKnown ? ratioBetween(plan, records, `b:${driver}:all`, `a:${driver}:all`) : null
  return { series, work, bounded, cost: costOf(plan, series, work), kept_ratio: keptRatio(records) }
}

/**
 * What one series gets done at the ceiling, as a ratio to another, block by block.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {string} key
 * @param {string} reference
 */
export function ratioBetween(plan, records, key, reference) {
  const observations = [key, reference].flatMap((cell) =>
    typicalCrossings(plan, records, cell).map(({ block, rps }) => ({ block, cell, levels: {}, value: rps })),
  )
  return ratioOf(observations, key, reference)
}

/** @param {Found[]} series @param {Name} side @param {string} driver */
export function mainOf(series, side, driver) {
  return series.find((one) => one.side === side && one.driver === driver && one.variant === 'all')
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

/** The background, where it could not be kept up. @param {Findings} findings */
export function fellBehind({ kept_ratio }) {
  return kept_ratio !== null && kept_ratio < KEPT_RATIO
}

/**
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {Series} series
 * @returns {Found}
 */
function foundOf(plan, records, series) {
  const crossings = typicalCrossings(plan, records, series.key)
  const trials = trialsOf(records, series.key)
  const rungs = rungsOf(plan, trials)
  const near = crossings.flatMap(({ below, above }) => [below?.workers, above?.workers])
  const around = near.length > 0 ? trials.filter(({ load }) => near.includes(load.connections)) : trials.slice(-1)
  const sorted = [...rungs].sort((a, b) => a.workers - b.workers)
  const furthest = sorted.at(sorted.every(({ over }) => over) ? 0 : -1) ?? null
  return {
    ...series,
    blocks: crossings.length,
    met: crossingsOf(plan, records, series.key).length,
    tried: blocksTried(records, series.key),
    workers: median(crossings.map(({ workers }) => workers)),
    rps: intervalOf(crossings.map(({ rps }) => rps)),
    refuses: 2 * crossings.filter(({ by_errors }) => by_errors).length > crossings.length,
    below_workers: median(crossings.map(({ below }) => Number(below?.workers))),
    above_workers: median(crossings.map(({ above }) => Number(above?.workers))),
    furthest: crossings.length > 0 ? null : furthest,
    generator_core_ratio: median(around.map(generatorShare)),
  }
}

/** @param {number[]} rates_rps @returns {Interval} */
function intervalOf(rates_rps) {
  if (rates_rps.length === 0) return { estimate: Number.NaN, low: 0, high: Number.POSITIVE_INFINITY }
  const { estimate, low, high } = typical(rates_rps.map(Math.log), CONFIDENCE)
  return { estimate: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high) }
}

/**
 * @param {RampPlan} plan
 * @param {Found[]} series
 * @param {Effect | null} work
 */
function costOf({ prices, drivers }, series, work) {
  const of = (/** @type {Name} */ side) => {
    const [price, found] = [prices[side], mainOf(series, side, drivers[0])]
    return price && found && found.blocks > 0 && boundOf(found).length === 0 ? costPerMillion(price, found.rps) : null
  }
  const isKnown = prices.a && prices.b && work && work.pairs > 0
  const both = isKnown ? { estimate: work.ratio, low: work.low, high: work.high } : null
  return {
    a: of('a'),
    b: of('b'),
    b_to_a: both && prices.a && prices.b ? costRatio(prices.a, prices.b, both) : null,
  }
}

/** @param {Records} records */
function keptRatio(records) {
  const beside = records.flatMap((record) => (record.outcome.verdict !== 'invalid' && record.beside) || [])
  if (beside.length === 0) return null
  return median(beside.map(({ planned, ok }) => ok / planned))
}
