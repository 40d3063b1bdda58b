import { wholePercent } from '../../report/format.js'
import { expandCores } from '../../system/machine.js'
import { brokenBounds, failingEntries } from '../latencies.js'

/**
 * @import { limitOf } from '../limit.js'
 * @import { CoreShare, ProcessProbe, Slo } from '../../report/record.js'
 */

/**
 * Reports how close a resource came to its limit in one trial. `reach` is 1 at the limit, and 0 if the resource was not observable or
 * not involved; `evidence` is a list of sentences.
 * @typedef {Parameters<typeof limitOf>[0]} Trial
 * @typedef {{ reach: number, evidence: string[] }} Finding
 * @typedef {(trial: Trial, slo: Slo) => Finding} Detect
 */

/** @type {Finding} */
export const NOTHING = Object.freeze({ reach: 0, evidence: [] })
/** Reach of what may be beside a limit, but cannot be it. */
export const BESIDE_REACH = 0.89
/** Utilization beyond which a core cannot take more work and stay on time. */
export const CORE_FULL_RATIO = 0.9
/** Utilization at which a core is full according to its own counters, or a thread according to its own CPU time. */
export const COUNTED_FULL_RATIO = 0.95
/** Share of a service's own core that others may use, or the host may take, before it explains what is late. */
export const FOREIGN_RATIO = 0.12
/** Share of the time throttled. Requests that arrive in it wait for the control group's next period, so one in twenty is late. */
const THROTTLED_RATIO = 0.05
/** Share of requests with an error below which errors count as chance, unless they alone made a trial fail. */
const ERROR_SHARE = 0.001

/** @param {number} reach @param {string[]} evidence @returns {Finding} */
export function finding(reach, ...evidence) {
  return { reach, evidence }
}

/**
 * Finding for an exhausted CPU quota of a control group. The kernel adds up the times for which it stopped the group on each core, so
 * the sum is divided by the number of cores that the group keeps busy.
 * @param {Partial<ProcessProbe>} probe @param {string} name
 */
export function ofQuota({ quota_cores, throttled_ratio, cpu_core_ratio }, name) {
  if (!quota_cores) return NOTHING
  const stopped_ratio = Number(throttled_ratio) / Math.max(1, Number(cpu_core_ratio ?? 1))
  const quota = `the CPU quota of ${name} is ${Number(quota_cores.toFixed(2))} cores`
  const stopped = `${name} stopped, ${wholePercent(Math.min(1, stopped_ratio))} of the time`
  return finding(stopped_ratio / THROTTLED_RATIO, `${quota}; it was used up, and ${stopped}`)
}

/**
 * Finding for a resource that makes requests fail.
 * @param {number} failed @param {Failing} traffic @param {Slo | null} slo accepts a share of errors; null: none
 *   is accepted @param {string[]} evidence
 */
export function ofFailed(failed, traffic, slo, ...evidence) {
  const accepted = slo ? acceptedShare(slo, traffic) : 0
  const share = failed / traffic.planned
  const isAlone = slo && share > accepted && failed + traffic.ok === traffic.planned
  const least = isAlone && brokenBounds(traffic, slo).length === 0 ? 1 : 0
  return failed === 0 ? NOTHING : finding(Math.max(least, share / Math.max(ERROR_SHARE, accepted)), ...evidence)
}

/** Finding for a limit that closes connections, unless the SLO accepts so many errors. @param {number} closed @param {Failing} traffic @param {Slo} slo @param {string[]} evidence */
export function ofClosed(closed, traffic, slo, ...evidence) {
  const { planned } = traffic
  const accepted = acceptedShare(slo, traffic) * planned
  return finding(closed > accepted ? 1 + closed / planned : closed / accepted, ...evidence)
}

/**
 * Share of the requests that may fail within an SLO, and within those of the entries that fail theirs.
 * @param {Slo} slo @param {Failing} traffic @typedef {Pick<Trial['traffic'], 'planned' | 'ok' | 'latency_ms' | 'by_entry'>} Failing
 */
export function acceptedShare(slo, traffic) {
  const failing = failingEntries(traffic, slo).map(({ success_ratio }) => success_ratio ?? 0)
  return 1 - Math.max(slo.success_ratio, ...failing)
}

/**
 * CPU, in cores, that Postgres may have used on some of the service's cores: all that it used, if it may run on one of them; 0 if not.
 * On another host, the agent has looked.
 * @param {number[]} cores of the service @param {Trial['probes']} probes
 */
export function postgresOn(cores, { postgres, here, kernel }) {
  if (here !== undefined) return kernel.postgres_core_ratio ?? 0
  const isBeside = expandCores(postgres?.cores ?? '').some((core) => cores.includes(core))
  return isBeside ? Number(postgres.cpu_core_ratio ?? 0) : 0
}

/** CPU, in cores, that a generator on this machine may have used on some of the service's cores. @param {number[]} cores @param {Trial['probes']} probes */
export function generatorOn(cores, { generator, here }) {
  const isBeside = expandCores(generator?.cores ?? '').some((core) => cores.includes(core))
  return isBeside && here === undefined ? Number(generator.cpu_core_ratio ?? 0) : 0
}

/** Utilization of a core: busy share of the time that the host did not steal. @param {CoreShare} core */
export function fullness({ busy_ratio, interrupts_ratio, steal_ratio }) {
  return (busy_ratio + interrupts_ratio) / (1 - steal_ratio)
}
