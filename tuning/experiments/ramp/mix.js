import { isValid } from '../../../load/capacity/ladder.js'
import { median } from '../../stats/ranks.js'
import { rungsOf } from './climb.js'
import { ofSeries, screened, screenTrials, sidesOf } from './design.js'

/**
 * @import { Name, RampPlan, Records } from './design.js'
 * @import { ByEntry } from '../../../load/report/record.js'
 */

/**
 * @typedef {ReturnType<typeof screensOf>[number]} Screen
 * @typedef {NonNullable<ReturnType<typeof withoutOf>>} Without
 */

/** Each request of the mix alone; none where there is only one. @param {RampPlan} plan @param {Records} records */
export function screensOf(plan, records) {
  return sidesOf(plan).flatMap((side) =>
    screened(plan).map(({ name }) => {
      return { side, entry: name, trial: screenTrials(records, side, name).find(isValid) }
    }),
  )
}

/**
 * What leaving out entries did to the others, at the highest number of workers below the ceiling that has trials both with
 * and without them; null: nothing was left out.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 */
export function withoutOf(plan, records) {
  if (!plan.without) return null
  const own = records.filter(({ load }) => load.driver === plan.drivers[0])
  return {
    left_out: String(plan.left_out),
    // Not every driver tells requests apart.
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
