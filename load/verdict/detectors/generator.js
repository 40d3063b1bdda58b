import { UNSENT } from '../../generators/drivers/errors.js'
import { count, milliseconds, wholePercent } from '../../report/format.js'
import { highestP99, latencyBounds } from '../../report/slo.js'
import { expandCores } from '../../system/machine.js'
import { busyShare, sharedCore } from '../ledger.js'
import { CORE_FULL_RATIO, COUNTED_FULL_RATIO, FOREIGN_RATIO, finding, NOTHING, ofQuota, postgresOn } from './finding.js'

/**
 * @import { Detect, Trial } from './finding.js'
 * @import { Distribution, HostTraffic, Slo } from '../../report/record.js'
 */

/** Share of a bound of the SLO beyond which a late generator distorts the target's latencies. */
const MAX_LATENESS_SHARE = 0.1
/** A wait for a connection longer than this means that none was free. */
const MAX_WAIT_MS = 10

/** Ratio to the next busiest resource. Two nearly equally busy cores are a tie, which does not incriminate the generator. */
const BUSIER_TIMES = 1.1
/** When a shared core is full, and how many times Postgres' share the generator's is: a closed loop always fills something, so the lead has to be clear. */
const CROWDED = { open: { full: CORE_FULL_RATIO, times: 1 }, closed: { full: 0.97, times: 2 } }
/** A host that starts later than both this and this share of the trial missed part of the load. */
const START_MS = 250
const START_SHARE = 0.1

/** The generator is late, fills a core of its own, is stopped by its CPU quota, or saturates the core that Postgres needs. @type {Detect} */
export function generatorCpu(trial, slo) {
  const found = [
    generatorLateness(trial, slo),
    generatorSaturated(trial),
    generatorThrottled(trial),
    generatorCrowding(trial),
  ]
  return found.reduce((most, one) => (one.reach > most.reach ? one : most))
}

/** @param {Pick<Trial, 'load' | 'traffic' | 'probes'>} trial @param {Slo} slo */
export function generatorLateness(trial, slo) {
  const { load, traffic, probes } = trial
  if (traffic.hosts) return hostBehind(trial, slo)
  const { lateness_ms, cpu_core_ratio = 0, run_delay_ratio = 0 } = probes.generator
  const used = `the generator used ${wholePercent(cpu_core_ratio)} of a core and waited for it ${wholePercent(run_delay_ratio)} of the time`
  if (load.loop === 'closed') return finding(cpu_core_ratio / coresUsable(trial) / COUNTED_FULL_RATIO, used)
  if (!lateness_ms) return NOTHING
  const late = `the generator was ${milliseconds(lateness_ms.p99)} late at p99`
  return finding(reachOf(lateness_ms, slo, load.timeout_s), late, used)
}

/** Number of cores that a generator can fill: one for each of its threads. @param {Pick<Trial, 'traffic' | 'probes'>} trial */
function coresUsable({ traffic, probes }) {
  const { threads = 1 } = traffic
  return Math.min(threads, expandCores(probes.generator.cores ?? '').length || threads)
}

/**
 * Whether our own open-loop generator used all of a core. It then reads answers late, though it notices each send in time: every answer
 * that it reads makes it look at its schedule.
 * @param {Pick<Trial, 'load' | 'traffic' | 'probes'>} trial
 */
export function generatorSaturated({ load, traffic, probes }) {
  // Other drivers have more threads, or run elsewhere.
  if (load.driver !== 'paced' || load.loop !== 'open' || traffic.hosts) return NOTHING
  const { cpu_core_ratio = 0, main_core_ratio = cpu_core_ratio } = probes.generator
  const all = `the generator used ${wholePercent(main_core_ratio)} of a core in one thread, so it could not read the answers any faster`
  return finding(main_core_ratio / COUNTED_FULL_RATIO, all)
}

/** Whether a CPU quota stopped the generator, which then reads answers late. @param {Pick<Trial, 'probes'>} trial */
export function generatorThrottled({ probes }) {
  return ofQuota(probes.generator, 'the generator')
}

/** Reaches 1 if lateness distorts a bounded latency. @param {Distribution | null} lateness_ms @param {Slo} slo @param {number} timeout_s */
function reachOf(lateness_ms, slo, timeout_s) {
  const entries = Object.values(slo.by_entry ?? {}).flatMap(latencyBounds)
  const bounds = [...latencyBounds(slo), ...entries, /** @type {const} */ (['p99', highestP99(slo, timeout_s)])]
  return Math.max(...bounds.map(([name, bound_ms]) => (lateness_ms?.[name] ?? 0) / (bound_ms * MAX_LATENESS_SHARE)))
}

/**
 * Whether the generator saturates the core that it shares with Postgres, where it has priority. The busiest resource bounds the
 * throughput (Denning & Buzen 1978, bottleneck analysis). The generator is to blame if that is the shared core, it uses more of the
 * core than Postgres does, and no core would be about as busy without it. If the service runs there, too, the generator must use
 * more than the service.
 * @param {Pick<Trial, 'target' | 'load' | 'probes'>} trial
 */
export function generatorCrowding({ target, load, probes }) {
  const shared = sharedCore(probes)
  // A service that is not pinned may use the same cores.
  if (!shared || target.cores === null) return NOTHING
  const { cores, utilization, generator_share } = shared
  const own = expandCores(cores)
  const postgres = (probes.postgres.cpu_core_ratio ?? 0) / own.length
  const { full, times } = CROWDED[load.loop]
  if (generator_share <= times * postgres) return NOTHING
  const used = `the generator used ${wholePercent(generator_share)} of ${own.length > 1 ? 'cores' : 'core'} ${cores}, on which Postgres`
  const isBesideService = probes.here === undefined && expandCores(target.cores).some((core) => own.includes(core))
  if (isBesideService) {
    const service = (probes.api.cpu_core_ratio ?? Number.POSITIVE_INFINITY) / own.length
    if (generator_share <= times * service) return NOTHING
    const all = `and the service (${wholePercent(service)}) also run, ${wholePercent(utilization)} busy in all`
    return finding(utilization / full, `${used} (${wholePercent(postgres)}) ${all}`)
  }
  const service = busyShare(probes.kernel, target.cores) ?? probes.api.main_core_ratio ?? 0
  if (utilization < BUSIER_TIMES * Math.max(service, utilization - generator_share)) return NOTHING
  const busy = `that core was ${wholePercent(utilization)} busy, the service's core ${wholePercent(service)}`
  return finding(utilization / full, `${used} also runs (${wholePercent(postgres)}): ${busy}`)
}

/**
 * The load host that was furthest behind; meanwhile, the others did not offer the requested load. A closed loop has no schedule, so
 * there the busiest host counts.
 * @param {Pick<Trial, 'load' | 'traffic'>} trial @param {Slo} slo
 */
export function hostBehind({ load, traffic: { hosts = [] } }, slo) {
  const soonest_ms = Math.min(...hosts.flatMap(({ word_ms }) => word_ms ?? []))
  const found = hosts.map((host) => {
    const heard_ms = typeof host.word_ms === 'number' ? host.word_ms - soonest_ms : 0
    if (load.loop === 'open') return behind(host, heard_ms, load, slo)
    return finding((host.cpu_core_ratio ?? 0) / Math.max(1, host.cores ?? 1) / CORE_FULL_RATIO, useOf(host))
  })
  return found.reduce((worst, one) => (one.reach > worst.reach ? one : worst), NOTHING)
}

/** Compares no clocks: heard_ms is by ours, start_ms by the host's. @param {HostTraffic} traffic @param {number} heard_ms @param {Trial['load']} load @param {Slo} slo */
function behind(traffic, heard_ms, { duration_s, timeout_s }, slo) {
  const { host, lateness_ms, sent, planned = sent } = traffic
  const begun_ms = (traffic.start_ms ?? 0) + heard_ms
  const late = reachOf(lateness_ms, slo, timeout_s)
  const begun = begun_ms / Math.max(START_MS, duration_s * 1000 * START_SHARE)
  const what =
    begun > late ? `began ${milliseconds(begun_ms)} late` : `was ${milliseconds(lateness_ms?.p99)} late at p99`
  const unsent = sent < planned ? [`${host} sent ${count(sent)} of its ${count(planned)} requests`] : []
  return finding(Math.max(late, begun), `${host} ${what}`, ...unsent, useOf(traffic))
}

/** @param {HostTraffic} traffic */
function useOf({ host, cpu_core_ratio, cores }) {
  if (cpu_core_ratio === null) return `what the generator used on ${host} is not seen`
  return `the generator on ${host} used ${wholePercent(cpu_core_ratio)} of a core${cores ? `, of ${cores}` : ''}`
}

/**
 * Whether requests waited because the generator had fewer connections than the rate needs. With enough of them, all are busy only
 * if the target misses its SLO. If the target allows no more, that is its own limit.
 * @param {Connecting} trial @param {Slo} slo
 * @typedef {Pick<Trial, 'load' | 'traffic' | 'probes'> & Partial<Pick<Trial, 'settings'>>} Connecting
 */
export function generatorConnections(trial, slo) {
  const { connections, connections_needed = 0, loop } = trial.load
  if (loop !== 'open' || connections >= connections_needed || isBoundByTarget(trial)) return NOTHING
  const { share, waited_ms } = waitForConnection(trial, slo)
  const few = `the generator had ${count(connections)} connections, and this rate within this SLO needs ${count(connections_needed)}`
  return finding(share, `${few}; requests waited ${milliseconds(waited_ms)} for one at p99`)
}

/** Whether the load of an open loop came over as many connections as the service allows. @param {Connecting} trial */
export function isBoundByTarget({ settings = {}, load }) {
  return load.loop === 'open' && load.connections === Number(settings.MAX_CONNECTIONS)
}

/** How long requests waited for a connection at p99, and as a share of what shows that all were busy. @param {Connecting} trial @param {Slo} slo */
export function waitForConnection({ load, traffic, probes }, slo) {
  const late_ms = traffic.hosts ? 0 : (probes.generator.lateness_ms?.p99 ?? 0)
  const waited_ms = Math.max(0, (traffic.queued_ms?.p99 ?? 0) - late_ms)
  const most_ms = Math.min(MAX_WAIT_MS, highestP99(slo, load.timeout_s) * MAX_LATENESS_SHARE)
  return { share: traffic.errors[UNSENT] > 0 ? 1 : waited_ms / most_ms, waited_ms }
}

/** @param {Pick<Trial, 'target' | 'probes' | 'traffic'>} trial */
export function machineNoise({ target, probes, traffic }) {
  const { cores = {} } = probes.kernel
  if (!target.cores || probes.api.cpu_core_ratio === undefined) return NOTHING

  const isApart = target.kind === 'ssh' || traffic.hosts !== undefined
  const shared = isApart ? [] : expandCores(probes.generator.cores ?? target.cores)
  const alone = expandCores(target.cores).filter((core) => !shared.includes(core))
  const own = alone.flatMap((core) => cores[core] ?? [])
  // On a core shared with the generator, other processes do not count as noise.
  if (own.length === 0) return NOTHING
  const busy = own.reduce((sum, { busy_ratio }) => sum + busy_ratio, 0)
  // On several cores, the kernel moves the service to one that is idle, so the mean counts.
  const steal = own.reduce((sum, { steal_ratio }) => sum + steal_ratio, 0) / own.length
  const others = Math.max(0, busy - probes.api.cpu_core_ratio - postgresOn(alone, probes)) / own.length
  const [where, mean] = own.length > 1 ? ['cores', ', on average'] : ['core', '']
  return finding(
    Math.max(others, steal) / FOREIGN_RATIO,
    `other programs used ${wholePercent(others)} of the service's ${where} ${target.cores}, and the host took ${wholePercent(steal)}${mean}`,
    `the service waited for its core ${wholePercent(probes.api.run_delay_ratio ?? 0)} of the time`,
  )
}
