import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { startChild } from '../../../load/system/processes.js'

/** @import { Plant } from './index.js' */

const BUSY = ['sh', '-c', 'while :; do :; done']
const STOP_GRACE_MS = 100

/** Of the scheduler, the least weight there is: 15 where others have 1024 (sched_prio_to_weight, kernel/sched/core.c). */
const LEAST_NICE = '19'

/** So many, and the API is left with one fifth of its core. */
const NEIGHBOURS = 4

/** @type {Plant} */
export const crowdApi = crowd(NEIGHBOURS)

/**
 * Programs that want the API's core for themselves.
 *
 * @param {number} count
 * @param {{ nice?: string | null }} [options] their priority; null: as everybody's
 * @returns {Plant}
 */
export function crowd(count, { nice = null } = {}) {
  return async ({ api: { cores } }) => {
    // Each a session of its own, since the scheduler shares out by session (sched(7), autogroup).
    const neighbours = Array.from({ length: count }, () => startBusy(cores))
    if (nice !== null) for (const { child } of neighbours) renice(Number(child.pid), nice)
    return async () => {
      await Promise.all(neighbours.map(({ stop }) => stop(STOP_GRACE_MS)))
    }
  }
}

/**
 * The generator as the last in the queue for its core, and somebody who always stands in it. Everybody else there,
 * Postgres above all, stands in front of the generator and shares with one neighbour only.
 *
 * @type {Plant}
 */
export async function squeezeGenerator({ generator: { pid, cores } }) {
  renice(pid, LEAST_NICE)
  const neighbour = startBusy(cores)
  return () => neighbour.stop(STOP_GRACE_MS)
}

/** @param {number} pid @param {string} nice */
function renice(pid, nice) {
  os.setPriority(pid, Number(nice))
  try {
    // With autogroups, the weight that counts between sessions.
    writeFileSync(`/proc/${pid}/autogroup`, nice)
  } catch {
    // Without them, that of the process.
  }
}

/** @param {string | null} cores */
function startBusy(cores) {
  return startChild(BUSY, { cores, stdio: 'ignore' })
}
