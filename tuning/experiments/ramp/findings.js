import { isValid } from '../../../load/capacity/ladder.js'
import { labelOf, silentSide } from '../../knobs/sides.js'
import { groupBy } from '../../stats/design.js'
import { CONFIDENCE } from '../../stats/effects.js'
import { median, typical } from '../../stats/ranks.js'
import { generatorShare, isFullShare } from '../../stats/sound.js'
import { agreementsOf, ratioTo } from './agreement.js'
import { crossingOf, rungsOf } from './climb.js'
import { costPerMillion, costRatio } from './cost.js'
import { ofSeries, seriesOf } from './design.js'
import { atCeiling, resourcesOf, screened, tableRungs, withoutOf } from './rungs.js'

/**
 * @import { RampPlan, Records, Series } from './design.js'
 * @import { Resource } from './rungs.js'
 */

/** Of the background's writes: fewer were not the load that was asked for. */
const KEPT_RATIO = 0.95

/**
 * @typedef {ReturnType<typeof findingsOf>} RampFindings
 * @typedef {ReturnType<typeof climbed>} Climbed
 */

/**
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {{ drivers?: Record<string, string>, missing?: string[] }} run drivers with their versions, and why others are missing
 */
export function findingsOf(plan, records, { drivers = {}, missing = [] }) {
  const { sides, prices } = plan
  const resources = resourcesOf(records)
  const series = seriesOf(plan).map((one) => climbed(plan, one, ofSeries(records, one), resources))
  const mains = series.filter(({ isMain }) => isMain)
  const [a, b] = mains
  const bounded = mains.flatMap(({ bound }) => bound)
  // How many As do the work of one B: null where there is no B, or a rate is only a lower bound.
  const work = b && bounded.length === 0 ? ratioTo(a, b) : null
  const both = work && work.pairs > 0 && { estimate: work.ratio, low: work.low, high: work.high }
  const [million_a, million_b] = [a, b].map((one) => {
    const price = one && prices[one.found.side]
    return price && one.found.blocks > 0 && one.bound.length === 0 ? costPerMillion(price, one.found.rps) : null
  })
  const beside = records.flatMap((record) => (isValid(record) && record.beside) || [])
  const kept_ratio = beside.length === 0 ? null : median(beside.map(({ planned, ok }) => ok / planned))
  const b_to_a = both && prices.a && prices.b ? costRatio(prices.a, prices.b, both) : null
  const cost = { a: million_a, b: million_b, b_to_a }
  const found = { work, bounded, cost, kept_ratio, agreements: agreementsOf(plan, series) }
  return {
    problem: silentSide(records, Object.keys(sides)) ?? fullProblem(plan, mains),
    kept: { capacity: null, limit: null, ramp: { series: series.map((one) => one.found), ...found } },
    plan,
    ...found,
    fellBehind: kept_ratio !== null && kept_ratio < KEPT_RATIO,
    series,
    resources,
    screens: screened(plan, records),
    without: withoutOf(plan, records),
    drivers,
    missing,
  }
}

/** @param {RampPlan} plan @param {Series} series @param {Records} records of the series @param {Resource[]} resources */
function climbed(plan, series, records, resources) {
  const { side, driver, variant } = series
  const trials = records.filter(isValid)
  const blocks = groupBy(records, ({ at }) => String(at.block))
  const met = [...blocks].flatMap(([block, own]) => {
    const crossing = crossingOf(rungsOf(plan, own), plan.ceiling_ms)
    return crossing ? [{ block: Number(block), ...crossing }] : []
  })
  // Where less than half of the blocks met the ceiling, those that did are not typical.
  const crossings = 2 * met.length >= blocks.size ? met : []
  const [below, above] = [crossings.map((one) => one.below.workers), crossings.map((one) => one.above.workers)]
  const near = [...below, ...above]
  const around = near.length > 0 ? trials.filter(({ load }) => near.includes(load.connections)) : trials.slice(-1)
  const rungs = rungsOf(plan, trials).sort((one, other) => one.workers - other.workers)
  const furthest = rungs.at(rungs.every(({ over }) => over) ? 0 : -1) ?? null
  const rates = typical(
    crossings.map(({ rps }) => Math.log(rps)),
    CONFIDENCE,
  )
  /** What run.json keeps. Medians of the blocks; NaN where the ceiling was not met. */
  const found = {
    ...series,
    // Those with figures.
    blocks: crossings.length,
    met: met.length,
    tried: blocks.size,
    // At the ceiling; low and high are 0 and infinite where there are too few blocks.
    workers: median(crossings.map(({ workers }) => workers)),
    rps: { estimate: Math.exp(rates.estimate), low: Math.exp(rates.low), high: Math.exp(rates.high) },
    // Requests failed before the latency was at the ceiling, somewhere between the next two.
    refuses: 2 * crossings.filter(({ by_errors }) => by_errors).length > crossings.length,
    below_workers: median(below),
    above_workers: median(above),
    // Where it was not met: the rung that came nearest.
    furthest: crossings.length > 0 ? null : furthest,
    // Share of its cores that the generator used or waited for, at the rungs around the ceiling.
    generator_core_ratio: median(around.map(generatorShare)),
  }
  const name = side.toUpperCase()
  const isFull = isFullShare(found.generator_core_ratio)
  const limits = [
    ...(isFull ? [`${driver} was at its own limit on ${name}`] : []),
    ...(found.refuses && !isFull ? [`${name} fails requests before it is at the ceiling`] : []),
  ]
  const without = variant === 'without' ? `, without ${plan.left_out}` : ''
  return {
    found,
    name: `${name}${plan.drivers.length > 1 ? `, ${driver}` : ''}${without}`,
    label: labelOf(/** @type {any} */ (plan.sides[side])),
    // It answers for its side, the others check it.
    isMain: driver === plan.drivers[0] && variant === 'all',
    isFull,
    // Why the rate at the ceiling is a lower bound; empty: it is not.
    bound: crossings.length > 0 ? limits : [],
    trials,
    rps: new Map(crossings.map(({ block, rps }) => [block, rps])),
    rungs: tableRungs(plan, trials, resources),
    at_ceiling: atCeiling(trials.filter(({ load }) => below.includes(load.connections))),
  }
}

/** Of a ratio of two rates, one of which is the generator's. @param {RampPlan} plan @param {Climbed[]} mains */
function fullProblem({ sides, drivers }, mains) {
  const full = mains.filter(({ found, isFull }) => found.blocks > 0 && isFull)
  if (!sides.b || full.length === 0) return null
  const names = full.map(({ found }) => found.side.toUpperCase()).join(' and ')
  return `${drivers[0]} was at its own limit on ${names}, so that how many of A do the work of one B is not known`
}
