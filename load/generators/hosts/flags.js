import net from 'node:net'
import { UsageError } from '../../command/errors.js'
import { isSshHost, SSH_FLAGS } from '../../system/ssh/plan.js'
import { DRIVERS } from '../drivers/index.js'

/**
 * @import { Flag } from '../../command/flags.js'
 * @import { AskedOrigin } from '../../report/record.js'
 */

/** Flags for the origin of the load. @satisfies {Record<string, Flag>} */
export const HOSTS_FLAGS = {
  'load-hosts': {
    value: 'U@A,U@B',
    about: 'send the load from these hosts over ssh: vegeta on each (open loop), or workers of locust (closed loop)',
    parse: listOf(isSshHost),
    expected: 'hosts as ssh takes them, each once, such as user@a,user@b',
  },
  'ssh-config': SSH_FLAGS['ssh-config'],
  'local-addresses': {
    value: 'A,B',
    about: 'source addresses of this machine, used in turn, in case ports are the limit (paced, vegeta)',
    parse: listOf((address) => net.isIP(address) > 0),
    expected: 'IP addresses, each once, such as 10.0.0.5,10.0.0.6',
  },
}

/**
 * @param {Record<string, any>} flags parsed by HOSTS_FLAGS
 * @param {{ drivers: string[], connections: number, urls: (string | null)[] }} load connections: smallest number of any trial;
 *   urls: URLs of the targets; null: the local API
 * @param {{ byHosts?: string[], target?: string }} [verb] byHosts: its drivers that several hosts can share; target: the flag for a URL
 * @returns {AskedOrigin} empty for this machine @throws {UsageError} if flags conflict
 */
export function originOf(flags, load, { byHosts = ['vegeta', 'locust'], target = '--url or --ssh' } = {}) {
  const { 'load-hosts': load_hosts, 'ssh-config': ssh_config = null, 'local-addresses': local_addresses } = flags
  if (ssh_config !== null && !load_hosts && !flags.ssh) throw new UsageError('--ssh-config: requires --load-hosts')
  if (!load_hosts && !local_addresses) return {}
  if (load_hosts && local_addresses) throw new UsageError('--local-addresses: cannot be combined with --load-hosts')
  const flag = load_hosts ? '--load-hosts' : '--local-addresses'
  const known = load_hosts ? byHosts : ['paced', 'vegeta']
  const other = load.drivers.find((name) => !known.includes(name))
  if (other) {
    const names = known.map((name) => `${name} (${DRIVERS[name].loop} loop)`).join(' or ')
    throw new UsageError(`${flag}: expected --driver ${names}, got ${other}`)
  }
  const places = (load_hosts ?? local_addresses).length
  if (load.connections < places) {
    throw new UsageError(`${flag}: expected a connection for each of the ${places}, got ${load.connections}`)
  }
  if (local_addresses) return { local_addresses }
  if (!load.urls.includes(null)) return { load_hosts, ssh_config }
  throw new UsageError(`--load-hosts: requires ${target}: the local API listens on loopback alone`)
}

/** Creates a parser for a list of distinct values. @param {(part: string) => boolean} isFine */
function listOf(isFine) {
  return (/** @type {string} */ text) => {
    const parts = text.split(',')
    return parts.every((part, i) => isFine(part) && parts.indexOf(part) === i) ? parts : undefined
  }
}
