import { isValid } from '../../../load/capacity/ladder.js'
import { labelOf } from '../../knobs/sides.js'
import { median } from '../../stats/ranks.js'
import { agreementsOf } from './agreement.js'
import { costPerMillion, costRatio } from './cost.js'
import { ofSeries, seriesOf } from './design.js'
import { screensOf, withoutOf } from './mix.js'
import { atCeiling, resourcesOf, tableRungs } from './rungs.js'
import { boundOf, climbedOf, isFull, nameOf, ratioTo, wholeMixOf } from './series.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { Name, RampPlan, Records } from './design.js'
 * @import { Climbed } from './series.js'
 */

/** Of the background's writes: fewer were not the load that was asked for. */
const KEPT_RATIO = 0.95

/**
 * @typedef {ReturnType<typeof findingsOf>} RampFindings
 * @typedef {RampFindings['series'][number]} SeriesShown
 */

/**
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {{ drivers?: Record<string, string>, missing?: string[] }} run drivers with their versions, and why others are missing
 */
export function findingsOf(plan, records, { drivers = {}, missing = [] }) {
  const climbed = seriesOf(plan).map((one) => climbedOf(plan, one, ofSeries(records, one)))
  const [a, b] = /** @type {const} */ (['a', 'b']).map((side) => wholeMixOf(climbed, side, plan.drivers[0]))
  const bounded = [a, b].flatMap((one) => (one ? boundOf(one.found) : []))
  // How many As do the work of one B: null where there is no B, or a rate is only a lower bound.
  const work = a && b && bounded.length === 0 ? ratioTo(a, b) : null
  const found = {
    work,
    bounded,
    cost: costOf(plan, [a, b], work),
    kept_ratio: keptRatio(records),
    agreements: agreementsOf(plan, climbed),
  }
  const resources = resourcesOf(records)
  return {
    problem: problemOf(plan, records) ?? fullProblem(plan, [a, b]),
    kept: { capacity: null, limit: null, ramp: { series: climbed.map((one) => one.found), ...found } },
    plan,
    ...found,
    series: climbed.map(({ found: own, trials, below }) => ({
      found: own,
      name: nameOf(plan, own),
      label: labelOf(/** @type {any} */ (plan.sides[own.side])),
      rungs: tableRungs(plan, trials, resources),
      at_ceiling: atCeiling(trials.filter(({ load }) => below.includes(load.connections))),
    })),
    resources,
    screens: screensOf(plan, records),
    without: withoutOf(plan, records),
    drivers,
    missing,
  }
}

/** Whether the background fell behind. @param {Pick<RampFindings, 'kept_ratio'>} findings */
export function fellBehind({ kept_ratio }) {
  return kept_ratio !== null && kept_ratio < KEPT_RATIO
}

/**
 * @param {RampPlan} plan
 * @param {(Climbed | undefined)[]} mains of A and B
 * @param {Effect | null} work
 */
function costOf({ prices }, [a, b], work) {
  const of = (/** @type {Name} */ side, /** @type {Climbed | undefined} */ main) => {
    const price = prices[side]
    const isKnown = main && main.found.blocks > 0 && boundOf(main.found).length === 0
    return price && isKnown ? costPerMillion(price, main.found.rps) : null
  }
  const both = work && work.pairs > 0 ? { estimate: work.ratio, low: work.low, high: work.high } : null
  const b_to_a = both && prices.a && prices.b ? costRatio(prices.a, prices.b, both) : null
  return { a: of('a', a), b: of('b', b), b_to_a }
}

/** @param {Records} records */
function keptRatio(records) {
  const beside = records.flatMap((record) => (isValid(record) && record.beside) || [])
  return beside.length === 0 ? null : median(beside.map(({ planned, ok }) => ok / planned))
}

/** @param {RampPlan} plan @param {Records} records @returns {string | null} */
function problemOf({ sides }, records) {
  const silent = Object.keys(sides).find((side) => {
    return !records.some((record) => record.cell.side === side && isValid(record) && record.traffic.ok > 0)
  })
  if (!silent) return null
  const last = records.findLast(({ cell }) => cell.side === silent)
  return `${silent.toUpperCase()} answered not one request with success: ${last?.outcome.because ?? 'no trial'}`
}

/** Of a ratio of two rates, one of which is the generator's. @param {RampPlan} plan @param {(Climbed | undefined)[]} mains */
function fullProblem({ sides, drivers }, mains) {
  const full = mains.flatMap((main) => (main && main.found.blocks > 0 && isFull(main.found) ? [main.found.side] : []))
  if (!sides.b || full.length === 0) return null
  const names = full.map((side) => side.toUpperCase()).join(' and ')
  return `${drivers[0]} was at its own limit on ${names}, so that how many of A do the work of one B is not known`
}
