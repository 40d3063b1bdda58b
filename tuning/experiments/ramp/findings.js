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
 * @import { Agreement } from './agreement.js'
 * @import { Interval } from './cost.js'
 * @import { Name, RampPlan, Records } from './design.js'
 * @import { Screen, Without } from './mix.js'
 * @import { Resource, TableRung } from './rungs.js'
 * @import { Climbed, Found } from './series.js'
 */

/** Of the background's writes: fewer were not the load that was asked for. */
const KEPT_RATIO = 0.95

/**
 * @typedef {object} RampFindings
 * @property {string | null} problem
 * @property {Record<string, any>} kept
 * @property {RampPlan} plan
 * @property {SeriesShown[]} series
 * @property {Effect | null} work of one B, in As; null where there is no B, or a rate is only a lower bound
 * @property {string[]} bounded why the rate of a side is a lower bound; no ratio and no cost is derived from it
 * @property {Record<'a' | 'b' | 'b_to_a', Interval | null>} cost of a million requests at the ceiling; b_to_a: what the same
 *   work costs on B, as a share of what it costs on A
 * @property {number | null} kept_ratio of the background's writes that succeeded; null: none
 * @property {Agreement[]} agreements
 * @property {Resource[]} resources that were seen
 * @property {Screen[]} screens
 * @property {Without | null} without
 * @property {Record<string, string>} drivers with their versions
 * @property {string[]} missing why drivers are left out
 *
 * @typedef {{ found: Found, name: string, label: string, rungs: TableRung[], at_ceiling: { cpu_core_ratio: number, disk_bytes: number } }} SeriesShown
 *   disk_bytes: read and written for a request

 */

/**
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {{ drivers?: Record<string, string>, missing?: string[] }} run
 * @returns {RampFindings}
 */
export function findingsOf(plan, records, { drivers = {}, missing = [] }) {
  const climbed = seriesOf(plan).map((one) => climbedOf(plan, one, ofSeries(records, one)))
  const [a, b] = /** @type {const} */ (['a', 'b']).map((side) => wholeMixOf(climbed, side, plan.drivers[0]))
  const bounded = [a, b].flatMap((one) => (one ? boundOf(one.found) : []))
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
