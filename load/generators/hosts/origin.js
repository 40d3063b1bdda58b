import { checkAddresses } from './flags.js'
import { prepareHosts } from './prepare.js'

/**
 * @import { UsageError } from '../../command/errors.js'
 * @import { Progress } from '../../run/progress.js'
 * @import { Plan } from '../../run/run.js'
 * @import { Load } from '../drivers/index.js'
 * @import { LoadHost } from './prepare.js'
 */

/**
 * Makes ready what the load of a run comes from.
 *
 * @param {Plan} plan
 * @param {{ signal: AbortSignal, progress: Progress }} io
 * @returns {Promise<OpenOrigin>}
 * @throws {UsageError} where it cannot come from there
 */
export async function openOrigin(plan, { signal, progress }) {
  const { driver, load_hosts: hosts, ssh_config: config = null, local_addresses } = plan
  if (local_addresses) await checkAddresses(local_addresses)
  const load_hosts = hosts && (await prepareHosts({ driver, hosts, config, signal, note: progress.note }))
  return {
    hosts: load_hosts ?? [],
    // The closed loop before a search is a first guess, and sent from here.
    of: (/** @type {string} */ name) => {
      if (name !== driver) return {}
      return { ...(load_hosts && { load_hosts, ssh_config: config }), ...(local_addresses && { local_addresses }) }
    },
  }
}

/**
 * @typedef {object} OpenOrigin
 * @property {LoadHost[]} hosts none: this machine
 * @property {(driver: string) => Partial<Pick<Load, 'load_hosts' | 'ssh_config' | 'local_addresses'>>} of what is said of it in a load
 */
