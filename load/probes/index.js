import { watchApi } from './api.js'
import { watchGenerator } from './generator.js'
import { watchHost } from './host.js'
import { watchKernel } from './kernel.js'
import { watchPostgres } from './postgres.js'

/**
 * @import { Database } from '../../sql/database.js'
 * @import { Host } from '../system/ssh/host.js'
 */

/**
 * All probes share one interface: started with a load, sampled during it and ended at the last response.
 *
 * @typedef {object} Probe
 * @property {() => Promise<void>} sample
 * @property {() => (traffic: Load) => Promise<any>} end reads what must be read at this moment; returns a function that gives the findings
 *
 * @typedef {{ sent: number, completed: number, lateness_ms: any, children_cpu_s?: number, connecting_cpu_s?: number,
 *   hosts?: any[] }} Load result of the load
 *
 * @typedef {{ api: any, postgres: any, generator: any, kernel: any, here?: any, target?: any }} Findings kernel: of
 *   the target's machine; here: of ours, if it is another; target: specific to this kind of target
 *
 * @typedef {object} Watched the part of a target that probes need
 * @property {string} url
 * @property {number | null} pid
 * @property {string | null} metricsUrl
 * @property {Host} [host] the host that it runs on, if not this machine
 * @property {() => Promise<Probe>} [watch] starts a probe of its own, after the warm-up
 */

/** @param {{ target: Watched, database: Database | null, generator: { pid: number } }} parts */
export async function startProbes({ target, database, generator }) {
  const { host } = target
  const there = host && watchHost(host)
  const probes = Object.entries({
    api: await watchApi(target, there?.use),
    postgres: await watchPostgres(database),
    generator: watchGenerator(generator),
    kernel: there ? there.kernel : watchKernel({ url: target.url, ours: target.pid !== null }),
    ...(there && { here: watchKernel({ url: target.url, ours: false }) }),
    ...(target.watch && { target: await target.watch() }),
  })
  // Last, because starting the other probes takes several round trips during which there is no load.
  await there?.begin()
  const timers = probes.map(([name, probe]) => every(SAMPLE_MS[/** @type {keyof Findings} */ (name)], probe))
  const stop = () => timers.forEach((timer) => void timer.stop())
  return {
    stop,

    /** Call at the last response. @returns {(traffic: Load) => Promise<Findings>} */
    end() {
      stop()
      const ended = probes.map(([name, probe]) => ({ name, findings: probe?.end() }))
      return async (/** @type {any} */ traffic) => {
        await Promise.all(timers.map(({ idle }) => idle()))
        const found = ended.map(async ({ name, findings }) => [name, rounded((await findings?.(traffic)) ?? {})])
        return Object.fromEntries(await Promise.all(found))
      }
    },
  }
}

/** Wait events and queues last only milliseconds, hence 10 samples a second. Each metrics page costs the service 1 ms. */
export const SAMPLE_MS = { api: 250, postgres: 100, kernel: 250, here: 250, generator: 1000, target: 1000 }

/** Samples at an interval, never twice at once. @param {number} interval_ms @param {Probe | null} probe */
export function every(interval_ms, probe) {
  let sampling = Promise.resolve()
  let busy = false
  const done = () => {
    busy = false
  }
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    // A failed sample does not end the trial; the next one may succeed.
    sampling = Promise.resolve(probe?.sample()).then(done, done)
  }, interval_ms)
  return { stop: () => clearInterval(timer), idle: () => sampling }
}

/** Drops unknown values and rounds to four decimal places; more would be noise. @param {any} value @returns {any} */
function rounded(value) {
  if (typeof value === 'number') return Number(value.toFixed(4))
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(rounded)
  const known = Object.entries(value).filter(([, part]) => part !== null && part !== undefined)
  return Object.fromEntries(known.map(([name, part]) => [name, rounded(part)]))
}
