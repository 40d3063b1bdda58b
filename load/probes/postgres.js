import { coresOf, textOf } from '../system/machine.js'
import { familyCpu_s, statFields } from './process.js'
import { cpuThrottling } from './quota.js'

/**
 * @import { Database, Look } from '../../sql/database.js'
 * @import { Probe } from './index.js'
 */

/**
 * What every session does, and on what it waits, except the lab's own and that of the API's readiness check. A statement
 * that is active and waits for nothing is on a core or in line for one.
 */
const ACTIVITY = `
  SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU') AS wait, count(*)::int AS sessions
  FROM pg_stat_activity
  WHERE state = 'active' AND backend_type = 'client backend'
    AND application_name NOT IN ('redline-lab', 'redline-fault', 'redline-api-readiness')
  GROUP BY 1`

const COUNTERS = `
  SELECT pg_backend_pid() AS pid, host(inet_server_addr()) AS address,
    (SELECT sum(xact_commit)::float8 FROM pg_stat_database) AS commits,
    (pg_current_wal_lsn() - '0/0')::float8 AS wal_bytes,
    (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
    current_setting('max_connections')::int AS connections_max`

/**
 * What Postgres does while the load is on: wait events of the sessions, sampled; CPU of all its processes, where it runs
 * on this machine; commits, WAL, connections.
 *
 * @param {Database | null} database @returns {Promise<Probe | null>}
 */
export async function watchPostgres(database) {
  if (!database) return null
  const started_ms = performance.now()
  const [first] = await database.query(COUNTERS)
  const postmaster = postmasterOf(first)
  const cpu_s = familyCpu_s(postmaster)
  const throttled_s = throttledTime_s(postmaster)
  /** @type {Record<string, number>} */
  const waits = {}
  let samples = 0
  return {
    async sample() {
      const rows = await database.query(ACTIVITY)
      samples++
      for (const { wait, sessions } of rows) waits[wait] = (waits[wait] ?? 0) + sessions
    },

    end() {
      const wall_s = (performance.now() - started_ms) / 1000
      const cpu_now_s = familyCpu_s(postmaster)
      const throttling = postmaster === null ? null : cpuThrottling(postmaster)
      return async () => {
        const [last] = await database.query(COUNTERS)
        const active = Object.values(waits).reduce((sum, count) => sum + count, 0)
        const shares = Object.entries(waits).map(([wait, count]) => [wait, count / active])
        return {
          samples,
          active_mean: samples === 0 ? null : active / samples,
          waits: Object.fromEntries(shares.sort(([, a], [, b]) => Number(b) - Number(a))),
          cpu_core_ratio: cpu_s === null || cpu_now_s === null ? null : (cpu_now_s - cpu_s) / wall_s,
          cores: postmaster === null ? null : coresOf(postmaster),
          quota_cores: throttling?.quota_cores ?? null,
          throttled_ratio: throttling && (throttling.throttled_s - throttled_s) / wall_s,
          commits: last.commits - first.commits,
          wal_bytes: last.wal_bytes - first.wal_bytes,
          connections: Math.max(first.connections, last.connections),
          connections_max: last.connections_max,
        }
      }
    },
  }
}

/** Its backends run in the same control group. @param {number | null} postmaster */
function throttledTime_s(postmaster) {
  return (postmaster === null ? null : cpuThrottling(postmaster))?.throttled_s ?? 0
}

/** The postmaster's pid, where it runs on this machine. @param {Pick<Look, 'query'>} database @returns {Promise<number | null>} */
export async function findPostmaster(database) {
  const [row] = await database.query('SELECT pg_backend_pid() AS pid, host(inet_server_addr()) AS address')
  return postmasterOf(row)
}

/**
 * The parent of our own backend: the postmaster, if it runs here, where its numbers are those of our /proc.
 *
 * @param {{ pid: number, address: string | null }} backend @returns {number | null}
 */
function postmasterOf({ pid, address }) {
  if (address !== null && !/^(127\.|::1)/.test(address)) return null
  const isPostgres = textOf(`/proc/${pid}/comm`)?.startsWith('postgres')
  return isPostgres ? Number(statFields(pid)?.[1]) : null
}
