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
  const before = pid === null ? null : readStat(pid)
  return () => {
    const now = pid === null ? null : readStat(pid)
    if (!before || !now) return null
    const cpu_s = now.cpu_s - before.cpu_s
    return {
      cpu_s,
      cpu_core_ratio: cpu_s / ((performance.now() - started_ms) / 1000),
      rss_bytes: now.rss_bytes,
      open_files: openFiles(Number(pid)),
    }
  }
}

/** @typedef {{ cpu_s: number, cpu_core_ratio: number, rss_bytes: number, open_files: number | null }} ProcessUse cpu_core_ratio 1: one whole core */

/** @param {number} pid @returns {number | null} null for a process of somebody else's */
function openFiles(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return null
  }
}

/** @param {number} pid */
function readStat(pid) {
  try {
    // The second field is the program's name in brackets and may hold anything, so count from behind it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    const [utime, stime, cutime, cstime] = fields.slice(11, 15).map(Number)
    return { cpu_s: (utime + stime + cutime + cstime) / TICKS_PER_S, rss_bytes: Number(fields[21]) * PAGE_BYTES }
  } catch {
    return null
  }
}
