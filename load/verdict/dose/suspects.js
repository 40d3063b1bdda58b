import { sendSignal } from '../../../sql/signals.js'
import { findPostmaster } from '../../probes/postgres.js'
import { familyOf } from '../../probes/process.js'
import { expandCores } from '../../system/machine.js'
import { sharedCore } from '../ledger.js'

/**
 * @import { Database } from '../../../sql/database.js'
 * @import { Plan, Slice, Suspect, TrialRecord } from '../../report/record.js'
 * @import { Slowable } from '../../system/dose/doser.js'
 * @import { Host } from '../../system/ssh/host.js'
 * @import { Target } from '../../targets/index.js'
 */

/**
 * The suspects that can be slowed, judging by a trial's probes: the service on any host, all others only on this machine. Pure.
 * @param {Pick<Plan, 'pids'>} plan @param {Pick<TrialRecord, 'target' | 'probes'>} trial
 * @param {Pick<TrialRecord, 'load' | 'probes'>} [waiting] the last trial of a target that the commit may limit, by its
 *   counters; without one, the commit is no suspect @returns {Suspect[]}
 */
export function suspectsOf({ pids = [] }, { target, probes }, waiting) {
  const shared = sharedCore(probes)
  const { cores: own } = probes.postgres ?? {}
  const isPinned =
    target.kind === 'ssh'
      ? expandCores(target.cores ?? '').length < Object.keys(probes.kernel.cores ?? {}).length
      : target.cores !== null && own !== undefined && !overlap(target.cores, own)
  /** @type {Suspect[]} */
  const suspects = pids.map(({ pid, name }) => {
    const resource = name === 'postgres' ? 'postgres-cpu' : 'api-cpu'
    return { suspect: `process ${pid} (${name})`, resource, pid }
  })
  // A service that is not ours is slowed only if its process is known.
  const isOurs = target.kind !== 'url' && target.kind !== 'started'
  const isInContainer = target.kind === 'started' && target.pid === null
  if (target.kind !== 'url' && !isInContainer) {
    const suspect = isPinned ? `core ${target.cores} (the service)` : 'the service'
    const cores = isPinned && { cores: String(target.cores) }
    suspects.push({ suspect, resource: 'api-cpu', of: 'service', ...cores })
  }
  if (isOurs && isPinned && own !== undefined) {
    const suspect = `core ${own} (Postgres${shared ? ' and the generator' : ''})`
    suspects.push({ suspect, resource: 'postgres-cpu', cores: own })
  }
  if (isOurs && own !== undefined) suspects.push({ suspect: 'Postgres', resource: 'postgres-cpu', of: 'postgres' })
  suspects.push({ suspect: 'the generator', resource: 'generator-cpu', of: 'generator' })
  const { wal_flushes = 0, commit_problem } = waiting?.probes.postgres ?? {}
  if (isOurs && waiting && wal_flushes > 0 && !commit_problem) {
    const flush_us = Math.round((waiting.load.duration_s * 1e6) / wal_flushes)
    suspects.push({ suspect: 'the commit', resource: 'postgres-commit', flush_us })
  }
  return suspects
}

/** Whether two lists have a core in common: slowing the cores of one would then slow the other, too. @param {string} some @param {string} others */
function overlap(some, others) {
  const all = expandCores(others)
  return expandCores(some).some((core) => all.includes(core))
}

/**
 * Finds the cores, processes or database of a trial's suspects.
 * @param {Slice[]} slices @param {{ target: Pick<Target, 'pid' | 'host'>, generator: { pid: number }, database: Database | null }} parts
 * @returns {Promise<Dosable[]>}
 * @typedef {{ name: string } & (Slowable | { host: Host, cores?: string } | { flush_us: number, database: Database })} Dosable host: the
 *   service's, which takes the dose on the service's cores or processes
 */
export async function suspectsIn(slices, { target, generator, database }) {
  const named = new Map(slices.map((slice) => [slice.suspect, slice]))
  const own = { service: target.pid, generator: generator.pid, postgres: database && (await findPostmaster(database)) }
  return [...named].map(([name, { cores, flush_us, of, pid = of && own[of] }]) => {
    if (flush_us !== undefined && database) return { name, flush_us, database }
    if (of === 'service' && target.host) return { name, host: target.host, cores }
    if (cores !== undefined) return { name, cores }
    const family = pid ? familyOf(pid) : []
    // Stopping a family that includes the lab itself would stop everything for good.
    return { name, pids: family.includes(process.pid) ? [] : family.filter((one) => sendSignal(one, 0)) }
  })
}
