import { isValid } from '../../../load/capacity/ladder.js'
import { groupBy } from '../../stats/design.js'
import { median } from '../../stats/ranks.js'
import { rungsOf } from './climb.js'
import { ofSeries, screensOf, screenTrials, sidesOf } from './design.js'

/** @import { RampPlan, Records } from './design.js' */

/** @typedef {{ name: string, unit: 'ratio' | 'bytes' | 'bytes_per_s', value: (record: any) => number | undefined }} Resource */

/**
 * What was used meanwhile. The disks and the memory that we see are the lab's, so they count only where the side runs here.
 * @type {Resource[]}
 */
const RESOURCES = [
  { name: 'API core', unit: 'ratio', value: ({ probes }) => probes.api.cpu_core_ratio },
  { name: 'API memory', unit: 'bytes', value: ({ probes }) => probes.api.rss_bytes },
  { name: 'Postgres', unit: 'ratio', value: ({ probes }) => probes.postgres.cpu_core_ratio },
  { name: 'disk read', unit: 'bytes_per_s', value: (record) => here(record).disk?.read_bytes / secondsOf(record) },
  {
    name: 'disk written',
    unit: 'bytes_per_s',
    value: (record) => here(record).disk?.written_bytes / secondsOf(record),
  },
  { name: 'disk busy', unit: 'ratio', value: (record) => here(record).disk?.busy_ratio },
  { name: 'free memory', unit: 'bytes', value: (record) => here(record).memory_available_bytes },
  { name: 'generator', unit: 'ratio', value: ({ probes }) => probes.generator.cpu_core_ratio },
]

/** Those that any trial knows. @param {Records} records */
export function resourcesOf(records) {
  return RESOURCES.filter(({ value }) => records.some((record) => Number.isFinite(value(record))))
}

/**
 * Medians of the trials with the same number of workers.
 * @param {RampPlan} plan @param {Records} trials valid, of one series @param {Resource[]} resources
 */
export function tableRungs(plan, trials, resources) {
  const groups = [...groupBy(trials, ({ load }) => String(load.connections)).values()].map((own) => ({
    workers: own[0].load.connections,
    trials: own.length,
    rps: median(own.map(({ traffic }) => traffic.goodput_rps)),
    mean_ms: median(own.map(({ traffic }) => traffic.latency_ms?.mean)),
    p99_ms: median(own.map(({ traffic }) => traffic.latency_ms?.p99)),
    success_ratio: median(own.map(({ traffic }) => traffic.success_ratio)),
    waiting_ratio: median(own.map(waitingShare)),
    over: 2 * rungsOf(plan, own).filter(({ over }) => over).length > own.length,
    resources: resources.map(({ value }) => median(own.map(value))),
  }))
  return groups.sort((a, b) => a.workers - b.workers)
}

/** What a request costs the service just below the ceiling. @param {Records} trials of those rungs */
export function atCeiling(trials) {
  return {
    cpu_core_ratio: median(trials.map(({ probes }) => probes.api.cpu_core_ratio)),
    disk_bytes: median(
      trials.map((record) => {
        const { read_bytes, written_bytes } = here(record).disk ?? {}
        return (read_bytes + written_bytes) / record.traffic.completed
      }),
    ),
  }
}

/**
 * Of the workers' time. A driver that waits for the last answers has its workers at work, on average, for half an answer
 * longer than the trial; one that drops them, for half an answer less.
 *
 * @param {Pick<Records[number], 'traffic' | 'load'>} record
 * @returns {number} NaN where not all succeeded, or more were lost than the end cuts off: the rest of the time is unknown then
 */
export function waitingShare({ traffic, load }) {
  const { success_ratio, sent, completed, latency_ms } = traffic
  const cut = Math.max(0, sent - completed)
  if (success_ratio < 1 || cut > load.connections) return Number.NaN
  const mean_s = (latency_ms?.mean ?? Number.NaN) / 1000
  const worked_s = load.connections * load.duration_s + ((load.connections - 2 * cut) * mean_s) / 2
  return Math.min(1, (completed * mean_s) / worked_s)
}

/** Each request of the mix alone; none where there is only one. @param {RampPlan} plan @param {Records} records */
export function screened(plan, records) {
  return screensOf(plan).map(({ side, entry: { name } }) => {
    return { side, entry: name, trial: screenTrials(records, side, name).find(isValid) }
  })
}

/**
 * What leaving out entries did to the others, at the highest number of workers below the ceiling that has trials both with
 * and without them; null: nothing was left out.
 * @param {RampPlan} plan @param {Records} records
 */
export function withoutOf(plan, records) {
  if (!plan.without) return null
  const { left_out, mix, drivers } = plan
  const own = records.filter(({ load }) => load.driver === drivers[0])
  const rows = sidesOf(plan).flatMap((side) => {
    const both = ['all', 'without'].map((variant) => {
      return ofSeries(records, { side, driver: drivers[0], variant }).filter(isValid)
    })
    const shared = both[0].filter(({ load }) => both[1].some((other) => other.load.connections === load.connections))
    const below = shared.filter((record) => !rungsOf(plan, [record])[0].over)
    const workers = Math.max(0, ...(below.length > 0 ? below : shared).map(({ load }) => load.connections))
    const trials = both.map((one) => one.filter(({ load }) => load.connections === workers))
    return (mix.entries ?? []).flatMap(({ name: entry }) => {
      const [all, rest] = trials.map((one) => {
        const rates_rps = one.map(({ traffic: { by_entry, goodput_rps, ok } }) => {
          return by_entry?.[entry] && (by_entry[entry].ok * goodput_rps) / Math.max(1, ok)
        })
        const means_ms = one.map(({ traffic: { by_entry } }) => by_entry?.[entry]?.latency_ms?.mean)
        return { rps: median(rates_rps), mean_ms: median(means_ms) }
      })
      return Number.isNaN(all.rps) ? [] : [{ side, workers, entry, all, rest }]
    })
  })
  // Not every driver tells requests apart.
  const told = own.length === 0 || own.some(({ traffic }) => traffic.by_entry)
  return { left_out: String(left_out), told, rows }
}

/** What this machine's kernel tells of a side that runs here. @param {any} record */
function here({ target, probes }) {
  return target?.kind === 'local' ? probes.kernel : {}
}

/** @param {any} record */
function secondsOf({ traffic, load }) {
  return Math.max(load.duration_s, traffic.completed / traffic.achieved_rps || 0)
}
