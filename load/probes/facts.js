import { setTimeout as pause } from 'node:timers/promises'
import { cpu_us } from '../system/cpu.js'
import { coresOf, expandCores, nofileOf, numberIn, softNofileOf, textOf } from '../system/machine.js'
import { coreShares, coreTimes } from './kernel.js'
import { watchOthers } from './others.js'
import { findPostmaster } from './postgres.js'
import { familyCpu_s, familyOf } from './process.js'
import { cpuQuotaCores } from './quota.js'

/** @import { Look } from '../../sql/database.js' */

/** At 100 ticks/s this resolves 4 % of a core. */
const CPU_WATCH_MS = 250

/** Without permission to see other sessions, their backend_type is null but their database is visible. reserved_connections is new in Postgres 16. */
const DATABASE_CONNECTIONS = `
  SELECT current_setting('max_connections')::int AS max,
    current_setting('superuser_reserved_connections')::int
      + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved,
    (SELECT count(*)::int FROM pg_stat_activity
      WHERE backend_type = 'client backend' OR (backend_type IS NULL AND datid IS NOT NULL)) AS used`

/**
 * Collects the machine's current state for preflight(); null means unknown. Takes 0.25 s, during which nothing else of ours
 * should run.
 * @param {{ cores: Pinned | null, database: Pick<Look, 'query'> | null, signal: AbortSignal }} run cores: the current pinning
 * @typedef {{ api: string, others: string }} Pinned
 */
export async function gatherFacts({ cores, database, signal }) {
  const [soft, hard] = [softNofileOf('self'), nofileOf('self')]
  const nofile = soft === null || hard === null ? null : { soft, hard }
  const allowed = coresOf('self')
  const percent = numberIn('/proc/pressure/cpu', /^some avg10=([\d.]+)/m)
  return {
    generator_nofile: nofile,
    // We start both processes, so they inherit our limits.
    api_nofile: nofile,
    ephemeral_ports: ephemeralPorts(),
    time_wait: numberIn('/proc/net/sockstat', /^TCP:.* tw (\d+)/m),
    tw_reuse: timeWaitReuse(),
    somaxconn: numberIn('/proc/sys/net/core/somaxconn', /^(\d+)/),
    database_connections: database && (await database.query(DATABASE_CONNECTIONS).catch(() => [null]))[0],
    cores: allowed === null ? null : { allowed: expandCores(allowed).length, pinned: cores },
    cpu_quota_cores: cpuQuotaCores(),
    // Share of the last 10 s in which some task waited for a core (Linux' psi.rst).
    pressure_ratio: percent === null ? null : percent / 100,
    ...(await watchCores(cores, database && (await findPostmaster(database).catch(() => null)), signal)),
  }
}

/** Number of ephemeral ports without the reserved ones (Linux' ip-sysctl.rst); null if unknown. */
export function ephemeralPorts() {
  const range = textOf('/proc/sys/net/ipv4/ip_local_port_range')?.trim().split(/\s+/).map(Number)
  if (!range) return null
  const [first, last] = range
  const reserved = textOf('/proc/sys/net/ipv4/ip_local_reserved_ports')?.trim()
  const taken = reserved ? expandCores(reserved).filter((port) => port >= first && port <= last) : []
  return last - first + 1 - taken.length
}

/** 1: connect() reuses ports in TIME_WAIT, 2: for loopback only, 0: never; it needs timestamps (ip-sysctl.rst, tcp_twsk_unique). */
function timeWaitReuse() {
  const mode = numberIn('/proc/sys/net/ipv4/tcp_tw_reuse', /^(\d+)/)
  return numberIn('/proc/sys/net/ipv4/tcp_timestamps', /^(\d+)/) === 0 ? 0 : mode
}

/**
 * Other processes' CPU use of each core, and the mean steal of all cores. Our own process and a Postgres that we may have just started
 * do not count as others.
 * @param {Pinned | null} pinned @param {number | null} postmaster @param {AbortSignal} signal
 */
async function watchCores(pinned, postmaster, signal) {
  const others = watchOthers()
  const [before, ownBefore_s] = [coreTimes(), ownCpu_s(postmaster)]
  await pause(CPU_WATCH_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  const shares = Object.entries(coreShares(before, coreTimes()))
  if (shares.length === 0) return { steal_ratio: null, busy: null, busiest: [] }
  const own_ratio = ((ownCpu_s(postmaster) - ownBefore_s) * 1000) / CPU_WATCH_MS
  const ours = pinned ? expandCores(pinned.others).map(String) : shares.map(([core]) => core)
  const steal = shares.reduce((sum, [, { steal_ratio }]) => sum + steal_ratio, 0)
  const busy = shares.map(([core, { busy_ratio, interrupts_ratio }]) => {
    const own = ours.includes(core) ? own_ratio / ours.length : 0
    return { core, ratio: Math.max(0, busy_ratio + interrupts_ratio - own) }
  })
  const busiest = others(postmaster === null ? [] : familyOf(postmaster))
  return { steal_ratio: steal / shares.length, busy, busiest }
}

/** @param {number | null} postmaster */
function ownCpu_s(postmaster) {
  return cpu_us() / 1e6 + (familyCpu_s(postmaster) ?? 0)
}
