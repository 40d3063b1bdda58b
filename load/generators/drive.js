import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { setPriority, startChild } from '../system/processes.js'
import { DRIVERS } from './drivers/index.js'

/**
 * @import { Load } from './drivers/index.js'
 * @import { Traffic } from '../report/record.js'
 */

const GENERATOR = fileURLToPath(new URL('generator.js', import.meta.url))
/** autocannon sometimes sets a timer that is already overdue, about which newer versions of Node warn on the user's terminal. */
const QUIET = '--disable-warning=TimeoutNegativeWarning'
const STOP_GRACE_MS = 500
/** Extra time for a generator short of CPU to open its connections or to summarize millions of latencies. */
const GRACE_S = 10
/** Nice value of the generator, in case it shares a core with Postgres: a late generator measures itself. */
const PRIORITY = -10

/**
 * Starts the generator process for one trial. Every command has a deadline: the duration of the load, plus twice the
 * timeout, plus a grace period. A generator that misses it is killed with its children.
 * @param {Load} load @param {AbortSignal} signal stops the generator within a second @param {(counts: any) => void} onCounts
 * @param {{ nofile?: number | null, grace_s?: number, cores?: string | null }} [limits] of the process; grace_s defaults to the
 *   driver's, cores to our own
 * @typedef {Awaited<ReturnType<typeof startGenerator>>} Generator
 */
export async function startGenerator(load, signal, onCounts, { nofile, grace_s: given_s, cores = null } = {}) {
  signal.throwIfAborted()
  const stdio = /** @type {any} */ (['ignore', 'ignore', 'inherit', 'ipc'])
  const { child, exited, kill, stop } = startChild([process.execPath, QUIET, GENERATOR], { cores, nofile, stdio })
  // Drivers loaded from a URL are themselves under test and get no advantage.
  if (!load.drivers_url) setPriority(Number(child.pid), PRIORITY)
  const abort = () => stop(STOP_GRACE_MS)
  signal.addEventListener('abort', abort)
  const lost = exited.then(({ code, signal: by }) => {
    signal.throwIfAborted()
    throw new Error(`the generator's process ended (${by ?? `code ${code}`})`)
  })
  lost.catch(() => {})

  const ofDriver_s = GRACE_S + (DRIVERS[load.driver]?.grace_s ?? 0)
  const beyond_s = 2 * load.timeout_s + (given_s ?? ofDriver_s)
  let extend = (/** @type {number} */ _limit_s) => {}

  /** @param {string} command @param {number} first_s @param {object} [details] @param {() => void} [onEnd] @returns {Promise<any>} */
  async function ask(command, first_s, details, onEnd = () => {}) {
    /** @type {NodeJS.Timeout | undefined} */
    let timer
    const answered = new Promise((resolve, reject) => {
      extend = (limit_s) => {
        clearTimeout(timer)
        timer = setTimeout(() => {
          kill()
          const what = `the generator (${load.driver}) to end "${command}" within ${limit_s} s`
          reject(new Error(`expected ${what}; killed it: was it stopped, or starved of CPU?`))
        }, limit_s * 1000)
      }
      child.on('message', (/** @type {any} */ reply) => {
        if (reply.counts) onCounts(reply.counts)
        else if (reply.ended) onEnd()
        else if ('failed' in reply) reject(signal.aborted ? signal.reason : failureOf(reply))
        else resolve(reply.result)
      })
      child.send({ command, ...details }, (error) => error && reject(error))
    })
    extend(first_s)
    try {
      return await Promise.race([answered, lost])
    } finally {
      extend = () => {}
      clearTimeout(timer)
      child.removeAllListeners('message')
    }
  }

  const generator = {
    pid: /** @type {number} */ (child.pid),
    /** Prepares the next phase. @param {number} duration_s @returns {Promise<void>} */
    ready: (duration_s) => ask('ready', duration_s + beyond_s, { duration_s }),
    /** Runs one phase. @param {number} duration_s @param {() => void} [onEnd] called at the end of the load, possibly more than once (Phase.onEnd) @returns {Promise<Traffic>} */
    run: (duration_s, onEnd) => ask('run', duration_s + beyond_s, { duration_s }, onEnd),
    /** Stops the current phase early if the driver can (Phase.enough). */
    enough: () => {
      extend(beyond_s)
      if (child.connected) child.send({ command: 'enough' }, () => {})
    },
    close: async () => {
      signal.removeEventListener('abort', abort)
      // The generator then closes its session and exits.
      if (child.connected) child.disconnect()
      await Promise.race([exited, sleep(STOP_GRACE_MS, undefined, { ref: false })])
      await stop(STOP_GRACE_MS)
    },
  }
  try {
    await ask('open', 2 * load.timeout_s + ofDriver_s, { load })
    return generator
  } catch (error) {
    await generator.close()
    throw error
  }
}

/** The error of a driver, with the stack of its own process. @param {{ failed: string, stack?: string }} reply */
function failureOf({ failed, stack }) {
  return Object.assign(new Error(failed), stack && { stack })
}
