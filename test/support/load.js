import { startGenerator } from '../../load/drive.js'
import { DRIVERS } from '../../load/drivers/index.js'

/**
 * Puts load on a URL through the generator's process, as a trial does.
 *
 * @param {string} driver
 * @param {string} url
 * @param {{ rate_rps?: number | null, connections?: number, duration_s?: number, timeout_s?: number, method?: string, signal?: AbortSignal, warmup_s?: number, entries?: import('../../load/mix.js').Entry[], fresh_connections?: boolean, origin?: Partial<Pick<import('../../load/drivers/index.js').Load, 'load_hosts' | 'ssh_config' | 'local_addresses'>> }} [options] origin: where it comes from
 * @returns {Promise<any>} traffic
 */
export async function loadOnce(driver, url, options = {}) {
  const { rate_rps = 100, connections = 8, duration_s = 1, timeout_s = 5, method = 'POST' } = options
  const { warmup_s = 0, entries, fresh_connections, origin } = options
  const headers = /** @type {[string, string][]} */ ([['Content-Type', 'application/json']])
  const mix = { name: 'create-user', method, headers, body_base64: method === 'POST' ? null : '', seed: 1, entries }
  const load = {
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
  const generator = await startGenerator(load, options.signal ?? new AbortController().signal, () => {})
  try {
    if (warmup_s > 0) await generator.run(warmup_s)
    return await generator.run(duration_s)
  } finally {
    await generator.close()
  }
}
