import { keptDatabaseUrl } from '../../command/credentials.js'
import { UsageError } from '../../command/errors.js'
import { wholeNumber } from '../../command/flags.js'

/** @import { Flag } from '../../command/flags.js' */

/** Port of the API on the host; fixed, so that a security group can open it. */
const PORT = 3000

/** A leading dash would make it an option of ssh. @param {string} text */
export function isSshHost(text) {
  return /^[^-\s][^\s]*$/.test(text)
}

/** Flags for the API's host. @satisfies {Record<string, Flag>} */
export const SSH_FLAGS = {
  ssh: {
    value: 'USER@HOST',
    about: 'run the API there, by the system’s ssh, and load it from here; requires --database-url',
    parse: (/** @type {string} */ text) => (isSshHost(text) ? text : undefined),
    expected: 'what ssh takes: user@host, a Host of its configuration, or ssh://user@host:port',
  },
  'ssh-config': { value: 'FILE', about: 'a configuration for ssh other than the user’s own (ssh -F)' },
  'ssh-port': {
    value: 'N',
    about: `port of the API there (default ${PORT}), open to this machine`,
    ...wholeNumber(1, 65_535),
  },
  'ssh-address': {
    value: 'ADDRESS',
    about: 'the host as the load reaches it (default: as ssh does)',
    parse: (/** @type {string} */ text) => (/^[\w.:-]+$/.test(text) ? text : undefined),
    expected: 'an address or a name',
  },
}

/** Flag for verbs that store rows. @satisfies {Record<string, Flag>} */
export const DATABASE_FLAG = {
  'database-url': {
    value: 'URL',
    about:
      'a Postgres of yours, in a schema of the lab’s own; "embedded": one is started (default, unless DATABASE_URL is set)',
    parse: (/** @type {string} */ text) => (/^(embedded$|postgres(ql)?:\/\/)/.test(text) ? text : undefined),
    expected: 'embedded, or a URL such as postgres://user:password@host/db',
    shown: (/** @type {string} */ text) => (text === 'embedded' ? text : keptDatabaseUrl(text)),
  },
}

/**
 * @param {Record<string, any>} flags parsed by SSH_FLAGS
 * @returns {SshPlan | null} null: the API runs here
 * @throws {UsageError} where flags do not go together
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
