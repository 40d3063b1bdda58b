import { count, milliseconds } from '../../report/format.js'
import { expandCores } from '../../system/machine.js'
import { CORE_FULL_RATIO, NOTHING, percent } from './finding.js'
import { slowestHost } from './hosts.js'

/**
 * @import { Detect, Finding, Trial } from './finding.js'
 * @import { Slo } from '../../report/record.js'
 */

/** Of the SLO's p99: a generator that is later has a part in the latencies that is not the target's. */
const MAX_LATENESS_SHARE = 0.1

/** Of a core that belongs to the service alone, used by others or taken by the host. */
const FOREIGN_RATIO = 0.12

/** Of the connections of a pool, in use on the average. */
const POOL_FULL_RATIO = 0.9

/**
 * @param {Pick<Trial, 'load' | 'traffic' | 'probes'>} trial
 * @param {Slo} slo
 * @returns {Finding}
 */
export function generatorCpu(trial, slo) {
  const { load, traffic, probes } = trial
  if (traffic.hosts) return hostBehind(trial, slo)
  const { lateness_ms, cpu_core_ratio = 0, run_delay_ratio = 0 } = probes.generator
  const evidence = [
    `the generator used ${percent(cpu_core_ratio)} of a core and waited for it ${percent(run_delay_ratio)} of the time`,
  ]
  if (load.loop === 'closed') return { reach: cpu_core_ratio / CORE_FULL_RATIO, evidence }
  if (!lateness_ms) return NOTHING
  return {
    reach: lateness_ms.p99 / (slo.p99_ms * MAX_LATENESS_SHARE),
    evidence: [`the generator was ${milliseconds(lateness_ms.p99)} late at p99`, ...evidence],
  }
}

/**
 * @param {Pick<Trial, 'load' | 'traffic'>} trial
 * @param {Slo} slo
 */
export function hostBehind(trial, slo) {
  return slowestHost(trial, slo.p99_ms * MAX_LATENESS_SHARE)
}

/** @type {Detect} */
export function generatorConnections({ load, traffic, probes }) {
  const { in_flight_mean } = probes.api
  if (load.loop !== 'open' || in_flight_mean === undefined) return NOTHING
  return {
    reach: in_flight_mean / load.connections / POOL_FULL_RATIO,
    evidence: [
      `of the generator's ${count(load.connections)} connections, ${in_flight_mean.toFixed(0)} had a request in the service on the average; requests waited ${milliseconds(traffic.queued_ms?.mean)} for one`,
    ],
  }
}

/**
 * @param {Pick<Trial, 'target' | 'probes'>} trial
 * @returns {Finding}
 */
export function machineNoise({ target, probes }) {
  const { cores = {} } = probes.kernel
  if (!target.cores || probes.api.cpu_core_ratio === undefined) return NOTHING
  const shared = target.kind === 'ssh' ? [] : expandCores(probes.generator.cores ?? target.cores)
  const own = expandCores(target.cores).flatMap((core) => (shared.includes(core) ? [] : (cores[core] ?? [])))
  // On a core that is shared with the generator and Postgres, others are no noise.
  if (own.length === 0) return NOTHING
  const busy = own.reduce((sum, { busy_ratio }) => sum + busy_ratio, 0)
  const steal = own.reduce((sum, { steal_ratio }) => sum + steal_ratio, 0)
  const others = Math.max(0, busy - probes.api.cpu_core_ratio)
  return {
    reach: Math.max(others, steal) / FOREIGN_RATIO,
    evidence: [
      `on the service's core ${target.cores}, others used ${percent(others)}, and the host took ${percent(steal)}`,
      `the service waited for its core ${percent(probes.api.run_delay_ratio ?? 0)} of the time`,
    ],
  }
}
