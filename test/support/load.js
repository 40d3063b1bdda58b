import { startGenerator } from '../../load/generators/drive.js'
import { DRIVERS } from '../../load/generators/drivers/index.js'

/**
 * @import { Generator } from '../../load/generators/drive.js'
 * @import { Load } from '../../load/generators/drivers/index.js'
 * @import { Entry } from '../../load/report/record.js'
 */

/**
 * @typedef {object} Options
 * @property {number | null} [rate_rps]
 * @property {number} [connections]
 * @property {number} [duration_s]
 * @property {number} [timeout_s]
 * @property {string} [method]
 * @property {AbortSignal} [signal]
 * @property {number} [warmup_s] 0: none
 * @property {() => void} [begins] a phase that is measured begins
 * @property {() => boolean} [isEnough] after a phase: whether all came that the test needs. A closed loop on a busy machine may not
 *   come far; then another phase follows, and the last one counts
 * @property {Entry[]} [entries]
 * @property {boolean} [fresh_connections]
 * @property {Partial<Pick<Load, 'load_hosts' | 'ssh_config' | 'local_addresses' | 'on_demand' | 'per_worker_rps'>>} [origin] where it
 *   comes from, and how
 */

/**
 * Puts load on a URL through the generator's process, as a trial does.
 * @param {string} driver
 * @param {string} url
 * @param {Options} [options]
 * @returns {Promise<any>} traffic
 */
export async function loadOnce(driver, url, options = {}) {
  const generator = await startGenerator(loadOf(driver, url, options), signalOf(options), () => {})
  return inPhases(generator, options)
}

/**
 * The same by a driver in this process, where its rate does not matter.
 * @param {string} driver
 * @param {string} url
 * @param {Options} [options]
 * @returns {Promise<any>} traffic
 */
export async function loadHere(driver, url, options = {}) {
  const generator = await startHere(loadOf(driver, url, options), signalOf(options), () => {})
  return inPhases(generator, options)
}

/**
 * A generator without a process of its own.
 * @param {Load} load
 * @param {AbortSignal} signal
 * @param {(counts: any) => void} onCounts
 * @returns {Promise<Generator>}
 */
export async function startHere(load, signal, onCounts) {
  const session = await DRIVERS[load.driver].open(load, signal)
  let enough = new AbortController()
  return {
    pid: process.pid,
    ready: async (duration_s) => session.ready?.({ duration_s, signal }),
    run: (duration_s, onEnd = () => {}) => {
      enough = new AbortController()
      return session.run({ duration_s, signal, onCounts, onEnd, enough: enough.signal })
    },
    enough: () => enough.abort(),
    close: () => session.close(),
  }
}

const MOST_PHASES = 100

/** @param {Generator} generator @param {Options} options */
async function inPhases(generator, { duration_s = 1, warmup_s = 0, begins = () => {}, isEnough = () => true }) {
  try {
    if (warmup_s > 0) await generator.run(warmup_s)
    for (let phase = 1; ; phase++) {
      begins()
      const traffic = await generator.run(duration_s)
      if (isEnough()) return traffic
      if (phase === MOST_PHASES) throw new Error(`expected enough within ${phase} phases of ${duration_s} s`)
    }
  } finally {
    await generator.close()
  }
}

/** @param {Options} options */
function signalOf({ signal }) {
  return signal ?? new AbortController().signal
}

/** @param {string} driver @param {string} url @param {Options} options @returns {Load} */
function loadOf(driver, url, options) {
  const { rate_rps = 100, connections = 8, timeout_s = 5, method = 'POST' } = options
  const { entries, fresh_connections, origin } = options
  const headers = /** @type {[string, string][]} */ ([['Content-Type', 'application/json']])
  const mix = { name: 'create-user', method, headers, body_base64: method === 'POST' ? null : '', seed: 1, entries }
  return {
    driver,
    url,
    mix,
    trial: 1,
    rate_rps: DRIVERS[driver].loop === 'closed' ? null : rate_rps,
    connections,
    timeout_s,
    fresh_connections,
    ...origin,
  }
}
