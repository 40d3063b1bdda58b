import { readlinkSync } from 'node:fs'
import path from 'node:path'
import { attempt } from '../../sql/attempt.js'
import { coresOf, expandCores, softNofileOf, textOf } from '../system/machine.js'
import { familyOf, nameOf, namesIn, openFilesOf, readUse } from './process.js'

/** @import { ProcessUse } from './process.js' */

/**
 * Watches a process of any program and all its descendants as a unit, such as the workers of a cluster or of gunicorn. The returned
 * function gives their resource use since then, or null if the process is gone. Single-threaded work saturates with its thread, so
 * main_core_ratio is that of the busiest thread; a process whose interpreter runs one thread at a time counts as one thread.
 * open_files is that of the process with the most.
 * @param {number} ancestor
 * @returns {() => ProcessUse & { open_files_max: number | null, usable_cores: number | null } | null}
 */
export function watchFamily(ancestor) {
  const started_ms = performance.now()
  const before = usesOf(ancestor)
  return () => {
    const now = usesOf(ancestor)
    const [root] = now
    if (!root || root.pid !== ancestor) return null
    const wall_s = (performance.now() - started_ms) / 1000
    const earlier = new Map(before.map((one) => [one.pid, one]))
    const grown = now.map((one) => sinceOf(one, earlier.get(one.pid)))
    const sum = (/** @type {'cpu_s' | 'reaped_s' | 'threads_cpu_s' | 'rss_bytes'} */ name) =>
      grown.reduce((all, one) => all + one[name], 0)
    // Once a process has ended, its parent's CPU time includes everything that it ever used, unless the parent ignores SIGCHLD.
    const ended = before.filter(({ pid }) => !now.some((one) => one.pid === pid))
    const earlier_s = ended.reduce((all, one) => all + one.cpu_s, 0)
    const cpu_s = Math.max(0, sum('cpu_s') - Math.min(sum('reaped_s'), earlier_s))
    const living_s = sum('threads_cpu_s')
    const [crowded] = now.toSorted((a, b) => Number(b.open_files) - Number(a.open_files))
    const { quota_cores, throttled_s } = root
    return {
      cpu_s,
      // What ended meanwhile counts only for its parent, in ticks of 10 ms.
      threads_cpu_s: cpu_s > living_s + TICKS_S * now.length ? cpu_s : living_s,
      cpu_core_ratio: cpu_s / wall_s,
      main_core_ratio: Math.max(...grown.map(({ thread_s }) => thread_s)) / wall_s,
      context_switches: null,
      run_delay_ratio: Math.max(...grown.map(({ run_delay_s }) => run_delay_s)) / wall_s,
      rss_bytes: sum('rss_bytes'),
      open_files: crowded.open_files,
      open_files_max: softNofileOf(crowded.pid),
      quota_cores,
      throttled_ratio: throttled_s === null ? null : (throttled_s - Number(before[0]?.throttled_s)) / wall_s,
      usable_cores: expandCores(coresOf(ancestor) ?? '').length || null,
    }
  }
}

/** Programs whose threads share one interpreter lock (CPython's GIL, CRuby's GVL). */
const ONE_AT_A_TIME = /^(python|gunicorn|uwsgi|celery|uvicorn|ruby|puma|unicorn)/

/** Seconds by which the CPU time of a process may differ from that of its threads: a tick each of user and system time. */
const TICKS_S = 0.02

/** @typedef {ReturnType<typeof usesOf>[number]} Use */

/** @param {number} ancestor */
function usesOf(ancestor) {
  return familyOf(ancestor).flatMap((pid) => {
    const use = readUse(pid)
    if (!use) return []
    // A script has its own name, not that of its interpreter.
    const names = [nameOf(pid) ?? '', programOf(pid)]
    return { pid, names, ...use, threads_s: threadsOf(pid), open_files: openFilesOf(pid) }
  })
}

/** File name of the program that a process runs; empty if it may not be read. @param {number} pid */
function programOf(pid) {
  return path.basename(attempt(() => readlinkSync(`/proc/${pid}/exe`), ''))
}

/** Seconds on a core, and seconds waiting for one, of each thread by its id. @param {number} pid @returns {Map<string, number[]>} */
function threadsOf(pid) {
  const ids = namesIn(`/proc/${pid}/task`) ?? []
  const timesOf = (/** @type {string} */ id) => textOf(`/proc/${pid}/task/${id}/schedstat`)?.split(' ') ?? []
  return new Map(
    ids.map((id) => {
      const [ran_ns = 0, waited_ns = 0] = timesOf(id).map(Number)
      return [id, [ran_ns / 1e9, waited_ns / 1e9]]
    }),
  )
}

/** Resources that a process has used since the earlier reading or, without one, since it started. @param {Use} now @param {Use} [before] */
function sinceOf(now, before) {
  const grown = [...now.threads_s].map(([id, [ran_s, waited_s]]) => {
    const [before_s, earlier_s] = before?.threads_s.get(id) ?? [0, 0]
    return { ran_s: ran_s - before_s, waited_s: waited_s - earlier_s }
  })
  const threads_s = grown.map(({ ran_s }) => ran_s)
  const [busiest] = grown.toSorted((a, b) => b.ran_s + b.waited_s - a.ran_s - a.waited_s)
  const living_s = threads_s.reduce((all, one_s) => all + one_s, 0)
  const own_s = now.own_s - (before?.own_s ?? 0)
  // Threads that ended, such as one for each connection, count only for the process, in ticks of 10 ms.
  const threads_cpu_s = own_s > living_s + TICKS_S ? own_s : living_s
  return {
    cpu_s: now.cpu_s - (before?.cpu_s ?? 0),
    reaped_s: now.cpu_s - now.own_s - (before ? before.cpu_s - before.own_s : 0),
    threads_cpu_s,
    thread_s: now.names.some((name) => ONE_AT_A_TIME.test(name)) ? threads_cpu_s : Math.max(0, ...threads_s),
    run_delay_s: busiest?.waited_s ?? 0,
    rss_bytes: now.rss_bytes,
  }
}
