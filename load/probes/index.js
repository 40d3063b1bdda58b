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
 * Probes, all of one shape: begun beside a load, sampled while it is on, ended when the last answer has come.
 *
 * @typedef {object} Probe
 * @property {() => Promise<void>} sample
 * @property {() => (traffic: Load) => Promise<any>} end takes what has to be taken at this moment; what it returns gives the findings
 *
 * @typedef {{ sent: number, completed: number, lateness_ms: any, children_cpu_s?: number, connecting_cpu_s?: number,
 *   hosts?: any[] }} Load what it did
 *
 * @typedef {{ api: any, postgres: any, generator: any, kernel: any, here?: any, target?: any }} Findings kernel: of the
 *   machine on which the target runs; here: of ours, where that is another; target: what only this kind of target can tell
 *
 * @typedef {object} Watched a target, as far as probes need it
 * @property {string} url
 * @property {number | null} pid
 * @property {string | null} metricsUrl
 * @property {Host} [host] where it runs, if not here
 * @property {() => Promise<Probe>} [watch] a probe of its own, begun when the warm-up is over
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
  // The last, since the others take some turns on the line, in which nothing is loaded.
  await there?.begin()
  const timers = probes.map(([name, probe]) => every(SAMPLE_MS[/** @type {keyof Findings} */ (name)], probe))
  const stop = () => timers.forEach((timer) => void timer.stop())
  return {
    stop,

    /** When the last answer has come. @returns {(traffic: Load) => Promise<Findings>} */
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

/** Wait events and queues come and go within milliseconds: 10 looks a second. The page of the service costs it a millisecond. */
export const SAMPLE_MS = { api: 250, postgres: 100, kernel: 250, here: 250, generator: 1000, target: 1000 }

/** Samples again and again, never twice at once. @param {number} interval_ms @param {Probe | null} probe */
export function every(interval_ms, probe) {
  let sampling = Promise.resolve()
  let busy = false
  const done = () => {
    busy = false
  }
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    // What cannot be looked at once is looked at the next time; a trial does not end by it.
    sampling = Promise.resolve(probe?.sample()).then(done, done)
  }, interval_ms)
  return { stop: () => clearInterval(timer), idle: () => sampling }
}

/** Without what is unknown, and to four digits behind the point: more is noise. @param {any} value @returns {any} */
function rounded(value) {
  if (typeof value === 'number') return Number(value.toFixed(4))
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(rounded)
  const known = Object.entries(value).filter(([, part]) => part !== null && part !== undefined)
  return Object.fromEntries(known.map(([name, part]) => [name, rounded(part)]))
}
