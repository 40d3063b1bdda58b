import { count, milliseconds, wholePercent } from '../../report/format.js'
import { highestP99, latencyBounds } from '../../report/slo.js'
import { expandCores } from '../../system/machine.js'
import { coresBeside } from '../ledger.js'
import {
  BESIDE_REACH,
  CORE_FULL_RATIO,
  COUNTED_FULL_RATIO,
  FOREIGN_RATIO,
  finding,
  fullness,
  generatorOn,
  NOTHING,
  ofClosed,
  ofFailed,
  postgresOn,
} from './finding.js'
import { isBoundByTarget, waitForConnection } from './generator.js'

/**
 * @import { Detect, Trial } from './finding.js'
 * @import { ApiProbe } from '../../report/record.js'
 */

/** Share of the time in garbage collection: more than ten times what this API needs when it is busy. */
const GC_RATIO = 0.25
/** A longer piece of synchronous work noticeably delays every request that waits behind it. */
const BLOCKED_MS = 10
/** Share of a trial that a stall has to last to delay one request in a hundred. */
const STALL_SHARE = 0.01
/** libuv's default (UV_THREADPOOL_SIZE), for records that do not say how many threads there were. */
const THREADPOOL_SIZE = 4
/** Mean share of a pool's connections in use at which the pool is full. */
const POOL_FULL_RATIO = 0.9

/** @type {Detect} */
export function nofile({ settings, traffic, probes }, slo) {
  const { dropped_connections = 0, connections_max = Infinity, open_files = 0 } = probes.api
  const max = Number(settings.NOFILE ?? probes.api.open_files_max ?? Infinity)
  const open = `the service's limit of open files is ${count(max)}; ${count(open_files)} were open`
  if (dropped_connections > 0 && isBoundByFiles(settings, connections_max, max)) {
    const closed = `${count(dropped_connections)} connections were closed, since the limit of open files leaves room for ${count(connections_max)}`
    return ofClosed(dropped_connections, traffic, slo, closed, open)
  }
  return open_files > 0 ? finding(Math.min(open_files / max, 1) * BESIDE_REACH, open) : NOTHING
}

/** A connection limit this close to the open-file limit follows from it: the API keeps the rest for its other files. */
const RESERVED_FILES = 200

/**
 * Whether the connection limit follows from the open-file limit, and is not MAX_CONNECTIONS, which may be unknown.
 * @param {Parameters<Detect>[0]['settings']} settings @param {number} connections_max @param {number} files_max
 */
function isBoundByFiles({ MAX_CONNECTIONS }, connections_max, files_max) {
  if (MAX_CONNECTIONS !== undefined) return connections_max < Number(MAX_CONNECTIONS)
  return files_max - connections_max <= RESERVED_FILES
}

/**
 * The service closed connections beyond its limit, or the generator opened no more than the service allows, and requests waited for one.
 * @type {Detect}
 */
export function maxConnections(trial, slo) {
  const { settings, traffic, probes } = trial
  const { dropped_connections = 0, connections_max = 0, open_files_max = Infinity } = probes.api
  const files_max = Number(settings.NOFILE ?? open_files_max)
  if (dropped_connections === 0) return tooFewAllowed(trial, slo)
  if (isBoundByFiles(settings, connections_max, files_max)) return NOTHING
  const limit = settings.MAX_CONNECTIONS === undefined ? 'the service allows' : 'MAX_CONNECTIONS is'
  const closed = `${count(dropped_connections)} connections were closed, since ${limit} ${count(connections_max)}`
  return ofClosed(dropped_connections, traffic, slo, closed)
}

/** A statement that is slow on these connections would be slow on more of them. A full core explains the waiting, too. @type {Detect} */
function tooFewAllowed(trial, slo) {
  const { settings, load, traffic } = trial
  const { connections_needed = 0 } = load
  const wasSoonEnough = latencyBounds(slo).every(([name, bound_ms]) => (traffic.ok_service_ms?.[name] ?? 0) <= bound_ms)
  if (!isBoundByTarget(trial) || load.connections >= connections_needed || !wasSoonEnough) return NOTHING
  const { share, waited_ms } = waitForConnection(trial, slo)
  const few = `MAX_CONNECTIONS is ${count(Number(settings.MAX_CONNECTIONS))}, and this rate within this SLO needs ${count(connections_needed)}`
  return finding(Math.min(share, SECOND_REACH), `${few}; requests waited ${milliseconds(waited_ms)} for one at p99`)
}

/** @type {Detect} */
export function apiGc({ probes }) {
  const { name, gc_ratio, cpu_core_ratio = 0, main_core_ratio = cpu_core_ratio, hashing_mean = 0 } = probes.api
  if (gc_ratio === undefined) return NOTHING
  const collected = `the service spent ${wholePercent(gc_ratio)} of its time in garbage collection`
  // The work of a foreign service's threads is unknown.
  if (name) return finding(gc_ratio / GC_RATIO, collected)
  // V8 also collects on threads of its own. If nothing is hashed, other threads do nothing else.
  const beside = hashing_mean < 1 ? Math.max(0, cpu_core_ratio - main_core_ratio) : 0
  const spent = `${collected}, and threads other than JavaScript's used ${wholePercent(beside)} of a core`
  return finding((gc_ratio + beside) / GC_RATIO, spent)
}

/** @type {Detect} */
export function apiThreadpool({ probes }) {
  const { hashing_mean = 0, hashing_threads = THREADPOOL_SIZE, cpu_core_ratio = 0, main_core_ratio = 0 } = probes.api
  const threads = cpu_core_ratio - main_core_ratio
  // With more jobs than threads, some wait.
  if (hashing_mean <= hashing_threads || threads < main_core_ratio) return NOTHING
  return finding(
    hashing_mean / hashing_threads,
    `${hashing_mean.toFixed(1)} passwords were being hashed on libuv's ${hashing_threads} threads, or waited for one`,
    `these threads used ${wholePercent(threads)} of a core, JavaScript ${wholePercent(main_core_ratio)}`,
  )
}

/** @type {Detect} */
export function apiBlocked({ load, traffic, probes }, slo) {
  const { cpu_core_ratio, run_delay_ratio = 0, elu_ratio = 0, loop_delay_max_ms = 0, shed = {} } = probes.api
  // Of what has an event loop, most CPU time is its own.
  const whole = loop_delay_max_ms > 0 && cpu_core_ratio !== undefined ? Math.min(1, cpu_core_ratio) : undefined
  const { main_core_ratio = whole } = probes.api
  // Not every program has an event loop.
  if (probes.api.name && !loop_delay_max_ms) return NOTHING
  const turnedAway = Object.values(shed).reduce((sum, number) => sum + number, 0)
  // Requests turned away after their clients had given up do not count as completed.
  const served = traffic.completed - Math.min(turnedAway, traffic.status[503] ?? 0)
  if (main_core_ratio === undefined || served <= 0) return NOTHING
  const busy = Math.min(1, Math.max(elu_ratio, main_core_ratio + run_delay_ratio))
  // A loop that waits for its core is busy with nothing.
  const worked = Math.min(1, Math.max(main_core_ratio, elu_ratio - run_delay_ratio))
  const each_ms = (worked * 1000) / ((served / traffic.completed) * traffic.achieved_rps)
  // A single stall in a long trial delays too few requests to be the limit.
  const allowed_ms = Math.max(highestP99(slo, load.timeout_s), STALL_SHARE * load.duration_s * 1000)
  // Short pieces of work fill a loop without blocking it, so the length of each piece counts.
  return finding(
    busy >= CORE_FULL_RATIO ? each_ms / BLOCKED_MS : loop_delay_max_ms / allowed_ms,
    `the event loop was busy ${wholePercent(busy)} of the time, and blocked for up to ${milliseconds(loop_delay_max_ms)}`,
    `a request took ${milliseconds(each_ms)} of its time`,
  )
}

/** Most cores that one thread can seem to use: the ends of a trial count a little too much of its CPU time. */
const ONE_CORE_RATIO = 1.05

/** @type {Detect} */
export function apiCpu({ target, probes }) {
  const { cpu_core_ratio, name } = probes.api
  if (cpu_core_ratio === undefined) return NOTHING
  if (name) return foreignOn(target, probes)
  const isUnseen = target.cores === null && hasUnknownThreads(probes.api)
  if (isUnseen && cpu_core_ratio > ONE_CORE_RATIO) return NOTHING
  const { elu_ratio = cpu_core_ratio, main_core_ratio = elu_ratio } = probes.api
  const cores = expandCores(target.cores ?? '')
  const isAlone = cores.length === 1
  const isSeen = (probes.api.main_core_ratio ?? probes.api.elu_ratio) !== undefined
  const main = isSeen ? `, its main thread ${wholePercent(main_core_ratio)}` : ''
  const used = `the service used ${wholePercent(cpu_core_ratio)} of ${isAlone ? 'its' : 'a'} core${main}`
  const core = isAlone && probes.kernel.cores?.[cores[0]]
  if (!core) {
    const reach = (isAlone ? cpu_core_ratio : main_core_ratio) / CORE_FULL_RATIO
    // Several threads on more cores use as much of them together when none of them is full.
    return finding(isUnseen ? Math.min(BESIDE_REACH, reach) : reach, used)
  }
  // The core's own counters decide: whether a process's CPU time includes the interrupts that hit it depends on the kernel.
  const full = fullness(core)
  const beside = `interrupts ${wholePercent(core.interrupts_ratio)}, taken by the host ${wholePercent(core.steal_ratio)}`
  const busy = `${used}; the core was ${wholePercent(full)} busy (${beside})`
  const beside_ratio = Math.max(0, core.busy_ratio - cpu_core_ratio)
  const rivals = Object.entries({ Postgres: postgresOn(cores, probes), 'the generator': generatorOn(cores, probes) })
  const [[rivalName, most_ratio]] = rivals.sort(([, one], [, other]) => other - one)
  const rival_ratio = Math.min(most_ratio, beside_ratio)
  if (rival_ratio <= cpu_core_ratio) return finding(full / COUNTED_FULL_RATIO, busy)
  const rival = `${rivalName}, on the same core, used ${wholePercent(rival_ratio)}`
  return finding(Math.min(full / COUNTED_FULL_RATIO, SECOND_REACH), busy, rival)
}

/** Reach of what is nearly at its limit, but explained by what may be at its own: on a full core, a process of which another takes more. */
const SECOND_REACH = 0.99

/** Whether nothing shows on how many threads a program works, so how near it is to a limit is not known. @param {ApiProbe} probe */
function hasUnknownThreads({ main_core_ratio, elu_ratio, loop_delay_max_ms }) {
  return [main_core_ratio, elu_ratio, loop_delay_max_ms].every((seen) => seen === undefined)
}

/**
 * A foreign program, or the core of its own to which we pinned it: the kernel may not count the interrupts there as time of a process.
 * A core that others use, too, says nothing of it.
 * @param {Trial['target']} target @param {Trial['probes']} probes
 */
function foreignOn(target, probes) {
  const { api, kernel } = probes
  const found = foreignCpu(api, target.cores === null ? coresBeside(probes) : null)
  const [own, ...more] = expandCores(target.cores ?? '')
  const core = target.kind === 'started' && more.length === 0 && kernel.cores?.[own]
  if (!core || core.busy_ratio - Number(api.cpu_core_ratio) > FOREIGN_RATIO) return found
  const full = fullness(core)
  const busy = `core ${own}, which it has to itself, was ${wholePercent(full)} busy (interrupts ${wholePercent(core.interrupts_ratio)}, taken by the host ${wholePercent(core.steal_ratio)})`
  const ofCore = finding(full / COUNTED_FULL_RATIO, ...found.evidence, busy)
  return ofCore.reach > found.reach ? ofCore : found
}

/**
 * Detects a foreign program that saturates one of its threads, or all cores that it may use.
 * @param {ApiProbe} probe @param {number | null} beside cores that others used; a thread that waits more than it works waits for them
 */
function foreignCpu(
  { name, cpu_core_ratio = 0, main_core_ratio = 0, run_delay_ratio = 0, usable_cores = Infinity },
  beside,
) {
  const others = `, while programs other than it and the generator used ${wholePercent(beside ?? 0)} of a core`
  const cores = usable_cores === 1 ? 'the core' : `${usable_cores} cores`
  return finding(
    Math.max(main_core_ratio + run_delay_ratio, cpu_core_ratio / usable_cores) / CORE_FULL_RATIO,
    `${name} used ${wholePercent(cpu_core_ratio)} of a core (it may use ${cores}), its busiest thread or interpreter ${wholePercent(main_core_ratio)}`,
    `a thread of it waited for a core ${wholePercent(run_delay_ratio)} of the time${beside && run_delay_ratio > main_core_ratio ? others : ''}`,
  )
}

/** @type {Detect} */
export function poolSize({ settings, probes }) {
  const { pool_used_mean, pool_waiting_mean = 0, statement_mean_ms, problems } = probes.api
  const max = Number(settings.POOL_MAX ?? probes.api.pool_max)
  if (pool_used_mean === undefined || !max) return NOTHING
  const full = pool_used_mean / max
  const isAskedForMore = pool_waiting_mean >= 1 || problems?.no_database_slot
  return finding(
    isAskedForMore ? full / POOL_FULL_RATIO : Math.min(full, 0.9),
    `${pool_used_mean.toFixed(1)} of ${max} connections of the pool were in use, and ${pool_waiting_mean.toFixed(1)} requests waited for one`,
    ...(statement_mean_ms ? [`a statement held its connection for ${milliseconds(statement_mean_ms)}`] : []),
  )
}

/** @type {Detect} */
export function poolTimeout({ settings, traffic, probes }, slo) {
  const { problems, pool_used_mean } = probes.api
  const late = problems?.no_database_slot ?? 0
  const max = settings.POOL_MAX ?? probes.api.pool_max
  const used = `; on average ${pool_used_mean?.toFixed(1)}${max ? ` of ${max}` : ''} connections were in use`
  const { POOL_CONNECT_TIMEOUT_MS: timeout_ms } = settings
  const got = `${count(late)} requests got no database connection within POOL_CONNECT_TIMEOUT_MS${timeout_ms ? `=${timeout_ms}` : ''}`
  return ofFailed(late, traffic, slo, `${got}${pool_used_mean === undefined ? '' : used}`)
}
