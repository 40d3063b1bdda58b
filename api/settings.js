import { isIP } from 'node:net'

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
  POOL_MAX: integer('connections', 20, 1, 10_000, 'Maximum number of database connections'),
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
  POOL_MAX_LIFETIME_MS: integer(
    'milliseconds',
    1_800_000,
    0,
    86_400_000,
    'A database connection is replaced after this, once its statements have ended; 0 never',
  ),
  STATEMENT_TIMEOUT_MS: integer('milliseconds', 10_000, 1, 600_000, 'Maximum time for one statement'),
  INSERT_MODE: choice(
    ['single', 'prepared', 'pipelined', 'batched'],
    'batched',
    'A statement per row (unnamed, prepared, or prepared and sent without waiting), or one that requests share',
  ),
  PIPELINE_CONNECTIONS: integer('connections', 4, 1, 1000, 'pipelined: connections that all requests share'),
  BATCH_SLOTS: integer('statements', 4, 1, 1000, 'batched: maximum number of statements in flight'),
  BATCH_MAX_ROWS: integer('rows', 500, 1, 10_000, 'batched: maximum number of rows in one statement'),
  IDEMPOTENCY_KEY_TTL_MS: integer(
    'milliseconds',
    86_400_000,
    1000,
    2_592_000_000,
    'An Idempotency-Key is remembered for at least this long',
  ),
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
  SHUTDOWN_TIMEOUT_MS: integer(
    'milliseconds',
    10_000,
    1,
    600_000,
    'After SIGTERM, requests still in flight by then are dropped, and the API exits 1',
  ),
  MAX_QUEUE_MS: integer(
    'milliseconds',
    1000,
    0,
    600_000,
    'A request that would wait longer for its turn is answered 503 at once; 0 lets all wait',
  ),
  MAX_QUEUE_REQUESTS: integer(
    'requests',
    10_000,
    1,
    1_000_000,
    'A request is answered 503 at once when so many wait already',
  ),
  MAX_LOOP_DELAY_MS: integer(
    'milliseconds',
    500,
    0,
    600_000,
    'A request is answered 503 at once while the event loop is this late; 0 never',
  ),
  MAX_CONNECTIONS: integer(
    'connections',
    10_000,
    1,
    1_000_000,
    'Maximum number of client connections, lower where the limit of open files is; beyond it they are closed and counted',
  ),
  LISTEN_BACKLOG: integer('connections', 511, 1, 65_535, 'Accept queue; the kernel caps it at net.core.somaxconn'),
  BODY_LIMIT_BYTES: integer('bytes', 16_384, 1, 104_857_600, 'Largest request body'),
  LOG_LEVEL: choice(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
    'debug writes a line per request',
  ),
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
