import { keptDatabaseUrl } from '../../command/credentials.js'
import { UsageError } from '../../command/errors.js'
import { wholeNumber } from '../../command/flags.js'

/** @import { Flag } from '../../command/flags.js' */

/** Port of the API on the host; fixed, so that a security group can open it. */
const PORT = 3000

/** Whether ssh would take a text as a host: a leading dash would make it an option. @param {string} text */
export function isSshHost(text) {
  return /^[^-\s][^\s]*$/.test(text)
}

/** Flags for the API's host. @satisfies {Record<string, Flag>} */
export const SSH_FLAGS = {
  ssh: {
    value: 'USER@HOST',
    about: 'run the API on that host and load it from here; requires --database-url',
    parse: (/** @type {string} */ text) => (isSshHost(text) ? text : undefined),
    expected: 'what ssh takes: user@host, a Host of its configuration, or ssh://user@host:port',
  },
  'ssh-config': { value: 'FILE', about: 'configuration file for ssh (ssh -F)' },
  'ssh-port': {
    value: 'N',
    about: `port of the API on that host (default ${PORT}), reachable from here`,
    ...wholeNumber(1, 65_535),
  },
  'ssh-address': {
    value: 'ADDRESS',
    about: 'address for the load (default: the one ssh uses)',
    parse: (/** @type {string} */ text) => (/^[\w.:-]+$/.test(text) ? text : undefined),
    expected: 'an address or a name',
  },
}

/** Flag for verbs that store rows. @satisfies {Record<string, Flag>} */
export const DATABASE_FLAG = {
  'database-url': {
    value: 'URL',
    about:
      'your Postgres, in which Redline uses a schema of its own; "embedded" starts one (default, unless DATABASE_URL is set)',
    parse: (/** @type {string} */ text) => (/^(embedded$|postgres(ql)?:\/\/)/.test(text) ? text : undefined),
    expected: 'embedded, or a URL such as postgres://user:password@host/db',
    shown: (/** @type {string} */ text) => (text === 'embedded' ? text : keptDatabaseUrl(text)),
  },
}

/**
 * @param {Record<string, any>} flags parsed by SSH_FLAGS
 * @returns {SshPlan | null} null: the API runs here
 * @throws {UsageError} if flags contradict each other
 * @typedef {{ host: string, config: string | null, port: number, address: string | null }} SshPlan
 */
export function sshPlanOf(flags) {
  const { ssh: host, 'ssh-config': config = null, 'ssh-port': port = PORT, 'ssh-address': address = null } = flags
  if (host && flags.url) throw new UsageError('--ssh: cannot be combined with --url, since the API is started there')
  if (host) return { host, config, port, address }
  refuseLone(flags, '--ssh user@host')
  return null
}

/** Refuses flags about a host if no flag names the host. @param {Record<string, any>} flags @param {string} required names it @throws {UsageError} */
export function refuseLone(flags, required) {
  const others = ['ssh-port', 'ssh-address', ...(flags['load-hosts'] ? [] : ['ssh-config'])]
  const lone = others.find((name) => flags[name] !== undefined)
  if (lone) throw new UsageError(`--${lone}: requires ${required}`)
}

/** The option that chooses the address for the load: several hosts have no common one. @param {string} flag that named the host */
export function addressOption(flag) {
  return flag === '--ssh' ? '--ssh-address' : "HostName in ssh's configuration (--ssh-config)"
}

/**
 * The hosts on which a plan runs the API, each once, with the flag that names it first.
 * @param {Elsewhere} plan @returns {{ flag: string, ssh: SshPlan }[]} empty: the API runs here, or a service runs already
 * @typedef {{ ssh?: SshPlan | null, sides?: Record<string, { url: string | null, ssh?: SshPlan }> }} Elsewhere the part of a plan that
 *   says where the API runs; ssh: its only host, or that of a side
 */
export function apiHostsOf({ ssh, sides = {} }) {
  const ofSides = Object.entries(sides).flatMap(([side, { ssh }]) => (ssh ? [{ flag: `--ssh-${side}`, ssh }] : []))
  const all = [...(ssh ? [{ flag: '--ssh', ssh }] : []), ...ofSides]
  return all.filter((one, i) => all.findIndex((other) => other.ssh.host === one.ssh.host) === i)
}

/** Whether a run starts the API, or a service, on this machine. @param {Elsewhere & { url?: string | null, start?: string }} plan */
export function startsHere({ url, start, ssh, sides = {} }) {
  const all = Object.values(sides)
  if (all.some((side) => side.ssh)) return all.some((side) => side.url === null && !side.ssh)
  return !ssh && (!url || Boolean(start))
}
