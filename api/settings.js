/**
 * All settings, in the order of .env.example. This file is data only and imports nothing, since the lab reads it too. Units
 * are part of a setting's name, not of its value.
 * @typedef {object} Setting one environment variable
 * @property {string | number | undefined} default
 * @property {string} expected describes a valid value, with range and unit: completes "expected …"
 * @property {string} about one line for .env.example
 * @property {number} [min] minimum of an integer
 * @property {number} [max]
 * @property {readonly string[]} [levels] allowed values of a choice
 * @property {'url' | 'host'} [form] format of any other text
 */
export const SETTINGS = {
  DATABASE_URL: {
    default: /** @type {string | undefined} */ (undefined),
    form: /** @type {const} */ ('url'),
    expected: 'a URL such as postgres://user:password@host:5432/database',
    about:
      'Postgres. Without it, the variables of pg (PGHOST, PGUSER, …) apply. Over a network: ?sslmode=verify-full&sslrootcert=FILE',
  },
  HOST: host('127.0.0.1', 'Address that the API listens on; 0.0.0.0 for all'),
  PORT: whole('port number', 3000, [0, 65_535], 'Port of the API; 0 takes a free one'),
  ADMIN_HOST: host('127.0.0.1', 'Address for /metrics, /healthz and /readyz'),
  ADMIN_PORT: whole('port number', 3001, [0, 65_535], 'Port of /metrics, /healthz and /readyz; 0 takes a free one'),
  POOL_MAX: whole('connections', 20, [1, 10_000], 'Maximum size of the pool of database connections'),
  POOL_CONNECT_TIMEOUT_MS: ms(
    2000,
    [1, 600_000],
    'Longest wait for a database connection, queue included; up to half as long again if a login fails meanwhile',
  ),
  POOL_IDLE_TIMEOUT_MS: ms(
    30_000,
    [0, 86_400_000],
    'An idle database connection is closed after this (not in pipelined); 0: never',
  ),
  POOL_MAX_LIFETIME_MS: ms(1_800_000, [0, 86_400_000], 'A database connection older than this is replaced; 0: never'),
  STATEMENT_TIMEOUT_MS: ms(10_000, [1, 600_000], 'Maximum time for one statement'),
  INSERT_MODE: choice(
    ['single', 'prepared', 'pipelined', 'batched'],
    'batched',
    'batched: waiting requests share a statement; the others send one for each row: single (not prepared), prepared, pipelined (prepared, and sent without waiting for the one before)',
  ),
  PIPELINE_CONNECTIONS: whole('connections', 10, [1, 1000], 'pipelined: connections that all requests share'),
  BATCH_SLOTS: whole(
    'statements',
    4,
    [1, 1000],
    'batched: limit on statements in flight at low load (one row each); at higher load, the API chooses it',
  ),
  BATCH_MAX_ROWS: whole('rows', 500, [1, 10_000], 'batched: maximum number of rows in one statement'),
  IDEMPOTENCY_KEY_TTL_MS: ms(86_400_000, [1000, 2_592_000_000], 'Minimum time that an Idempotency-Key is remembered'),
  PASSWORD_STORAGE: choice(['plain', 'scrypt'], 'plain', 'scrypt for real passwords; plain only for benchmarks'),
  KEEP_ALIVE_TIMEOUT_MS: ms(65_000, [1, 3_600_000], 'An idle client connection is closed after this'),
  REQUEST_TIMEOUT_MS: ms(10_000, [100, 600_000], 'Maximum time for a request (head and body) to arrive'),
  SHUTDOWN_TIMEOUT_MS: ms(10_000, [1, 600_000], 'Requests still in flight this long after SIGTERM are dropped; exit 1'),
  MAX_QUEUE_MS: ms(
    1000,
    [0, 600_000],
    'A request that would wait longer gets a 503 at once, unless the core is saturated; 0: no limit',
  ),
  MAX_QUEUE_REQUESTS: whole('requests', 10_000, [1, 1_000_000], 'A request gets a 503 at once while this many wait'),
  MAX_LOOP_DELAY_MS: ms(
    500,
    [0, 600_000],
    'A request gets a 503 at once while the event loop is this late, unless the core is saturated; 0: no limit',
  ),
  MAX_CONNECTIONS: whole(
    'connections',
    10_000,
    [1, 1_000_000],
    'Maximum number of client connections (fewer if the limit on open files is lower); any beyond it are closed and counted',
  ),
  LISTEN_BACKLOG: whole(
    'connections',
    511,
    [1, 65_535],
    'Length of the accept queue; the kernel caps it at net.core.somaxconn',
  ),
  BODY_LIMIT_BYTES: whole('bytes', 16_384, [1, 104_857_600], 'Largest request body'),
  LOG_LEVEL: choice(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    'info',
    'debug writes a line per request',
  ),
}

/** @param {string} unit @param {number} byDefault @param {[number, number]} range @param {string} about */
function whole(unit, byDefault, [min, max], about) {
  return { default: byDefault, min, max, expected: `a whole number from ${min} to ${max} (${unit})`, about }
}

/** @param {number} byDefault @param {[number, number]} range @param {string} about */
function ms(byDefault, range, about) {
  return whole('milliseconds', byDefault, range, about)
}

/** @template {string} Level @param {Level[]} levels @param {NoInfer<Level>} byDefault @param {string} about */
function choice(levels, byDefault, about) {
  return { default: byDefault, levels, expected: `one of ${levels.join(', ')}`, about }
}

/** @param {string} byDefault @param {string} about */
function host(byDefault, about) {
  return { default: byDefault, form: /** @type {const} */ ('host'), expected: 'an IP address or host name', about }
}
