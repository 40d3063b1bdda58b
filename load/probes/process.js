import { readdirSync } from 'node:fs'
import { textOf } from '../system/machine.js'
import { cpuThrottling } from './quota.js'

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
    const grown = (/** @type {'cpu_s' | 'threads_cpu_s' | 'main_s' | 'run_delay_s' | 'throttled_s'} */ name) => {
      return difference(before[name], now[name])
    }
    const share = (/** @type {number | null} */ used_s) => (used_s === null ? null : used_s / wall_s)
    const cpu_s = now.cpu_s - before.cpu_s
    return {
      cpu_s,
      threads_cpu_s: grown('threads_cpu_s'),
      cpu_core_ratio: cpu_s / wall_s,
      main_core_ratio: share(grown('main_s')),
      run_delay_ratio: share(grown('run_delay_s')),
      quota_cores: now.quota_cores,
      throttled_ratio: share(grown('throttled_s')),
      rss_bytes: now.rss_bytes,
      open_files: namesIn(`/proc/${pid}/fd`)?.length ?? null,
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
 * @property {number | null} quota_cores CPU time that its control groups may use per second; null: no quota
 * @property {number | null} throttled_ratio share of the time in which that quota was used up, and it could not run
 * @property {number} rss_bytes
 * @property {number | null} open_files
 */

/** @param {number | null} before @param {number | null} now */
function difference(before, now) {
  return before === null || now === null ? null : now - before
}

/** @param {number} pid */
function readUse(pid) {
  const fields = statFields(pid)
  if (!fields) return null
  // The main thread's id is that of the process.
  const [main_s = null, run_delay_s = null] = schedule(`/proc/${pid}`) ?? []
  const cpu_s = ticksOf(fields, 15) / TICKS_PER_S
  const { quota_cores = null, throttled_s = null } = cpuThrottling(pid) ?? {}
  const rss_bytes = Number(fields[21]) * PAGE_BYTES
  return { cpu_s, threads_cpu_s: threadsCpu_s(pid), main_s, run_delay_s, quota_cores, throttled_s, rss_bytes }
}

/** Time on a core and time waiting for one (Documentation/scheduler/sched-stats.rst), in s. @param {string} folder */
function schedule(folder) {
  const text = textOf(`${folder}/schedstat`)
  return text === null ? null : text.split(' ').map((ns) => Number(ns) / 1e9)
}

/** Children that have ended are not in it; nor is a thread that ends in between. @param {number} pid */
function threadsCpu_s(pid) {
  const spent_s = namesIn(`/proc/${pid}/task`)?.map((id) => schedule(`/proc/${pid}/task/${id}`)?.[0])
  if (!spent_s || spent_s.includes(undefined)) return null
  return /** @type {number[]} */ (spent_s).reduce((sum, own_s) => sum + own_s, 0)
}

/** @param {string} folder @returns {string[] | null} null for a process of somebody else's */
function namesIn(folder) {
  try {
    return readdirSync(folder)
  } catch {
    return null
  }
}

/**
 * The fields of /proc/PID/stat behind the program's name, which may hold anything; the third comes first.
 *
 * @param {number | string} pid
 * @returns {string[] | null}
 */
export function statFields(pid) {
  const text = textOf(`/proc/${pid}/stat`)
  return text === null ? null : text.replace(/^.*\) /s, '').split(' ')
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
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const children = pids.map(statFields).filter((fields) => fields !== null && Number(fields[1]) === parent)
  return children.reduce((sum, fields) => sum + ticksOf(fields ?? [], 13), ticksOf(own, 15)) / TICKS_PER_S
}

/** utime, stime and, up to 15, those of children that have ended. @param {string[]} fields @param {13 | 15} end */
function ticksOf(fields, end) {
  return fields.slice(11, end).reduce((sum, field) => sum + Number(field), 0)
}
