import path from 'node:path'
import { textOf } from '../system/machine.js'
import { nameOf, namesIn, numbersIn, statFields, TICKS_PER_S, ticksOf } from './process.js'

/** A process that takes less of a core than this disturbs nothing. */
const LEAST_RATIO = 0.05

/**
 * Watches what all processes take of the CPU. The returned function gives those that took a share of it since then, busiest first; none
 * without /proc.
 * @returns {(own?: number[]) => Other[]} own: pids that are not counted, as this process is not
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

/** The program that was called. Node names its main thread "MainThread", so a thread's name says less. @param {number} pid */
function programOf(pid) {
  const [called = ''] = textOf(`/proc/${pid}/cmdline`)?.split(/\0| -/) ?? []
  return path.basename(called) || nameOf(pid) || 'a process that has ended'
}
