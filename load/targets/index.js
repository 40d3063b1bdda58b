import { openLocal } from './local.js'
import { openSsh } from './ssh.js'

/**
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
 * @property {string | null} cores it may run on, read back from the kernel
 * @property {number | null} [softNofile] its soft limit of open files, read back from the kernel
 * @property {string[]} [words] its command line, read back from the kernel
 * @property {Host} [host] where it runs, if not here
 * @property {Record<string, string | number | null>} settings read back from the running process
 * @property {Promise<never>} died rejects when it ends without being told to
 * @property {() => Promise<void>} stop
 * @property {(generator: { pid: number }, at: any, trial: number, signal: AbortSignal) => Promise<Calm>} [disturb] begins a
 *   disturbance that lasts for one trial; at: the trial's place in the design; trial: its number
 * @property {boolean} [writesBeside] the disturbance stores rows, too: how many are a trial's own cannot be told
 * @property {() => Promise<Probe>} [watch] a probe of its own, begun when the warm-up is over
 *
 * @typedef {() => Promise<Beside | void>} Calm ends a disturbance, and tells what it did
 */

export { NODE_FLAGS, openLocal } from './local.js'
export { openUrl } from './url.js'

/**
 * The API, where it is to run.
 *
 * @param {Place} place
 *
 * @typedef {Parameters<typeof openLocal>[0] & { host?: Host }} Place host: the one on which it runs; by default this one
 */
export function openApi(place) {
  return place.host ? openSsh(place) : openLocal(place)
}
