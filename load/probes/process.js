import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { attempt } from '../../sql/attempt.js'
import { numberIn, textOf } from '../system/machine.js'
import { cpuThrottling } from './quota.js'

/** USER_HZ, the unit of times in /proc/PID/stat (proc(5)): 100 on every Linux that Node supports. */
export const TICKS_PER_S = 100

/**
 * Watches a process, its threads and its ended children. The returned function gives their resource use since then (ratio 1: a whole
 * core), or null without /proc or if the process does not exist.
 * @param {number | null} pid
 * @typedef {NonNullable<ReturnType<ReturnType<typeof watchProcess>>>} ProcessUse
 */
export function watchProcess(pid) {
  const started_ms = performance.now()
  const before = pid === null ? null : readUse(pid)
  return () => {
    const now = pid === null ? null : readUse(pid)
    if (!before || !now) return null
    const wall_s = (performance.now() - started_ms) / 1000
    /** @param {'threads_cpu_s' | 'main_s' | 'run_delay_s' | 'switches' | 'throttled_s'} name */
    const grown = (name, per_s = 1) => {
      const [was_s, is_s] = [before[name], now[name]]
      return was_s === null || is_s === null ? null : (is_s - was_s) / per_s
    }
    const cpu_s = now.cpu_s - before.cpu_s
    return {
      cpu_s,
      // CPU time of live threads, in ns resolution; cpu_s has a resolution of 10 ms.
      threads_cpu_s: grown('threads_cpu_s'),
      cpu_core_ratio: cpu_s / wall_s,
      // JavaScript runs in the main thread; run_delay_ratio is the share of time that it waits for a core.
      main_core_ratio: grown('main_s', wall_s),
      run_delay_ratio: grown('run_delay_s', wall_s),
      // Number of times that the main thread was given a core.
      context_switches: grown('switches'),
      // CPU seconds per second that its control groups may use (null without a quota), and the share of time spent throttled.
      quota_cores: now.quota_cores,
      throttled_ratio: grown('throttled_s', wall_s),
      rss_bytes: now.rss_bytes,
      open_files: openFilesOf(Number(pid)),
    }
  }
}

/** Resources that a process has used so far; null without /proc, or if it is gone. @param {number} pid */
export function readUse(pid) {
  const fields = statFields(pid)
  if (!fields) return null
  // The main thread's id equals the process id.
  const main = schedule(`/proc/${pid}`) ?? { main_s: null, run_delay_s: null, switches: null }
  const [own_s, cpu_s] = [ticksOf(fields, 13) / TICKS_PER_S, ticksOf(fields, 15) / TICKS_PER_S]
  const quota = cpuThrottling(pid) ?? { quota_cores: null, throttled_s: null }
  // In kB, whatever the size of a page.
  const rss_bytes = (numberIn(`/proc/${pid}/status`, /^VmRSS:\s*(\d+) kB/m) ?? 0) * 1024
  return { own_s, cpu_s, threads_cpu_s: threadsCpu_s(pid), ...main, ...quota, rss_bytes }
}

/** Seconds on a core, seconds waiting for one, and how often it got one (Documentation/scheduler/sched-stats.rst). @param {string} folder */
function schedule(folder) {
  const numbers = textOf(`${folder}/schedstat`)?.split(' ').map(Number)
  return numbers && { main_s: numbers[0] / 1e9, run_delay_s: numbers[1] / 1e9, switches: numbers[2] }
}

/** Excludes ended children, and threads that end between two readings. @param {number} pid */
function threadsCpu_s(pid) {
  const spent_s = namesIn(`/proc/${pid}/task`)?.map((id) => schedule(`/proc/${pid}/task/${id}`)?.main_s)
  if (!spent_s || spent_s.includes(undefined)) return null
  return /** @type {number[]} */ (spent_s).reduce((sum, own_s) => sum + own_s, 0)
}

/** Number of files that a process has open; null: unknown. @param {number} pid */
export function openFilesOf(pid) {
  return namesIn(`/proc/${pid}/fd`)?.length ?? null
}

/** @param {string} folder @returns {string[] | null} null if the process is another user's, or gone */
export function namesIn(folder) {
  return attempt(() => readdirSync(folder), null)
}

/** The fields of /proc/PID/stat from the third on; the second, the program's name, may contain any character. @param {number | string} pid */
export function statFields(pid) {
  const text = textOf(`/proc/${pid}/stat`)
  return text?.replace(/^.*\) /s, '').split(' ')
}

/** CPU seconds of a process (such as Postgres) and all its children, including ended ones. @param {number | null} parent pid */
export function familyCpu_s(parent) {
  const own = parent === null ? null : statFields(parent)
  if (!own) return null
  const children = numbersIn(readdirSync('/proc'))
    .map(statFields)
    .filter((fields) => Number(fields?.[1]) === parent)
  return children.reduce((sum, fields) => sum + ticksOf(fields ?? [], 13), ticksOf(own, 15)) / TICKS_PER_S
}

/** A process and all its descendants: workers of a server, backends of Postgres. @param {number} ancestor */
export function familyOf(ancestor) {
  const names = namesIn('/proc')
  const parents = names
    ? numbersIn(names).map((pid) => [pid, Number(statFields(pid)?.[1])])
    : parentsIn(spawnSync('ps', ['-axo', 'pid=,ppid='], { encoding: 'utf8' }).stdout ?? '')
  const family = [ancestor]
  for (const own of family) family.push(...parents.flatMap(([pid, parent]) => (parent === own ? pid : [])))
  return family
}

/** Processes whose program name begins like this; none without /proc. @param {string} beginning */
export function pidsNamed(beginning) {
  return numbersIn(namesIn('/proc') ?? []).filter((pid) => textOf(`/proc/${pid}/comm`)?.startsWith(beginning))
}

/** Each process and its parent, from the output of ps, which replaces a missing /proc, as on macOS. @param {string} listed */
export function parentsIn(listed) {
  return [...listed.matchAll(/(\d+) +(\d+)/g)].map(([, pid, parent]) => [Number(pid), Number(parent)])
}

/** @param {string[]} names */
export function numbersIn(names) {
  return names.filter((name) => /^\d+$/.test(name)).map(Number)
}

/** The program name of a process; null if it does not run. @param {number} pid */
export function nameOf(pid) {
  const name =
    textOf(`/proc/${pid}/comm`) ?? spawnSync('ps', ['-o', 'ucomm=', '-p', `${pid}`], { encoding: 'utf8' }).stdout
  return name?.trim() || null
}

/** CPU seconds of this process's children that have ended. */
export function endedChildrenCpu_s() {
  const own = statFields(process.pid) ?? []
  return (ticksOf(own, 15) - ticksOf(own, 13)) / TICKS_PER_S
}

/** Sum of utime and stime and, if end is 15, those of ended children. @param {string[]} fields @param {13 | 15} end */
export function ticksOf(fields, end) {
  return fields.slice(11, end).reduce((sum, field) => sum + Number(field), 0)
}
