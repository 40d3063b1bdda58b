import { median } from '../../stats/ranks.js'
import { rungsOf } from './climb.js'

/** @import { RampPlan, Records } from './design.js' */

/**
 * @typedef {{ name: string, unit: 'ratio' | 'bytes' | 'bytes_per_s', value: (record: any) => number | undefined }} Resource
 * @typedef {ReturnType<typeof tableRungs>[number]} TableRung
 */

/** What was used meanwhile. The disks and the memory that we see are the lab's, so they count only where the side runs here. @type {Resource[]} */
const RESOURCES = [
  { name: 'API core', unit: 'ratio', value: ({ probes }) => probes.api.cpu_core_ratio },
  { name: 'API memory', unit: 'bytes', value: ({ probes }) => probes.api.rss_bytes },
  { name: 'Postgres', unit: 'ratio', value: ({ probes }) => probes.postgres.cpu_core_ratio },
  { name: 'disk read', unit: 'bytes_per_s', value: (record) => diskOf(record).read_bytes / secondsOf(record) },
  { name: 'disk written', unit: 'bytes_per_s', value: (record) => diskOf(record).written_bytes / secondsOf(record) },
  { name: 'disk busy', unit: 'ratio', value: (record) => diskOf(record).busy_ratio },
  {
    name: 'free memory',
    unit: 'bytes',
    value: ({ target, probes }) => (target?.kind === 'local' ? probes.kernel.memory_available_bytes : undefined),
  },
  { name: 'generator', unit: 'ratio', value: ({ probes }) => probes.generator.cpu_core_ratio },
]

/** Those that any trial knows. @param {Records} records */
export function resourcesOf(records) {
  return RESOURCES.filter(({ value }) => records.some((record) => Number.isFinite(value(record))))
}

/** Medians of the trials with the same number of workers. @param {RampPlan} plan @param {Records} trials valid, of one series @param {Resource[]} resources */
export function tableRungs(plan, trials, resources) {
  const numbers = [...new Set(trials.map(({ load }) => load.connections))].sort((a, b) => a - b)
  return numbers.map((workers) => {
    const own = trials.filter(({ load }) => load.connections === workers)
    const of = (/** @type {(record: Records[number]) => number | undefined} */ value) => {
      return median(own.map((record) => value(record) ?? Number.NaN))
    }
    return {
      workers,
      trials: own.length,
      rps: of(({ traffic }) => traffic.goodput_rps),
      mean_ms: of(({ traffic }) => traffic.latency_ms?.mean),
      p99_ms: of(({ traffic }) => traffic.latency_ms?.p99),
      success_ratio: of(({ traffic }) => traffic.success_ratio),
      waiting_ratio: of(waitingShare),
      over: 2 * rungsOf(plan, own).filter(({ over }) => over).length > own.length,
      resources: resources.map(({ value }) => of(value)),
    }
  })
}

/** What a request costs the service just below the ceiling. @param {Records} trials of those rungs */
export function atCeiling(trials) {
  const disk = (/** @type {Records[number]} */ record) => {
    const { read_bytes, written_bytes } = diskOf(record)
    return (read_bytes + written_bytes) / record.traffic.completed
  }
  return {
    cpu_core_ratio: median(trials.map(({ probes }) => probes.api.cpu_core_ratio ?? Number.NaN)),
    disk_bytes: median(trials.map(disk)),
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

/** @param {any} record */
function diskOf({ target, probes }) {
  return (target?.kind === 'local' && probes.kernel.disk) || {}
}

/** @param {any} record */
function secondsOf({ traffic, load }) {
  return Math.max(load.duration_s, traffic.completed / traffic.achieved_rps || 0)
}
