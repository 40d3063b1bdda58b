import { UNSENT } from '../../generators/drivers/errors.js'
import { count, milliseconds, wholePercent } from '../../report/format.js'
import { expandCores } from '../../system/machine.js'
import { busyShare, sharedCore } from '../ledger.js'
import { CORE_FULL_RATIO, finding, NOTHING } from './finding.js'

/**
 * @import { Detect, Trial } from './finding.js'
 * @import { HostTraffic, Slo } from '../../report/record.js'
 */

/** Of the SLO's p99: a generator that is later has a part in the latencies that is not the target's. */
const MAX_LATENESS_SHARE = 0.1
/** A longer wait for a connection means that none was free. */
const MAX_WAIT_MS = 10
/** Of a core that belongs to the service alone, used by others or taken by the host. */
const FOREIGN_RATIO = 0.12
/** Times as busy as the next resource: two cores that are nearly alike are a tie, and no verdict against the generator. */
const BUSIER_TIMES = 1.1
/** A host that begins later than this, and than this share of the trial, was not there for a part of the load. */
const START_MS = 250
const START_SHARE = 0.1

/** The generator is late, or it fills the core that Postgres needs. @type {Detect} */
export function generatorCpu(trial, slo) {
  const late = generatorLateness(trial, slo)
  const crowding = generatorCrowding(trial)
  return crowding.reach > late.reach ? crowding : late
}

/** @param {Pick<Trial, 'load' | 'traffic' | 'probes'>} trial @param {Slo} slo */
export function generatorLateness(trial, slo) {
  const { load, traffic, probes } = trial
  if (traffic.hosts) return hostBehind(trial, slo)
  const { lateness_ms, cpu_core_ratio = 0, run_delay_ratio = 0 } = probes.generator
  const used = `the generator used ${wholePercent(cpu_core_ratio)} of a core and waited for it ${wholePercent(run_delay_ratio)} of the time`
  if (load.loop === 'closed') return finding(cpu_core_ratio / CORE_FULL_RATIO, used)
  if (!lateness_ms) return NOTHING
  const late = `the generator was ${milliseconds(lateness_ms.p99)} late at p99`
  return finding(lateness_ms.p99 / (slo.p99_ms * MAX_LATENESS_SHARE), late, used)
}

/**
 * Whether the generator fills the core that it shares with Postgres. It has priority there, so it is never late itself; Postgres is.
 *
 * The busiest resource bounds the throughput (Denning & Buzen 1978, bottleneck analysis). It is the generator's doing where that is the
 * shared core, nobody uses more of it than the generator, and no core would be about as busy without it.
 *
 * @param {Pick<Trial, 'target' | 'probes'>} trial
 */
export function generatorCrowding({ target, probes }) {
  const shared = sharedCore(probes)
  if (!shared) return NOTHING
  const { cores, utilization, generator_share } = shared
  const service = busyShare(probes.kernel, target.cores) ?? probes.api.main_core_ratio ?? 0
  const postgres = (probes.postgres.cpu_core_ratio ?? 0) / expandCores(cores).length
  const next = Math.max(service, utilization - generator_share)
  if (generator_share <= postgres || utilization < BUSIER_TIMES * next) return NOTHING
  return finding(
    utilization / CORE_FULL_RATIO,
    `the generator used ${wholePercent(generator_share)} of core ${cores}, on which Postgres also runs (${wholePercent(postgres)}): that core was ${wholePercent(utilization)} busy, the service's core ${wholePercent(service)}`,
  )
}

/**
 * Which of several load hosts was the furthest behind: what the others offered meanwhile was not the load that was asked
 * for. In a closed loop none is behind; there the fullest counts. NOTHING where the load came from one machine.
 *
 * @param {Pick<Trial, 'load' | 'traffic'>} trial @param {Slo} slo
 */
export function hostBehind({ load, traffic: { hosts = [] } }, slo) {
  const soonest_ms = Math.min(...hosts.flatMap(({ word_ms }) => word_ms ?? []))
  const found = hosts.map((host) => {
    const heard_ms = typeof host.word_ms === 'number' ? host.word_ms - soonest_ms : 0
    if (load.loop === 'open') return behind(host, heard_ms, load.duration_s, slo)
    return finding((host.cpu_core_ratio ?? 0) / Math.max(1, host.cores ?? 1) / CORE_FULL_RATIO, useOf(host))
  })
  return found.reduce((worst, one) => (one.reach > worst.reach ? one : worst), NOTHING)
}

/**
 * No clock of one host is compared with another's: how long after the others it heard is by ours, and by its own how long
 * after that it began.
 *
 * @param {HostTraffic} traffic @param {number} heard_ms @param {number} duration_s @param {Slo} slo
 */
function behind(traffic, heard_ms, duration_s, slo) {
  const { host, lateness_ms, sent, planned = sent } = traffic
  const start_ms = traffic.start_ms ?? 0
  const late = (lateness_ms?.p99 ?? 0) / (slo.p99_ms * MAX_LATENESS_SHARE)
  const begun = (start_ms + heard_ms) / Math.max(START_MS, duration_s * 1000 * START_SHARE)
  const heard = `${host} heard that it was to begin up to ${milliseconds(heard_ms)} after another`
  const beginning = heard_ms > start_ms ? heard : `${host} began ${milliseconds(start_ms)} after it was told to`
  const what = begun > late ? beginning : `${host} was ${milliseconds(lateness_ms?.p99)} late at p99`
  const unsent = sent < planned ? [`${host} sent ${count(sent)} of its ${count(planned)} requests`] : []
  return finding(Math.max(late, begun), what, ...unsent, useOf(traffic))
}

/** @param {HostTraffic} traffic */
function useOf({ host, cpu_core_ratio, cores }) {
  if (cpu_core_ratio === null) return `what the generator used on ${host} is not seen`
  return `the generator on ${host} used ${wholePercent(cpu_core_ratio)} of a core${cores ? `, of ${cores}` : ''}`
}

/**
 * Whether requests waited in the generator because it had fewer connections than the rate needs. With as many as that, all of
 * them are busy only where the target misses its SLO, and a wait for one is the target's doing.
 *
 * @param {Pick<Trial, 'load' | 'traffic' | 'probes'>} trial @param {Slo} slo
 */
export function generatorConnections({ load, traffic, probes }, slo) {
  const { connections, connections_needed = 0 } = load
  if (load.loop !== 'open' || connections >= connections_needed) return NOTHING
  const late_ms = traffic.hosts ? 0 : (probes.generator.lateness_ms?.p99 ?? 0)
  const waited_ms = Math.max(0, (traffic.queued_ms?.p99 ?? 0) - late_ms)
  const share = traffic.errors[UNSENT] > 0 ? 1 : waited_ms / Math.min(MAX_WAIT_MS, slo.p99_ms * MAX_LATENESS_SHARE)
  const few = `the generator had ${count(connections)} connections, and this rate within this SLO needs ${count(connections_needed)}`
  return finding(share, `${few}; requests waited ${milliseconds(waited_ms)} for one at p99`)
}

/** @param {Pick<Trial, 'target' | 'probes'>} trial */
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
  return finding(
    Math.max(others, steal) / FOREIGN_RATIO,
    `on the service's core ${target.cores}, others used ${wholePercent(others)}, and the host took ${wholePercent(steal)}`,
    `the service waited for its core ${wholePercent(probes.api.run_delay_ratio ?? 0)} of the time`,
  )
}
