import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parse as parseDotenv } from 'dotenv'

/**
 * @typedef {object} Setting one environment variable
 * @property {string | number | undefined} default
 * @property {string} expected what a value has to look like, with unit and range: completes "expected …"
 * @property {string} about one line for .env.example
 * @property {(text: string) => any} parse gives undefined for a value that is not as expected
 */

/**
 * Everything that can be set, in the order of .env.example. Units stand last in every name; a value carries none.
 *
 * @satisfies {Record<string, Setting>}
 */
export const SETTINGS = {
  DATABASE_URL: text('a URL such as postgres://user:password@host:5432/database', undefined, {
    about:
      'Postgres. Without it, the variables of pg (PGHOST, PGUSER, …) count. Over a network: ?sslmode=verify-full&sslrootcert=FILE',
    accepts: isDatabaseUrl,
  }),
  HOST: text('an IP address or host name', '127.0.0.1', { about: 'Address that the API binds; 0.0.0.0 for all' }),
  PORT: integer('port number', 3000, 0, 65535, 'Port of the API; 0 takes a free one'),
  ADMIN_HOST: text('an IP address or host name', '127.0.0.1', {
    about: 'Address that /metrics, /healthz and /readyz bind',
  }),
  ADMIN_PORT: integer('port number', 3001, 0, 65535, 'Port of /metrics, /healthz and /readyz; 0 takes a free one'),
  POOL_MAX: integer('connections', 20, 1, 10_000, 'Database connections at the most'),
  POOL_CONNECT_TIMEOUT_MS: integer(
    'milliseconds',
    2000,
    1,
    600_000,
    'Longest wait for a database connection, queue included',
  ),
  POOL_IDLE_TIMEOUT_MS: integer(
    'milliseconds',
    30_000,
    0,
    86_400_000,
    'An idle database connection is closed after this; 0 never',
  ),
  STATEMENT_TIMEOUT_MS: integer('milliseconds', 10_000, 1, 600_000, 'Longest time for one statement'),
  INSERT_MODE: choice(
    ['single', 'prepared', 'pipelined', 'batched'],
    'batched',
    'A statement per row (unnamed, prepared, or prepared and sent without waiting), or one that requests share',
  ),
  PIPELINE_CONNECTIONS: integer('connections', 4, 1, 1000, 'pipelined: connections that all requests share'),
  BATCH_SLOTS: integer('statements', 4, 1, 1000, 'batched: statements on their way at once'),
  BATCH_MAX_ROWS: integer('rows', 500, 1, 10_000, 'batched: rows in one statement at the most'),
  PASSWORD_STORAGE: choice(
    ['plain', 'scrypt'],
    'plain',
    "plain is the benchmark's workload, not for real passwords; scrypt hashes",
  ),
  KEEP_ALIVE_TIMEOUT_MS: integer(
    'milliseconds',
    65_000,
    1,
    3_600_000,
    'An idle client connection is closed after this',
  ),
  REQUEST_TIMEOUT_MS: integer(
    'milliseconds',
    10_000,
    100,
    600_000,
    'Longest time for a request, head and body, to arrive',
  ),
  SHUTDOWN_TIMEOUT_MS: integer('milliseconds', 10_000, 1, 600_000, 'After SIGTERM, what is unfinished by then is cut'),
  LISTEN_BACKLOG: integer('connections', 511, 1, 65_535, 'Accept queue; the kernel caps it at net.core.somaxconn'),
  BODY_LIMIT_BYTES: integer('bytes', 16_384, 1, 104_857_600, 'Largest request body'),
  LOG_LEVEL: choice(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
    'debug writes a line per request',
  ),
}

/** What DATABASE_URL may carry behind its question mark. */
const URL_PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'host', 'options', 'application_name']

/** What pg itself reads from the environment, and `.env` may therefore hold. */
const PG_VARIABLES = ['PGHOST', 'PGPORT', 'PGUSER', 'PGPASSWORD', 'PGDATABASE', 'PGSSLMODE', 'PGOPTIONS', 'PGAPPNAME']

/** A setting that is not as it has to be. The message is one line: what was expected and what came. */
export class ConfigError extends Error {}

/**
 * Reads the configuration: the environment first, then `.env` in the working directory, then the defaults.
 *
 * @param {Record<string, string | undefined>} [env]
 * @param {string} [dotenvFile]
 * @returns {Readonly<Config>}
 * @throws {ConfigError} on the first value that is not as expected, or a name in `.env` that is no setting
 */
export function readConfig(env = process.env, dotenvFile = '.env') {
  const merged = { ...readDotenv(dotenvFile), ...env }
  const values = Object.entries(SETTINGS).map(([name, setting]) => [
    camelCase(name),
    settingValue(name, setting, merged[name]),
  ])
  refuseUnverifiedTls(merged)
  return Object.freeze(Object.fromEntries(values))
}

/**
 * What works and is nevertheless not right, in words for the log.
 *
 * @param {Config} config
 * @param {Record<string, string | undefined>} [env]
 * @returns {string[]}
 */
export function warningsOf({ passwordStorage, databaseUrl }, env = process.env) {
  const warnings = []
  if (passwordStorage === 'plain') {
    warnings.push("PASSWORD_STORAGE=plain stores passwords as they come: the benchmark's workload, not for real users")
  }
  const { hostname, searchParams } = databaseUrl
    ? new URL(databaseUrl)
    : { hostname: env.PGHOST ?? '', searchParams: null }
  const isHere = /^$|^\/|^%2f|^localhost$|^127(\.\d+){3}$|^\[?::1\]?$/i.test(
    searchParams?.get('host') || hostname || env.PGHOST || '',
  )
  if (!isHere && (searchParams?.get('sslmode') ?? env.PGSSLMODE) !== 'verify-full') {
    warnings.push('the way to the database is not encrypted: set sslmode=verify-full and sslrootcert in DATABASE_URL')
  }
  return warnings
}

/**
 * @typedef {object} Config
 * @property {string} [databaseUrl]
 * @property {string} host
 * @property {number} port
 * @property {string} adminHost
 * @property {number} adminPort
 * @property {number} poolMax
 * @property {number} poolConnectTimeoutMs
 * @property {number} poolIdleTimeoutMs
 * @property {number} statementTimeoutMs
 * @property {'single' | 'prepared' | 'pipelined' | 'batched'} insertMode
 * @property {number} pipelineConnections
 * @property {number} batchSlots
 * @property {number} batchMaxRows
 * @property {'plain' | 'scrypt'} passwordStorage
 * @property {number} keepAliveTimeoutMs
 * @property {number} requestTimeoutMs
 * @property {number} shutdownTimeoutMs
 * @property {number} listenBacklog
 * @property {number} bodyLimitBytes
 * @property {string} logLevel
 */

/** @param {string} file */
function readDotenv(file) {
  if (!existsSync(file)) return {}
  const values = parseDotenv(readFileSync(file))
  for (const name of Object.keys(values)) {
    if (Object.hasOwn(SETTINGS, name) || PG_VARIABLES.includes(name)) continue
    throw new ConfigError(`${file}: expected only known settings (see .env.example), got ${JSON.stringify(name)}`)
  }
  // pg reads its own variables from the environment, so those of the file have to be there.
  for (const [name, value] of Object.entries(values)) if (name.startsWith('PG')) process.env[name] ??= value
  return values
}

/**
 * @param {string} name
 * @param {Setting} setting
 * @param {string | undefined} raw
 */
function settingValue(name, setting, raw) {
  // An empty value is how .env files and shells say "not set".
  if (raw === undefined || raw === '') return setting.default
  const value = setting.parse(raw)
  if (value !== undefined) return value
  const shown = name === 'DATABASE_URL' ? 'something else' : JSON.stringify(raw)
  throw new ConfigError(`${name}: expected ${setting.expected}, got ${shown}`)
}

/**
 * pg takes modes that encrypt without checking who answers. Those are refused, whichever way they are asked for; so is
 * everything in the URL whose meaning for pg is not known here, and what stands there twice (pg takes the last).
 *
 * @param {Record<string, string | undefined>} env
 */
function refuseUnverifiedTls(env) {
  const query = env.DATABASE_URL ? new URL(env.DATABASE_URL).searchParams : new URLSearchParams()
  for (const name of query.keys()) {
    if (URL_PARAMETERS.includes(name) && query.getAll(name).length === 1) continue
    throw new ConfigError(`DATABASE_URL: expected each of ${URL_PARAMETERS.join(', ')} at most once, got ${name}`)
  }
  for (const [name, mode] of Object.entries({
    PGSSLMODE: env.PGSSLMODE || undefined,
    'sslmode in DATABASE_URL': query.get('sslmode'),
  })) {
    if (mode === undefined || mode === null || mode === 'disable' || mode === 'verify-full') continue
    throw new ConfigError(
      `${name}: expected verify-full (with a CA file in sslrootcert) or disable, got ${JSON.stringify(mode)}`,
    )
  }
  const caFile = query.get('sslrootcert')
  if (caFile !== null && !existsSync(caFile)) {
    throw new ConfigError(
      `sslrootcert in DATABASE_URL: expected a file with CA certificates, got ${JSON.stringify(caFile)}`,
    )
  }
  if (caFile !== null && query.get('sslmode') !== 'verify-full') {
    throw new ConfigError('DATABASE_URL: expected sslmode=verify-full with sslrootcert, got none')
  }
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    throw new ConfigError('NODE_TLS_REJECT_UNAUTHORIZED: expected it unset (give a CA file instead), got "0"')
  }
}

/**
 * @param {string} unit
 * @param {number} byDefault
 * @param {number} min
 * @param {number} max
 * @param {string} about
 * @returns {Setting}
 */
function integer(unit, byDefault, min, max, about) {
  return {
    default: byDefault,
    expected: `a whole number from ${min} to ${max} (${unit})`,
    about,
    parse: (raw) => {
      const value = /^\d{1,15}$/.test(raw) ? Number(raw) : Number.NaN
      return value >= min && value <= max ? value : undefined
    },
  }
}

/**
 * @param {string[]} values
 * @param {string} byDefault
 * @param {string} about
 * @returns {Setting}
 */
function choice(values, byDefault, about) {
  return {
    default: byDefault,
    expected: `one of ${values.join(', ')}`,
    about,
    parse: (raw) => (values.includes(raw) ? raw : undefined),
  }
}

/**
 * @param {string} expected
 * @param {string | undefined} byDefault
 * @param {{ about: string, accepts?: (raw: string) => boolean }} options
 * @returns {Setting}
 */
function text(expected, byDefault, { about, accepts = isHost }) {
  return { default: byDefault, expected, about, parse: (raw) => (accepts(raw) ? raw : undefined) }
}

/** @param {string} raw */
function isHost(raw) {
  return isIP(raw) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(raw)
}

/** @param {string} raw */
function isDatabaseUrl(raw) {
  return URL.canParse(raw) && /^postgres(ql)?:$/.test(new URL(raw).protocol)
}

/** POOL_MAX -> poolMax. @param {string} name */
function camelCase(name) {
  return name.toLowerCase().replace(/_(.)/g, (_, letter) => letter.toUpperCase())
}
