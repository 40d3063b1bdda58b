import { keptUrl } from '../command/credentials.js'
import { openLocal } from './local.js'
import { openSsh } from './ssh.js'

/**
 * @import { startGenerator } from '../generators/drive.js'
 * @import { Probe } from '../probes/index.js'
 * @import { Host } from '../system/ssh/host.js'
 * @import { Beside } from '../report/record.js'
 */

/**
 * The service under test.
 *
 * @typedef {object} Target
 * @property {'local' | 'url' | 'ssh'} kind
 * @property {boolean} countsRows whether its rows are in the run's database
 * @property {string} url of the loaded endpoint
 * @property {string} [shownUrl] url without secrets
 * @property {string | null} adminUrl origin of /metrics, /healthz and /readyz
 * @property {string | null} metricsUrl page in Prometheus' text format
 * @property {number | null} pid
 * @property {string | null} cores it may run on, as the kernel lists them
 * @property {number | null} [softNofile]
 * @property {string[]} [words] its command line
 * @property {Host} [host] on which it runs, if not this one
 * @property {Record<string, string | number | null>} settings read back from the running process
 * @property {Promise<never>} died rejects when it ends by itself
 * @property {() => Promise<void>} stop
 * @property {(generator: { pid: number }, at: any, trial: number, signal: AbortSignal) => Promise<Calm>} [disturb] begins a
 *   disturbance for one trial; at: the trial's place in the design; trial: its number
 * @property {boolean} [writesBeside] the disturbance stores rows too, so that the trial's own cannot be counted
 * @property {typeof startGenerator} [startLoad] starts the load, if it is not one of the lab's generators
 * @property {() => Promise<Probe>} [watch] starts a probe of its own after the warm-up
 *
 * @typedef {() => Promise<Beside | void>} Calm ends a disturbance, and returns what it did
 */

export { NODE_FLAGS, openLocal } from './local.js'

/**
 * Starts the API on the given host, by default this one.
 *
 * @param {Place} place
 *
 * @typedef {Parameters<typeof openLocal>[0] & { host?: Host }} Place
 */
export function openApi(place) {
  return place.host ? openSsh(place) : openLocal(place)
}

/**
 * A service that already runs: the lab does not start, set, empty or count anything of it.
 *
 * @param {string} url @param {{ metricsUrl?: string | null, shownUrl?: string }} [options] shownUrl: without secrets
 * @returns {Target}
 */
export function openUrl(url, { metricsUrl = null, shownUrl = keptUrl(url) } = {}) {
  const nothing = { adminUrl: null, pid: null, cores: null, settings: {}, stop: async () => {} }
  return { ...nothing, kind: 'url', countsRows: false, url, shownUrl, metricsUrl, died: new Promise(() => {}) }
}
