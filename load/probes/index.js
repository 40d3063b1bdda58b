import { watchApi } from './api.js'
import { every, SAMPLE_MS } from './every.js'
import { watchGenerator } from './generator.js'
import { watchHost } from './host.js'
import { watchKernel } from './kernel.js'
import { watchPostgres } from './postgres.js'

/**
 * @import { Database } from '../../sql/database.js'
 * @import { Target } from '../targets/index.js'
 */

/**
 * Probes, all of one shape: begun beside a load, sampled while it is on, ended when the last answer has come.
 *
 * @typedef {object} Probe
 * @property {() => Promise<void>} sample
 * @property {() => (traffic: { sent: number, completed: number, lateness_ms: any, children_cpu_s?: number, hosts?: any[] }) => Promise<any>} end takes what has to
 *   be taken at this moment; what it returns gives the findings
 *
 * @typedef {{ api: any, postgres: any, generator: any, kernel: any, here?: any, target?: any }} Findings kernel: of the
 *   machine on which the target runs; here: of ours, where that is another; target: what only this kind of target can tell
 */

/**
 * @param {object} parts
 * @param {Target} parts.target
 * @param {Database | null} parts.database
 * @param {{ pid: number }} parts.generator
 */
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
  const stop = () => {
    for (const timer of timers) timer.stop()
  }
  return {
    stop,

    /** When the last answer has come. @returns {(traffic: { sent: number, completed: number, lateness_ms: any, children_cpu_s?: number, hosts?: any[] }) => Promise<Findings>} */
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

/** Without what is unknown, and to four digits behind the point: more is noise. @param {any} value @returns {any} */
function rounded(value) {
  if (typeof value === 'number') return Number(value.toFixed(4))
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(rounded)
  const known = Object.entries(value).filter(([, part]) => part !== null && part !== undefined)
  return Object.fromEntries(known.map(([name, part]) => [name, rounded(part)]))
}
