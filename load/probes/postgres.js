import { isThisMachine } from '../system/addresses.js'
import { coresOf, expandCores, numberIn, textOf } from '../system/machine.js'
import { familyCpu_s, pidsNamed, statFields } from './process.js'
import { cpuThrottling } from './quota.js'

/**
 * @import { Database, Look } from '../../sql/database.js'
 * @import { Probe } from './index.js'
 */

/** Wait events of active sessions of this database, except our own. A session that waits for nothing is on a core or queues for one. */
const ACTIVITY = `
  SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU') AS wait, count(*)::int AS sessions
  FROM pg_stat_activity
  WHERE state = 'active' AND backend_type = 'client backend'
    AND datname = current_database()
    AND application_name NOT IN ('redline-lab', 'redline-fault', 'redline-api-readiness')
  GROUP BY 1`

/** Queries that count flushes of the write-ahead log, each with the first Postgres version that supports it. */
const WAL_FLUSHES = [
  [18, "SELECT sum(fsyncs)::float8 FROM pg_stat_io WHERE object = 'wal' AND backend_type = 'client backend'"],
  [14, 'SELECT wal_sync::float8 FROM pg_stat_wal'],
  [0, 'SELECT 0::float8'],
]

/** The reason why commits cannot be slowed; null if they can. */
const COMMIT_PROBLEM = `
  SELECT CASE WHEN current_setting('fsync') = 'off' THEN 'fsync is off'
    WHEN current_setting('synchronous_commit') = 'off' THEN 'synchronous_commit is off'
    WHEN current_setting('is_superuser') = 'off' THEN 'our role is not a superuser'
    WHEN current_setting('server_version_num')::int < 140000 OR current_setting('wal_sync_method') LIKE 'open%'
    THEN 'Postgres does not count its flushes'
    WHEN EXISTS (SELECT FROM pg_settings WHERE name IN ('commit_delay', 'commit_siblings') AND source <> 'default')
    THEN 'commit_delay or commit_siblings is set already' END`

const countersOf = (/** @type {string} */ version) => `
  SELECT (SELECT sum(xact_commit)::float8 FROM pg_stat_database) AS commits,
    (${WAL_FLUSHES.find(([first]) => Number.parseInt(version, 10) >= Number(first))?.[1]}) AS wal_flushes,
    (${COMMIT_PROBLEM}) AS commit_problem,
    ((CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END) - '0/0')::float8 AS wal_bytes,
    (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
    current_setting('max_connections')::int AS connections_max`

/**
 * Watches Postgres: sampled wait events of the sessions; CPU time of all its processes, if it runs on this machine; commits,
 * flushes, WAL and connections. Those of a database that is only looked at (--postgres-url) are evidence that a trial can do without:
 * if they cannot be read, postgres_problem says why.
 * @param {Database | Look | null} database @returns {Promise<Probe | null>}
 */
export async function watchPostgres(database) {
  if (!database || !('reopen' in database)) return database && watch(database)
  // pg passes on what the kernel says of a connection that is cut, such as "read ECONNRESET".
  const problemOf = (/** @type {NodeJS.ErrnoException} */ { message, syscall }) => {
    return { postgres_problem: syscall ? `the connection was lost (${message})` : message }
  }
  try {
    const probe = await watch(database).catch(() => database.reopen().then(() => watch(database)))
    return {
      ...probe,
      end() {
        const findings = probe.end()
        return (traffic) => findings(traffic).catch(problemOf)
      },
    }
  } catch (error) {
    return { end: () => async () => problemOf(/** @type {Error} */ (error)) }
  }
}

/** @param {Database | Look} database @returns {Promise<Probe>} */
async function watch(database) {
  const counters = countersOf(database.version)
  const [first] = await database.query(counters)
  const postmaster = await findPostmaster(database)
  // Its backends run in the same control group.
  const throttlingNow = () => (postmaster === null ? null : cpuThrottling(postmaster))
  const look = () => ({ started_ms: performance.now(), cpu_s: familyCpu_s(postmaster), throttling: throttlingNow() })
  let before = look()
  /** @type {Record<string, number>} */
  const waits = {}
  let samples = 0
  return {
    begin() {
      before = look()
    },

    async sample() {
      const rows = await database.query(ACTIVITY)
      samples++
      for (const { wait, sessions } of rows) waits[wait] = (waits[wait] ?? 0) + sessions
    },

    end() {
      const { started_ms, cpu_s, throttling } = before
      const wall_s = (performance.now() - started_ms) / 1000
      const [cpu_now_s, throttled] = [familyCpu_s(postmaster), throttlingNow()]
      return async () => {
        const [last] = await database.query(counters)
        const active = Object.values(waits).reduce((sum, count) => sum + count, 0)
        const shares = Object.entries(waits).map(([wait, count]) => [wait, count / active])
        return {
          samples,
          active_mean: samples === 0 ? null : active / samples,
          waits: Object.fromEntries(shares.sort(([, a], [, b]) => Number(b) - Number(a))),
          cpu_core_ratio: cpu_s === null || cpu_now_s === null ? null : (cpu_now_s - cpu_s) / wall_s,
          cores: postmaster === null ? null : coresOf(postmaster),
          quota_cores: throttled?.quota_cores ?? null,
          throttled_ratio: throttled && (throttled.throttled_s - (throttling?.throttled_s ?? 0)) / wall_s,
          commits: last.commits - first.commits,
          wal_flushes: last.wal_flushes - first.wal_flushes,
          commit_problem: first.commit_problem,
          wal_bytes: last.wal_bytes - first.wal_bytes,
          connections: Math.max(first.connections, last.connections),
          connections_max: last.connections_max,
          round_trip_ms: database.round_trip_ms,
        }
      }
    },
  }
}

/**
 * Watches the CPU time of every Postgres on this machine that may run on one of these cores, or on any. The returned function gives the
 * cores used since then; null: unknown, if one of them has ended.
 * @param {string | null} cores
 */
export function watchPostgresOn(cores) {
  const wanted = expandCores(cores ?? '')
  const all = pidsNamed('postgres')
  const postmasters = all.filter((pid) => {
    const mayRun = cores === null || expandCores(coresOf(pid) ?? '').some((core) => wanted.includes(core))
    return mayRun && !all.includes(Number(statFields(pid)?.[1]))
  })
  const used = () => postmasters.map(familyCpu_s)
  const [before, started_ms] = [used(), performance.now()]
  return () => {
    const wall_s = (performance.now() - started_ms) / 1000
    const grown = used().map((cpu_s, i) => Number(cpu_s ?? Number.NaN) - Number(before[i]))
    const sum_s = grown.reduce((sum, cpu_s) => sum + cpu_s, 0)
    return Number.isNaN(sum_s) ? null : sum_s / wall_s
  }
}

/** The postmaster's pid: the parent of our own backend; null if it is not on this machine. @param {{ query: Look['query'], url?: string }} database */
export async function findPostmaster(database) {
  const [own] = await database.query(OWN_BACKEND)
  const backend = localBackend(own) ?? (database.url && (await isThisMachine(database.url)) ? hiddenBackend(own) : null)
  return backend === null ? null : Number(statFields(backend)?.[1])
}

const OWN_BACKEND = 'SELECT pg_backend_pid() AS pid, host(inet_server_addr()) AS address, inet_client_port() AS port'

/** @typedef {{ pid: number, address: string | null, port: number | null }} Backend as the server sees it; port: the client's */

/**
 * Our backend, over the loopback or a local socket. Others would not do: a pid on another machine may also exist on this one.
 * @param {Backend} own
 */
function localBackend({ pid, address }) {
  const isLocal = address === null || /^(127\.|::1)/.test(address)
  return isLocal && textOf(`/proc/${pid}/comm`)?.startsWith('postgres') ? pid : null
}

/**
 * Our backend behind another address of this machine, or in a container, where it has a number of its own. Its title has to name the
 * client's port, too.
 * @param {Backend} own
 */
function hiddenBackend({ pid, port }) {
  const isOwn = (/** @type {number} */ here) => {
    const title = textOf(`/proc/${here}/cmdline`) ?? ''
    return numberIn(`/proc/${here}/status`, /^NSpid:.*?(\d+)$/m) === pid && title.includes(`(${port})`)
  }
  return pidsNamed('postgres').find(isOwn) ?? null
}
