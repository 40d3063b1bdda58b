import { readMetrics } from './metrics.js'
import { watchProcess } from './process.js'

/**
 * @import { Probe } from './index.js'
 * @import { Metrics } from './metrics.js'
 * @import { ProcessUse } from './process.js'
 */

const SCRAPE_TIMEOUT_MS = 2000
/** Timeout at the end of a trial: longer, so that a blocked event loop has time to answer. */
const LAST_SCRAPE_TIMEOUT_MS = 5000

/** Time in garbage collection; for the JVM (Micrometer, and the Java client of Prometheus), the time for which it paused. */
const GC_SECONDS = [
  ...['redline_gc_seconds_total', 'nodejs_gc_duration_seconds_sum'],
  ...['jvm_gc_pause_seconds_sum', 'jvm_gc_collection_seconds_sum'],
]

/** Counters and gauges read once at the start and once at the end of a trial. */
const NAMES = [
  ...GC_SECONDS,
  ...['process_cpu_seconds_total', 'process_resident_memory_bytes', 'process_open_fds', 'process_max_fds'],
  ...['redline_statement_seconds_count', 'redline_statement_seconds_sum', 'process_start_time_seconds'],
  ...['redline_connections_max', 'redline_dropped_connections_total', 'redline_problems_total', 'redline_shed_total'],
  // The last three by Micrometer.
  ...['redline_hashing_threads', 'process_files_open_files', 'process_files_max_files', 'hikaricp_connections_max'],
]

/** Gauges sampled throughout a trial. */
const GAUGES = [
  ...['redline_event_loop_utilization_ratio', 'redline_event_loop_delay_p99_seconds'],
  ...['redline_event_loop_delay_max_seconds', 'redline_in_flight_requests', 'redline_waiting_requests'],
  ...['redline_pool_idle', 'redline_pool_total', 'redline_pool_waiting', 'redline_hashing_passwords'],
  // prom-client, and HikariCP by Micrometer.
  ...['nodejs_eventloop_lag_p99_seconds', 'nodejs_eventloop_lag_max_seconds'],
  ...['hikaricp_connections_active', 'hikaricp_connections_pending'],
]

/** Gauges that tell the longest delay of the last second, or since the page was last read. */
const LOOP_DELAYS = GAUGES.filter((name) => /event_?loop_(delay|lag)/.test(name))
/** Until then, the page may still report a stall from before the load, and it may repeat that value for another second. */
const LOOP_DELAYS_FROM_MS = 1000

/** Keeps oversized, hostile labels out of the record. */
const KEY_MAX_CHARS = 100

/**
 * Watches the service's resource use according to the kernel and to its own metrics page. Gauges are sampled; counters are
 * reported as their increase. If the page cannot be read at the start or end, metrics_problem replaces the metrics.
 * @param {{ pid: number | null, metricsUrl: string | null }} target
 * @param {() => () => ProcessUse | null | Promise<ProcessUse | null>} [watch] watches the resource use, if not that of the process `pid`
 * @param {() => number} [now] time in ms @returns {Promise<Probe>}
 */
export async function watchApi({ pid, metricsUrl }, watch = () => watchProcess(pid), now = () => performance.now()) {
  let [use, started_ms] = [watch(), now()]
  const { page: first, problem: firstProblem } = await readPage(metricsUrl, SCRAPE_TIMEOUT_MS)
  /** @type {Gauges} */
  const gauges = {}
  /** Values reported within the first second, which may date from before the load. @type {Record<string, number>} */
  const early = {}
  return {
    begin() {
      use = watch()
      started_ms = now()
    },

    async sample() {
      if (!first || !metricsUrl) return
      const isEarly = now() - started_ms < LOOP_DELAYS_FROM_MS
      const metrics = await readMetrics(metricsUrl, GAUGES, SCRAPE_TIMEOUT_MS)
      for (const name of GAUGES) {
        const value = metrics.sum(name)
        if (value === null) continue
        if (isEarly && LOOP_DELAYS.includes(name)) early[name] = value
        // The gauge exists, even if it says nothing about this load.
        gauges[name] ??= { looks: 0, sum: 0, most: 0 }
        if (value === early[name]) continue
        const { looks, sum, most } = gauges[name]
        gauges[name] = { looks: looks + 1, sum: sum + value, most: Math.max(most, value) }
      }
    },

    end() {
      const own = use()
      const wall_s = (now() - started_ms) / 1000
      // Read at once: what the service does after the load is not part of it.
      const reading = readPage(first && metricsUrl, LAST_SCRAPE_TIMEOUT_MS)
      return async ({ completed }) => {
        const { page: last, problem } = await reading
        const ofKernel = used(await own, completed)
        if (!first || !last) return { metrics_problem: firstProblem ?? problem, ...ofKernel }
        if (!isSameProcess(first, last)) return { metrics_problem: ANOTHER_PROCESS, ...ofKernel }
        return { ...tell(first, gauges, last, wall_s), ...ofKernel }
      }
    },
  }
}

/**
 * Reads the counters of a metrics page, or says why it cannot be read; neither without a page.
 * @param {string | null} metricsUrl @param {number} timeout_ms @returns {Promise<{ page: Metrics | null, problem: string | null }>}
 */
async function readPage(metricsUrl, timeout_ms) {
  if (!metricsUrl) return { page: null, problem: null }
  return readMetrics(metricsUrl, NAMES, timeout_ms).then(
    (page) => ({ page, problem: null }),
    ({ message }) => ({ page: null, problem: message }),
  )
}

const ANOTHER_PROCESS =
  'a different process answered at the end than at the beginning (a restart, or several behind one address)'

/** Start times (s) may be rounded differently from page to page. */
const START_ROUNDING_S = 2

/** Whether two pages are of one process, as far as they tell: several may share an address. @param {Metrics} first @param {Metrics} last */
function isSameProcess(first, last) {
  const [then_s, now_s] = [first, last].map((page) => page.sum('process_start_time_seconds'))
  return then_s === null || now_s === null || Math.abs(now_s - then_s) < START_ROUNDING_S
}

/** @typedef {Record<string, { looks: number, sum: number, most: number }>} Gauges running totals, not samples, since a trial may take hours */

/** @param {ProcessUse | null} use @param {number} completed */
function used(use, completed) {
  if (!use) return {}
  // The files of another user's process cannot be seen; its own page may tell them.
  const seen = Object.entries(use).filter(([name]) => use.open_files !== null || !name.startsWith('open_files'))
  const own = /** @type {ProcessUse} */ (Object.fromEntries(seen))
  return completed > 0 ? { ...own, cpu_us_per_request: ((own.threads_cpu_s ?? own.cpu_s) * 1e6) / completed } : own
}

/** @param {Metrics} first @param {Gauges} gauges @param {Metrics} last @param {number} wall_s */
function tell(first, gauges, last, wall_s) {
  const grown = (/** @type {string} */ name) => difference(first.sum(name), last.sum(name))
  const mean = (/** @type {string} */ name) => (gauges[name] ? gauges[name].sum / gauges[name].looks : null)
  const share = (/** @type {number | null} */ seconds) => (seconds === null ? null : seconds / wall_s)
  const most_ms = (/** @type {string} */ name) => (gauges[name] ? gauges[name].most * 1000 : null)
  const statements = grown('redline_statement_seconds_count')
  const statement_s = grown('redline_statement_seconds_sum')
  const [total, idle] = [mean('redline_pool_total'), mean('redline_pool_idle')]
  return {
    cpu_core_ratio: share(grown('process_cpu_seconds_total')),
    rss_bytes: last.sum('process_resident_memory_bytes'),
    open_files: last.sum('process_open_fds') ?? last.sum('process_files_open_files'),
    open_files_max: last.sum('process_max_fds') ?? last.sum('process_files_max_files'),
    gc_ratio: share(GC_SECONDS.map(grown).find((seconds) => seconds !== null) ?? null),
    elu_ratio: mean('redline_event_loop_utilization_ratio'),
    loop_delay_p99_ms: most_ms('redline_event_loop_delay_p99_seconds') ?? most_ms('nodejs_eventloop_lag_p99_seconds'),
    loop_delay_max_ms: most_ms('redline_event_loop_delay_max_seconds') ?? most_ms('nodejs_eventloop_lag_max_seconds'),
    in_flight_mean: mean('redline_in_flight_requests'),
    waiting_mean: mean('redline_waiting_requests'),
    pool_used_mean: total === null || idle === null ? mean('hikaricp_connections_active') : total - idle,
    pool_waiting_mean: mean('redline_pool_waiting') ?? mean('hikaricp_connections_pending'),
    pool_max: last.sum('hikaricp_connections_max'),
    hashing_mean: mean('redline_hashing_passwords'),
    hashing_threads: last.sum('redline_hashing_threads'),
    statements,
    statement_mean_ms: statements && statement_s !== null ? (statement_s / statements) * 1000 : null,
    connections_max: last.sum('redline_connections_max'),
    dropped_connections: grown('redline_dropped_connections_total'),
    problems: growth(first, last, 'redline_problems_total', 'code'),
    shed: growth(first, last, 'redline_shed_total', 'limit'),
  }
}

/** @param {Metrics} first @param {Metrics} last @param {string} name @param {string} label */
function growth(first, last, name, label) {
  const before = first.by(name, label)
  const grown = Object.entries(last.by(name, label)).map(([key, count]) => {
    return /** @type {const} */ ([key.slice(0, KEY_MAX_CHARS), count - (before[key] ?? 0)])
  })
  return Object.fromEntries(grown.filter(([, count]) => count > 0))
}

/** A counter that decreased was reset, so its difference is unknown. @param {number | null} before @param {number | null} now */
function difference(before, now) {
  return now === null || now < (before ?? 0) ? null : now - (before ?? 0)
}
