import { startGenerator } from '../../load/drive.js'

/**
 * Puts load on a URL through the generator's process, as a trial does.
 *
 * @param {string} driver
 * @param {string} url
 * @param {{ rate_rps?: number | null, connections?: number, duration_s?: number, timeout_s?: number, method?: string, signal?: AbortSignal }} [options]
 * @returns {Promise<any>} traffic
 */
export async function loadOnce(driver, url, options = {}) {
  const { rate_rps = 100, connections = 8, duration_s = 1, timeout_s = 5, method = 'POST' } = options
  const headers = /** @type {[string, string][]} */ ([['Content-Type', 'application/json']])
  const mix = { name: 'create-user', method, headers, body_base64: method === 'POST' ? null : '', seed: 1 }
  const load = {
    driver,
    url,
    mix,
    trial: 1,
    rate_rps: driver === 'autocannon' ? null : rate_rps,
    connections,
    timeout_s,
  }
  const generator = await startGenerator(load, options.signal ?? new AbortController().signal, () => {})
  try {
    return await generator.run(duration_s)
  } finally {
    await generator.close()
  }
}
