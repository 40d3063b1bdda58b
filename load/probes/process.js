import { readdirSync, readFileSync } from 'node:fs'

/** USER_HZ: the unit of times in /proc/PID/stat (proc(5)), 100 on every Linux that Node runs on. */
const TICKS_PER_S = 100
const PAGE_BYTES = 4096

/**
 * Starts to watch a process, its threads and those of its children that have ended.
 *
 * @param {number | null} pid
 * @returns {() => ProcessUse | null} what it has used since; null where there is no /proc, or no process
 */
export function watchProcess(pid) {
  const started_ms = performance.now()
  const before = pid === null ? null : readUse(pid)
  return () => {
    const now = pid === null ? null : readUse(pid)
    if (!before || !now) return null
    const wall_s = (performance.now() - started_ms) / 1000
    const cpu_s = now.cpu_s - before.cpu_s
    return {
      cpu_s,
      threads_cpu_s: now.threads_s === null || before.threads_s === null ? null : now.threads_s - before.threads_s,
      cpu_core_ratio: cpu_s / wall_s,
      main_core_ratio: shareOf(wall_s, before.main_s, now.main_s),
      run_delay_ratio: shareOf(wall_s, before.run_delay_s, now.run_delay_s),
      rss_bytes: now.rss_bytes,
      open_files: openFiles(Number(pid)),
    }
  }
}

/**
 * @typedef {object} ProcessUse of a core, 1 is the whole of it
 * @property {number} cpu_s all threads, and children that have ended
 * @property {number | null} threads_cpu_s its threads alone, those that live, to the ns: cpu_s counts in steps of 10 ms
 * @property {number} cpu_core_ratio
 * @property {number | null} main_core_ratio the main thread alone, where JavaScript runs
 * @property {number | null} run_delay_ratio share of the time in which the main thread could have run and got no core
 * @property {number} rss_bytes
 * @property {number | null} open_files
 */

/** @param {number} wall_s @param {number | null} before_s @param {number | null} now_s */
function shareOf(wall_s, before_s, now_s) {
  return before_s === null || now_s === null ? null : (now_s - before_s) / wall_s
}

/** @param {number} pid @returns {number | null} null for a process of somebody else's */
function openFiles(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return null
  }
}

/** @param {number} pid */
function readUse(pid) {
  const fields = statFields(pid)
  if (!fields) return null
  const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number)
  const cpu_s = (utime + stime + cutime + cstime) / TICKS_PER_S
  return { cpu_s, threads_s: threadsCpu_s(pid), ...mainThread(pid), rss_bytes: Number(fields[21]) * PAGE_BYTES }
}

/**
 * /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst): time on a core and time waiting for one, in ns, of the
 * thread whose id is the process' own.
 *
 * @param {number} pid
 */
function mainThread(pid) {
  try {
    const [on_ns, waiting_ns] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number)
    return { main_s: on_ns / 1e9, run_delay_s: waiting_ns / 1e9 }
  } catch {
    return { main_s: null, run_delay_s: null }
  }
}

/**
 * A child of it that has ended is not in it; nor is a thread that ends in between.
 *
 * @param {number} pid
 */
function threadsCpu_s(pid) {
  try {
    const threads = readdirSync(`/proc/${pid}/task`)
    const spent_ns = threads.map((id) =>
      Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
    )
    return spent_ns.reduce((sum, ns) => sum + ns, 0) / 1e9
  } catch {
    return null
  }
}

/**
 * The fields of /proc/PID/stat behind the program's name, the third first: the name stands in brackets and may hold
 * anything.
 *
 * @param {number | string} pid
 * @returns {string[] | null}
 */
export function statFields(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
  } catch {
    return null
  }
}

/**
 * CPU of a process and of all its children, those that have ended too: a Postgres.
 *
 * @param {number | null} parent pid
 * @returns {number | null} seconds since it began
 */
export function familyCpu_s(parent) {
  const own = parent === null ? null : statFields(parent)
  if (!own) return null
  const ticks = (/** @type {string[]} */ fields, /** @type {number} */ end) => {
    return fields.slice(11, end).reduce((sum, field) => sum + Number(field), 0)
  }
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(statFields)
    .filter((fields) => fields !== null && Number(fields[1]) === parent)
  const sum = children.reduce((total, fields) => total + ticks(/** @type {string[]} */ (fields), 13), ticks(own, 15))
  return sum / TICKS_PER_S
}
