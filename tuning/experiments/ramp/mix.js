import { isValid } from '../../../load/capacity/ladder.js'
import { median } from '../../stats/ranks.js'
import { rungsOf } from './climb.js'
import { ofSeries, screened, screenTrials } from './design.js'

/**
 * @import { ByEntry } from '../../../load/generators/drivers/tally.js'
 * @import { Name, RampPlan, Records } from './design.js'
 */

/**
 * @typedef {{ side: Name, entry: string, trial: Records[number] | undefined }} Screen a request of the mix alone
 *
 * @typedef {object} Without what leaving out entries did to the others
 * @property {string} left_out
 * @property {boolean} told whether the driver tells requests apart
 * @property {{ side: Name, workers: number, entry: string, rps: number[], mean_ms: number[] }[]} rows with all entries, and
 *   without those left out
 */

/** @param {RampPlan} plan @param {Records} records @returns {Screen[]} none where there is one kind of request only */
export function screensOf(plan, records) {
  return sidesOf(plan).flatMap((side) =>
    screened(plan).map(({ name }) => {
      return { side, entry: name, trial: screenTrials(records, side, name).find(isValid) }
    }),
  )
}

/**
 * Compares at the highest number of workers below the ceiling that has trials both with and without the entries.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @returns {Without | null} null: nothing was left out
 */
export function withoutOf(plan, records) {
  if (!plan.without) return null
  const own = records.filter(({ load }) => load.driver === plan.drivers[0])
  return {
    left_out: String(plan.left_out),
    told: own.length === 0 || own.some(({ traffic }) => traffic.by_entry),
    rows: sidesOf(plan).flatMap((side) => rowsOf(plan, records, side)),
  }
}

/** @param {RampPlan} plan @param {Records} records @param {Name} side */
function rowsOf(plan, records, side) {
  const [all, without] = /** @type {const} */ (['all', 'without']).map((variant) => {
    return ofSeries(records, { key: '', side, driver: plan.drivers[0], variant }).filter(isValid)
  })
  const shared = all.filter(({ load }) => without.some((other) => other.load.connections === load.connections))
  const below = shared.filter((record) => !rungsOf(plan, [record])[0].over)
  const workers = Math.max(0, ...(below.length > 0 ? below : shared).map(({ load }) => load.connections))
  const trials = [all, without].map((own) => own.filter(({ load }) => load.connections === workers))
  return screened(plan).flatMap(({ name: entry }) => {
    const of = (/** @type {(seen: ByEntry[string], record: Records[number]) => number} */ value) =>
      trials.map((own) =>
        median(
          own.map((record) => {
            const seen = record.traffic.by_entry?.[entry]
            return seen ? value(seen, record) : Number.NaN
          }),
        ),
      )
    const rps = of(({ ok }, { traffic }) => (ok * traffic.goodput_rps) / Math.max(1, traffic.ok))
    const mean_ms = of(({ latency_ms }) => latency_ms?.mean ?? Number.NaN)
    return Number.isNaN(rps[0]) ? [] : [{ side, workers, entry, rps, mean_ms }]
  })
}

/** @param {RampPlan} plan */
function sidesOf({ sides }) {
  return /** @type {Name[]} */ (Object.keys(sides))
}
