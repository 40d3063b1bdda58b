import { startGenerator } from '../../load/drive.js'
import { DRIVERS } from '../../load/drivers/index.js'

/**
 * @typedef {object} Options
 * @property {number | null} [rate_rps]
 * @property {number} [connections]
 * @property {number} [duration_s]
 * @property {number} [timeout_s]
 * @property {string} [method]
 * @property {AbortSignal} [signal]
 * @property {number} [warmup_s] 0: none
 * @property {() => void} [warmedUp] the warm-up is over
 * @property {import('../../load/mix.js').Entry[]} [entries]
 * @property {boolean} [fresh_connections]
 * @property {Partial<Pick<import('../../load/drivers/index.js').Load, 'load_hosts' | 'ssh_config' | 'local_addresses'>>} [origin] where it comes from
 */

/**
 * Puts load on a URL through the generator's process, as a trial does.
 *
 * @param {string} driver
 * @param {string} url
 * @param {Options} [options]
 * @returns {Promise<any>} traffic
 */
export async function loadOnce(driver, url, options = {}) {
  const generator = await startGenerator(loadOf(driver, url, options), signalOf(options), () => {})
  return inPhases(generator, options, (duration_s) => generator.run(duration_s))
}

/**
 * The same by a driver in this process, where its rate does not matter.
 *
 * @param {string} driver
 * @param {string} url
 * @param {Options} [options]
 * @returns {Promise<any>} traffic
 */
export async function loadHere(driver, url, options = {}) {
  const signal = signalOf(options)
  const session = await DRIVERS[driver].open(loadOf(driver, url, options), signal)
  const enough = new AbortController().signal
  const run = (/** @type {number} */ duration_s) => {
    return session.run({ duration_s, signal, onCounts: () => {}, onEnd: () => {}, enough })
  }
  return inPhases(session, options, run)
}

/**
 * @param {{ close: () => Promise<void> }} session
 * @param {Options} options
 * @param {(duration_s: number) => Promise<any>} run
 */
async function inPhases(session, { duration_s = 1, warmup_s = 0, warmedUp = () => {} }, run) {
  try {
    if (warmup_s > 0) await run(warmup_s)
    warmedUp()
    return await run(duration_s)
  } finally {
    await session.close()
  }
}

/** @param {Options} options */
function signalOf({ signal }) {
  return signal ?? new AbortController().signal
}

/** @param {string} driver @param {string} url @param {Options} options @returns {import('../../load/drivers/index.js').Load} */
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
