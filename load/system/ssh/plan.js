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
  const others = ['ssh-port', 'ssh-address', ...(flags['load-hosts'] ? [] : ['ssh-config'])]
  const lone = others.find((name) => flags[name] !== undefined)
  if (lone) throw new UsageError(`--${lone}: requires --ssh user@host`)
  return null
}
