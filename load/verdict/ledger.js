import { expandCores } from '../system/machine.js'
import { fullness } from './detectors/finding.js'

/** @import { ProcessProbe, Probes, TrialRecord } from '../report/record.js' */

/**
 * The cost of a request on each resource, the busiest first. Unobservable and idle resources are omitted. Pure.
 *
 * The operational laws (Denning & Buzen 1978, "The operational analysis of queueing network models"): a resource that is busy for
 * a share U of the time while X requests/s complete spends D = U / X on each of them, and can serve at most 1 / D = X / U. If it
 * consists of several servers (cores, connections), U is their mean, and D counts each of them.
 * @param {Trial} trial
 * @typedef {Pick<TrialRecord, 'target' | 'settings' | 'traffic' | 'probes'>} Trial
 */
export function ledgerOf(trial) {
  const { achieved_rps } = trial.traffic
  const rows = Object.entries(utilizations(trial)).flatMap(([resource, [utilization, servers = 1]]) => {
    if (!utilization || !(achieved_rps > 0)) return []
    const demand_us = (servers * utilization * 1e6) / achieved_rps
    return { resource, utilization, servers, demand_us }
  })
  return rows.sort((a, b) => b.utilization - a.utilization)
}

/** Utilization of each resource, and its number of servers if it may have several; a quota counts in cores. @param {Trial} trial @returns {Record<string, [number | null | undefined, number?]>} */
function utilizations(trial) {
  const { target, settings, probes } = trial
  // Older records lack some of them.
  const { api = {}, postgres = {}, kernel = {}, here = kernel } = /** @type {Partial<Probes>} */ (probes)
  const number = (/** @type {string | null | undefined} */ cores) => expandCores(cores ?? '').length || 1
  const own = number(postgres.cores)
  const shared = sharedCore(probes)
  const quota = (/** @type {ProcessProbe} */ { quota_cores, cpu_core_ratio }) =>
    /** @type {[number | undefined, number?]} */ ([quota_cores && Number(cpu_core_ratio) / quota_cores, quota_cores])
  const pool_max = Number(settings.POOL_MAX ?? api.pool_max)
  const disk = isOurDisk(probes) ? here.disk : undefined
  const shared_statements = settings.INSERT_MODE === 'batched' ? statementsInFlight(trial) : null
  return {
    [`core ${target.cores} (the service)`]: [busyShare(kernel, target.cores), number(target.cores)],
    "the service's main thread": [api.main_core_ratio],
    "the service's CPU quota": quota(api),
    [`core ${postgres.cores} (Postgres${shared ? ' and the generator' : ''})`]: [busyShare(here, postgres.cores), own],
    'Postgres alone': [shared && Number(postgres.cpu_core_ratio) / own, own],
    'the generator alone': [shared?.generator_share, number(shared?.cores)],
    "Postgres' CPU quota": quota(postgres),
    'the database pool': [Number(api.pool_used_mean) / pool_max, pool_max],
    // With several in flight on average, they overlap.
    'one shared statement at a time': [Number(shared_statements) <= 1 ? shared_statements : null],
    'the busiest disk': [disk?.busy_ratio],
    "the disk's flushes": [disk?.flush_ratio],
  }
}

/**
 * Whether the target uses the disks of this machine: its Postgres runs here or, if none was looked at, the service does.
 * @param {Partial<Probes>} probes
 */
function isOurDisk({ api = {}, postgres = {}, here }) {
  if (postgres.cores) return true
  return Object.keys(postgres).length === 0 && here === undefined && api.cpu_s !== undefined
}

/** Utilization of the cores that Postgres and the generator share; null: none, or unknown. @param {Partial<Probes>} probes older records lack some */
export function sharedCore({ postgres = {}, generator = {}, kernel = {}, here = kernel }) {
  const own = expandCores(generator.cores ?? '')
  const cores = expandCores(postgres.cores ?? '').filter((core) => own.includes(core))
  const utilization = busyShare(here, cores.join(','))
  if (utilization === null || generator.cpu_core_ratio === undefined) return null
  return { cores: cores.join(','), utilization, generator_share: generator.cpu_core_ratio / cores.length }
}

/** Mean number of statements in flight, by Little's law: rate x mean duration; null: unknown. @param {Pick<Trial, 'traffic' | 'probes'>} trial */
export function statementsInFlight({ traffic, probes }) {
  const { statements, statement_mean_ms } = probes.api ?? {}
  if (!statements || !statement_mean_ms || !(traffic.achieved_rps > 0)) return null
  const run_s = traffic.completed / traffic.achieved_rps
  return (statements * statement_mean_ms) / 1000 / run_s
}

/** Mean utilization of the given cores; null: unknown. @param {Partial<Probes['kernel']>} kernel @param {string | null | undefined} cores */
export function busyShare({ cores: seen = {} }, cores) {
  const own = expandCores(cores ?? '').flatMap((core) => seen[core] ?? [])
  return own.length === 0 ? null : own.reduce((sum, core) => sum + fullness(core), 0) / own.length
}

/**
 * How many cores of this machine were busy with something else than the generator, the service and Postgres, as far as these are
 * watched; null: unknown, or they run on different machines.
 * @param {Partial<Probes>} probes
 */
export function coresBeside({ api = {}, postgres = {}, generator = {}, kernel = {}, here }) {
  const cores = Object.values(kernel.cores ?? {})
  if (here !== undefined || cores.length === 0) return null
  const busy = cores.reduce((sum, { busy_ratio }) => sum + busy_ratio, 0)
  const known = [generator, api, postgres].reduce((sum, { cpu_core_ratio }) => sum + (cpu_core_ratio ?? 0), 0)
  return Math.max(0, busy - known)
}
