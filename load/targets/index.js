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
 * The service under test, all kinds of one shape.
 *
 * @typedef {object} Target
 * @property {'local' | 'url' | 'ssh'} kind
 * @property {boolean} countsRows whether what it stores is in the run's database
 * @property {string} url of the endpoint that is loaded
 * @property {string} [shownUrl] the same as it may be written down, where it may hold secrets
 * @property {string | null} adminUrl origin of /metrics, /healthz and /readyz
 * @property {string | null} metricsUrl page in Prometheus' text format
 * @property {number | null} pid
 * @property {string | null} cores it may run on; this, its soft limit of open files and its command line as the kernel has them
 * @property {number | null} [softNofile]
 * @property {string[]} [words]
 * @property {Host} [host] where it runs, if not here
 * @property {Record<string, string | number | null>} settings read back from the running process
 * @property {Promise<never>} died rejects when it ends without being told to
 * @property {() => Promise<void>} stop
 * @property {(generator: { pid: number }, at: any, trial: number, signal: AbortSignal) => Promise<Calm>} [disturb] begins a
 *   disturbance that lasts for one trial; at: the trial's place in the design; trial: its number
 * @property {boolean} [writesBeside] the disturbance stores rows, too: how many are a trial's own cannot be told
 * @property {typeof startGenerator} [startLoad] starts what loads it, where that is not one of the lab's generators
 * @property {() => Promise<Probe>} [watch] a probe of its own, begun when the warm-up is over
 *
 * @typedef {() => Promise<Beside | void>} Calm ends a disturbance, and tells what it did
 */

export { NODE_FLAGS, openLocal } from './local.js'

/**
 * Opens the API on the host of the place, by default this one.
 *
 * @param {Place} place
 *
 * @typedef {Parameters<typeof openLocal>[0] & { host?: Host }} Place
 */
export function openApi(place) {
  return place.host ? openSsh(place) : openLocal(place)
}

/**
 * A service that already runs. Nothing of it is started, set, emptied or counted.
 *
 * @param {string} url
 * @param {{ metricsUrl?: string | null, shownUrl?: string }} [options] shownUrl: as it may be written down
 * @returns {Target}
 */
export function openUrl(url, { metricsUrl = null, shownUrl = keptUrl(url) } = {}) {
  const nothing = { adminUrl: null, pid: null, cores: null, settings: {}, stop: async () => {} }
  return { ...nothing, kind: 'url', countsRows: false, url, shownUrl, metricsUrl, died: new Promise(() => {}) }
}
