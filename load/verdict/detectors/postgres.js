import { count, milliseconds, wholePercent } from '../../report/format.js'
import { expandCores } from '../../system/machine.js'
import { statementsInFlight } from '../ledger.js'
import { acceptedShare, BESIDE_REACH, CORE_FULL_RATIO, finding, fullness, NOTHING } from './finding.js'

/** @import { Detect } from './finding.js' */

/** A process that uses less than this share of a shared core does not saturate it. */
const MIN_SHARE = 0.3
/** Utilization at which a core shared by several processes is full: together they leave no idle time. */
const CORES_FULL_RATIO = 0.97
/** Share of a core. If computing statements used less, another process kept them from running. */
const COMPUTING_CORE_RATIO = 0.6
/** Share of active statements that must wait for the same thing for it to be the limit. */
const WAITING_SHARE = 0.5
/** Waits of a backend between its statement and the end of its commit (Postgres manual, 27.2.3). */
const COMMIT_WAITS =
  /^(LWLock:WAL(Write|Insert|BufMapping)|IO:(WalSync|WALSync|WalWrite|WALWrite)|Timeout:CommitDelay|IPC:SyncRep|IPC:XactGroupUpdate)/
/** Mean statements in flight, as a share of those possible, at which there is no room for more. */
const STATEMENTS_FULL_RATIO = 0.85

/** @type {Detect} */
export function postgresConnections({ traffic, probes }, slo) {
  const { connections = 0, connections_max = Infinity } = probes.postgres
  const refused = probes.api.problems?.database_unavailable ?? 0
  const full = connections / connections_max
  const taken = `${count(connections)} of ${count(connections_max)} connections of Postgres were taken`
  // Connections in use are no cause of waiting; refused ones are, unless the SLO accepts so many errors.
  if (refused <= acceptedShare(slo, traffic) * traffic.planned) return finding(full * BESIDE_REACH, taken)
  return finding(full * (1 + refused / traffic.planned), taken, `${count(refused)} requests found no database`)
}

/**
 * Detects statements that wait for the same thing.
 * @param {RegExp} pattern @param {string} what @param {{ isUsual?: boolean }} [how] isUsual: statements also wait for it where nothing
 *   is full @returns {Detect}
 */
export function ofWaits(pattern, what, { isUsual = false } = {}) {
  return (trial) => {
    const { settings, probes } = trial
    const { waits = {}, active_mean = 0 } = probes.postgres
    const own = Object.entries(waits).filter(([wait]) => pattern.test(wait))
    const share = own.reduce((sum, [, part]) => sum + Number(part), 0)
    if (share === 0) return NOTHING
    // Batched requests share the statements in flight, others have one per connection. A wait is the limit only if there is no room
    // for another statement. Of an unknown pool, we assume no room for a second.
    const shared = Math.max(1, statementsInFlight(trial) ?? 1)
    const known = settings.INSERT_MODE === 'batched' ? shared : (settings.POOL_MAX ?? probes.api.pool_max)
    const room = known === undefined ? 'an unknown number' : String(+Number(known).toFixed(1))
    const list = own.map(([wait, part]) => `${wait} ${wholePercent(Number(part))}`).join(', ')
    const waited = `of ${active_mean.toFixed(1)} statements on their way (room for ${room}), ${wholePercent(share)} waited for ${what} (${list})`
    // Neither makes up for the other: a full pool of which few wait for this is not limited by it.
    const full = active_mean / Number(known ?? 1) / STATEMENTS_FULL_RATIO
    const reach = Math.min(1, share / WAITING_SHARE) * Math.min(1, full)
    return finding(isUsual && known === undefined ? Math.min(reach, BESIDE_REACH) : reach, waited)
  }
}

const committing = ofWaits(COMMIT_WAITS, 'the commit', { isUsual: true })

/**
 * Detects statements that wait for their commit, and reports the disk's flushes. A disk that flushes all the time need not be the
 * limit: a flush serves all commits that wait for it.
 * @type {Detect}
 */
export function postgresCommit(trial, slo) {
  const { probes, traffic } = trial
  const { reach, evidence } = committing(trial, slo)
  const { here = probes.kernel } = probes
  const { flushes = 0, flush_ratio = 0 } = here.disk ?? {}
  if (reach === 0 || flushes === 0 || !probes.postgres.cores) return finding(reach, ...evidence)
  const flush_ms = (flush_ratio * 1000 * (traffic.completed / traffic.achieved_rps)) / flushes
  const flushed = `the disk was flushing ${wholePercent(flush_ratio)} of the time, ${milliseconds(flush_ms)} each`
  return finding(reach, ...evidence, flushed)
}

const computing = ofWaits(/^CPU$/, 'nothing but the CPU', { isUsual: true })

/**
 * Postgres' cores are saturated, or all statements that can be in flight compute, each on at most one core. If a whole core is idle
 * meanwhile, more connections could use it: then the pool is the limit, unless requests share one statement.
 * @type {Detect}
 */
export function postgresCpu(trial, slo) {
  const { probes } = trial
  const { cpu_core_ratio, cores } = probes.postgres
  if (cpu_core_ratio === undefined || !cores) return NOTHING
  // If we can see its CPU time, it runs on this machine, which need not be the service's.
  const { here = probes.kernel } = probes
  const own = expandCores(cores).flatMap((core) => here.cores?.[core] ?? [])
  if (own.length === 0) return NOTHING
  const full = own.reduce((sum, core) => sum + fullness(core), 0) / own.length
  const each = cpu_core_ratio / own.length
  // If Postgres uses less than MIN_SHARE, something else fills the core.
  const reach = each >= MIN_SHARE ? full / CORES_FULL_RATIO : each / CORE_FULL_RATIO
  const hasRoom = trial.settings.INSERT_MODE !== 'batched' && (1 - full) * own.length >= 1
  const statements = cpu_core_ratio >= COMPUTING_CORE_RATIO && !hasRoom ? computing(trial, slo) : NOTHING
  return finding(
    Math.max(reach, statements.reach),
    `Postgres used ${wholePercent(cpu_core_ratio)} of a core; core ${cores}, on which it runs, was ${wholePercent(full)} busy (the generator used ${wholePercent(probes.generator.cpu_core_ratio ?? 0)})`,
    ...(statements.reach >= 1 ? statements.evidence : []),
  )
}
