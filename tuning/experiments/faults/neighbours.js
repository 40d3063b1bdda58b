import { setPriority, startChild } from '../../../load/system/processes.js'

/** @import { Plant } from './index.js' */

const STOP_GRACE_MS = 100

/** The scheduler's least weight: 15 where others have 1024 (sched_prio_to_weight, kernel/sched/core.c). */
const LEAST_NICE = 19

/**
 * Programs that compete for the API's core.
 * @param {number} count @param {{ nice?: number | null }} [options] their priority, or null for the default @returns {Plant}
 */
export function crowd(count, { nice = null } = {}) {
  return async ({ api: { cores } }) => {
    // Each has a session of its own, since the scheduler divides the core by session (sched(7), autogroup).
    const neighbours = Array.from({ length: count }, () => startBusy(cores))
    if (nice !== null) for (const { child } of neighbours) setPriority(Number(child.pid), nice)
    return async () => {
      await Promise.all(neighbours.map(({ stop }) => stop(STOP_GRACE_MS)))
    }
  }
}

/**
 * The generator has the lowest priority on its core, where one neighbour is always busy. Everything else there, above all
 * Postgres, takes precedence over the generator and shares the core with that neighbour only.
 * @type {Plant}
 */
export async function squeezeGenerator({ generator: { pid, cores } }) {
  setPriority(pid, LEAST_NICE)
  const neighbour = startBusy(cores)
  return () => neighbour.stop(STOP_GRACE_MS)
}

/** @param {string | null} cores */
function startBusy(cores) {
  return startChild(['sh', '-c', 'while :; do :; done'], { cores, stdio: 'ignore' })
}
