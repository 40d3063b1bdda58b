import { count, milliseconds, NONE, percent } from '../../../load/report/format.js'
import { median } from '../../stats/ranks.js'
import { table } from '../../stats/spread.js'
import { figure, times } from './sentences.js'
import { rungsOf, screened, screenTrial, trialsOf } from './steps.js'

/**
 * @import { ByEntry } from '../../../load/generators/drivers/tally.js'
 * @import { Name, RampPlan, Records } from './steps.js'
 */

/**
 * Each request of the mix alone.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @returns {string[]} none where there is one kind of request only
 */
export function screenPart(plan, records) {
  const entries = screened(plan)
  if (entries.length === 0) return []
  const rows = sidesOf(plan).flatMap((side) =>
    entries.map(({ name }) => {
      const trial = screenTrial(records, side, name)
      return [
        `${side.toUpperCase()}: ${name}`,
        trial ? count(trial.load.connections) : NONE,
        trial ? figure(trial.traffic.goodput_rps) : NONE,
        milliseconds(trial?.traffic.latency_ms?.mean),
        milliseconds(trial?.traffic.latency_ms?.p99),
        trial ? percent(trial.traffic.success_ratio) : NONE,
      ]
    }),
  )
  return [table(['each request alone', 'workers', 'requests/s', 'mean', 'p99', 'success'], rows)]
}

/**
 * What leaving out one request does to the others, at the highest number of workers below the ceiling that both had.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @returns {string[]}
 */
export function withoutPart(plan, records) {
  const { without, left_out, drivers } = plan
  if (!without) return []
  const rows = sidesOf(plan).flatMap((side) => withoutRows(plan, records, side))
  if (rows.length === 0) return [nothingText(records, drivers[0], left_out)]
  const left = `without ${left_out}`
  return [table(['side, workers, request', 'requests/s', left, 'ratio', 'mean', left, 'ratio'], rows)]
}

/** @param {Records} records @param {string} driver @param {string | null} left_out */
function nothingText(records, driver, left_out) {
  const own = records.filter(({ load }) => load.driver === driver)
  if (own.length > 0 && own.every(({ traffic }) => !traffic.by_entry)) {
    return `${driver} does not tell requests apart: what it did to each, autocannon tells.`
  }
  return `What leaving out ${left_out} did to the others is not known: no number of workers has a valid trial both with it and without it.`
}

/** @param {RampPlan} plan @param {Records} records @param {Name} side */
function withoutRows(plan, records, side) {
  const [all, without] = ['all', 'without'].map((variant) => trialsOf(records, `${side}:${plan.drivers[0]}:${variant}`))
  const shared = all.filter(({ load }) => without.some((other) => other.load.connections === load.connections))
  const below = shared.filter((record) => !rungsOf(plan, [record])[0].over)
  const workers = Math.max(0, ...(below.length > 0 ? below : shared).map(({ load }) => load.connections))
  return screened(plan).flatMap(({ name }) => {
    const of = (
      /** @type {Records} */ trials,
      /** @type {(entry: Entry, record: Records[number]) => number} */ value,
    ) => {
      const own = trials.filter(({ load }) => load.connections === workers)
      return median(
        own.flatMap((record) => {
          const entry = record.traffic.by_entry?.[name]
          return entry ? [value(entry, record)] : []
        }),
      )
    }
    const [rates, means] = [ratePerSecond, meanLatency].map((value) => [of(all, value), of(without, value)])
    if (Number.isNaN(rates[0])) return []
    return [
      [
        `${side.toUpperCase()}, ${count(workers)}: ${name}`,
        ...[...rates.map(figure), times(rates[1] / rates[0])],
        ...[...means.map(milliseconds), times(means[1] / means[0])],
      ],
    ]
  })
}

/** @typedef {ByEntry[string]} Entry */

/** @param {Entry} entry @param {Records[number]} record */
function ratePerSecond({ ok }, { traffic }) {
  return (ok * traffic.goodput_rps) / Math.max(1, traffic.ok)
}

/** @param {Entry} entry */
function meanLatency({ latency_ms }) {
  return latency_ms?.mean ?? Number.NaN
}

/** @param {RampPlan} plan */
function sidesOf({ sides }) {
  return /** @type {Name[]} */ (Object.keys(sides))
}
