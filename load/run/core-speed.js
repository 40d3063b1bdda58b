import { setTimeout } from 'node:timers/promises'
import { timeWork_ms } from '../system/speed.js'

/** @import { Target } from '../targets/index.js' */

/** A core that shares its hardware with another guest is often slow for seconds. */
const LONGEST_WAIT_MS = 10_000
const PAUSE_MS = 250

/**
 * Times a fixed piece of work on the service's cores. As long as they are slower than usual it is repeated, for up to ten seconds.
 * @param {Pick<Target, 'kind' | 'host' | 'cores'>} target @param {number} [slow_ms] the cores are slower than usual if the work takes
 *   longer than this @param {{ signal?: AbortSignal, note?: (text: string) => void, work?: typeof workOn_ms, wait_ms?: number }} [io]
 * @returns {Promise<number | null>} ms of the last time; null: the cores are not known
 */
export async function awaitSpeed_ms(
  target,
  slow_ms = Number.POSITIVE_INFINITY,
  { signal, note, work = workOn_ms, wait_ms = LONGEST_WAIT_MS } = {},
) {
  const end_ms = performance.now() + wait_ms
  let work_ms = await work(target)
  if (work_ms !== null && work_ms > slow_ms) {
    note?.(`the service's core is slower than usual: waiting up to ${wait_ms / 1000} s`)
  }
  while (work_ms !== null && work_ms > slow_ms && performance.now() < end_ms) {
    await setTimeout(PAUSE_MS, undefined, { signal })
    work_ms = await work(target)
  }
  return work_ms
}

/** Times the work once. @param {Pick<Target, 'kind' | 'host' | 'cores'>} target @returns {Promise<number | null>} ms; null: its cores are not known */
async function workOn_ms({ kind, host, cores }) {
  if (host) return host.ask('timeWork', { cores })
  return kind === 'local' || kind === 'started' ? timeWork_ms(cores) : null
}
