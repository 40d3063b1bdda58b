import path from 'node:path'
import { textOf } from '../system/machine.js'
import { nameOf, namesIn, numbersIn, statFields, TICKS_PER_S, ticksOf } from './process.js'

/** Processes that use less of a core than this do not disturb a measurement. */
const LEAST_RATIO = 0.05

/**
 * Watches the CPU use of all processes. The returned function lists those that have used a noticeable share of a core since then,
 * busiest first; none without /proc.
 * @returns {(own?: number[]) => Other[]} own: pids to leave out, besides this process
 * @typedef {{ name: string, pid: number, core_ratio: number }} Other core_ratio: 1 for a whole core
 */
export function watchOthers() {
  const began_ms = performance.now()
  const before = ticksByPid()
  return (own = []) => {
    const ticks = ((performance.now() - began_ms) / 1000) * TICKS_PER_S
    return [...ticksByPid()]
      .map(([pid, now]) => ({ pid, core_ratio: (now - (before.get(pid) ?? 0)) / ticks }))
      .filter(({ pid, core_ratio }) => core_ratio >= LEAST_RATIO && pid !== process.pid && !own.includes(pid))
      .sort((a, b) => b.core_ratio - a.core_ratio)
      .map(({ pid, core_ratio }) => ({ name: programOf(pid), pid, core_ratio }))
  }
}

/** CPU time of each process, in ticks. */
function ticksByPid() {
  return new Map(numbersIn(namesIn('/proc') ?? []).map((pid) => [pid, ticksOf(statFields(pid) ?? [], 13)]))
}

/** The name of a process's program. Its main thread's name may say nothing: Node calls its own "MainThread". @param {number} pid */
function programOf(pid) {
  const [called = ''] = textOf(`/proc/${pid}/cmdline`)?.split(/\0| -/) ?? []
  return path.basename(called) || nameOf(pid) || 'a process that has ended'
}
