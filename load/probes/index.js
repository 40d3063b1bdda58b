import { isThisMachine } from '../system/addresses.js'
import { watchApi } from './api.js'
import { watchFamily } from './family.js'
import { watchGenerator } from './generator.js'
import { watchKernel } from './kernel.js'
import { watchPostgres } from './postgres.js'
import { watchProcess } from './process.js'

/**
 * @import { Database, Look } from '../../sql/database.js'
 * @import { Host } from '../system/ssh/host.js'
 * @import { Probes, Traffic } from '../report/record.js'
 * @import { ProcessUse } from './process.js'
 */

/**
 * @typedef {{ begin?: () => void, sample?: () => Promise<void>, end: () => (traffic: Load) => Promise<any> }} Probe starts with a load, is
 *   sampled during it and ends at the last response, possibly more than once; begin: starts what is measured over time, once all other probes are ready; end: reads
 *   what must be read at that moment, and returns a function that gives the findings
 * @typedef {Pick<Traffic, 'sent' | 'completed' | 'lateness_ms' | 'children_cpu_s' | 'connecting_cpu_s' | 'hosts'>} Load result of a load
 * @typedef {{ url: string, pid: number | null, metricsUrl: string | null, host?: Host, processes?: { pid: number, name: string }[],
 *   watch?: () => Promise<Probe> }} Watched the part
 *   of a target that probes need; host: where it runs, if not on this machine; watch: starts the target's own probe, after the warm-up
 */

/** @param {{ target: Watched, database: Database | Look | null, generator: { pid: number } }} parts */
export async function startProbes({ target, database, generator }) {
  const { host } = target
  const there = host && watchHost(host)
  // These take several round trips, and up to 2 s for a slow metrics page, during which there is no load.
  const api = await watchApi(target, () => there?.use ?? busiestOf(target) ?? watchProcess(target.pid))
  const postgres = await watchPostgres(database)
  const own = target.watch && { target: await target.watch() }
  const isHere = !host && (await isThisMachine(target.url))
  await there?.begin()
  // Measurements over time begin here: a longer window for one part would dilute its share.
  const probes = Object.entries({
    api,
    postgres,
    generator: watchGenerator(generator),
    kernel: isHere ? watchKernel({ url: target.url, ours: target.pid !== null }) : (there?.kernel ?? null),
    ...(!isHere && { here: watchKernel({ url: target.url, ours: false }) }),
    ...own,
  })
  for (const [, probe] of probes) probe?.begin?.()
  const timers = probes.map(([name, probe]) => every(SAMPLE_MS[/** @type {keyof Probes} */ (name)], probe))
  const stop = () => timers.forEach((timer) => void timer.stop())
  return {
    stop,

    /** Call at the last response; again if another one comes after all. @returns {(traffic: Load) => Promise<Probes>} */
    end() {
      stop()
      there?.again()
      const ended = probes.map(([name, probe]) => ({ name, findings: probe?.end() }))
      return async (/** @type {any} */ traffic) => {
        await Promise.all(timers.map(({ idle }) => idle()))
        const found = ended.map(async ({ name, findings }) => [name, rounded((await findings?.(traffic)) ?? {})])
        return Object.fromEntries(await Promise.all(found))
      }
    },
  }
}

/**
 * Watches the CPU time of any kind of service. The returned function gives the seconds used since then, or null if unknown.
 * @param {Pick<Watched, 'pid' | 'processes'>} target
 */
export function watchCpu_s(target) {
  const use = busiestOf(target) ?? watchProcess(target.pid)
  return () => {
    const found = use()
    return found && (found.threads_cpu_s ?? found.cpu_s)
  }
}

/**
 * Watches the busiest process family of a service that is not ours, except Postgres, which has its own probe. Undefined if the
 * service is a single process that we know.
 * @param {Pick<Watched, 'processes'>} target
 */
function busiestOf({ processes }) {
  if (!processes) return undefined
  const uses = processes
    .filter(({ name }) => name !== 'postgres')
    .map(({ pid, name }) => ({ name, use: watchFamily(pid) }))
  return () => {
    const known = uses.flatMap(({ name, use }) => {
      const found = use()
      return found ? { name, ...found } : []
    })
    return known.toSorted((a, b) => Number(b.main_core_ratio) - Number(a.main_core_ratio))[0] ?? null
  }
}

/** Watches the process and the kernel on another host, whose agent measures from begin() to the end by its own clock. @param {Host} host */
export function watchHost(host) {
  /** @type {Promise<{ process: ProcessUse | null, kernel: any }> | undefined} */
  let ended
  // Callers await a part only after reading the metrics page, or never; until then a rejection must not count as unhandled.
  const end = (/** @type {'process' | 'kernel'} */ part) => {
    ended ??= host.ask('end')
    const found = ended.then((all) => all[part])
    found.catch(() => {})
    return found
  }
  return {
    begin: () => host.ask('watch'),
    /** Another end of the load: its figures replace the earlier ones. */
    again: () => {
      ended = undefined
    },
    use: () => end('process'),

    /** @type {Probe} */
    kernel: {
      end() {
        const found = end('kernel')
        return () => found
      },
    },
  }
}

/** Wait events and queues last only milliseconds, hence 10 samples a second. Each metrics page costs the service 1 ms. */
export const SAMPLE_MS = { api: 250, postgres: 100, kernel: 250, here: 250, generator: 1000, target: 1000 }

/** Multiples of this ratio, modulo 1, spread evenly over any range without a rhythm. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2

/**
 * The pause before sample n: 0.5 to 1.5 intervals. Samples at equal intervals could always hit the same moment between two requests of
 * a load with evenly spaced arrivals. @param {number} interval_ms @param {number} n
 */
export function pauseBefore(interval_ms, n) {
  return interval_ms * (0.5 + ((n * GOLDEN_RATIO) % 1))
}

/** Samples at a mean interval, never two samples at once. @param {number} interval_ms @param {Probe | null} probe */
export function every(interval_ms, probe) {
  /** @type {Promise<void> | null} */
  let sampling = null
  let n = 0
  /** @type {NodeJS.Timeout} */
  let timer
  const sample = () => {
    wait()
    // A failed sample does not end the trial; the next one may succeed.
    sampling ??= Promise.resolve(probe?.sample?.())
      .catch(() => {})
      .finally(() => {
        sampling = null
      })
  }
  const wait = () => {
    timer = setTimeout(sample, pauseBefore(interval_ms, ++n))
  }
  wait()
  return { stop: () => clearTimeout(timer), idle: async () => sampling }
}

/** Drops unknown values and rounds to four decimal places; more would be noise. @param {any} value @returns {any} */
function rounded(value) {
  if (typeof value === 'number') return Number(value.toFixed(4))
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(rounded)
  const known = Object.entries(value).filter(([, part]) => part !== null && part !== undefined)
  return Object.fromEntries(known.map(([name, part]) => [name, rounded(part)]))
}
