import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import pg from 'pg'
import { startEmbedded } from './embedded.js'

/** Linux' magic number of tmpfs (statfs(2)): nothing on it survives, so a commit to it costs nothing. */
const TMPFS = 0x01021994

/** Any number will do, as long as every Redline asks for the same one. */
const LOCK = 7_335_463

const CONNECT_TIMEOUT_MS = 5000

/** Longest wait for a table that somebody else has locked. */
const LOCK_TIMEOUT_MS = 10_000

const SCHEMA = statementsOf('schema.sql')
const RESET = statementsOf('reset.sql')
const MARK = "SELECT obj_description(to_regclass('users'), 'pg_class') AS mark"
const HAS_ROWS = 'SELECT EXISTS (SELECT FROM users) AS has_rows'

/** The database cannot be used as it is. The message says what was expected and what to do. */
export class DatabaseError extends Error {}

/**
 * Opens the database that the lab measures with: the one given, else an embedded Postgres that lives as long as it is
 * open. Applies the schema. One lab at a time: a second one would empty the table under the first.
 *
 * @param {string} [url] as pg takes it; without it, Postgres is started
 * @param {NodeJS.ProcessEnv} [env] what pg reads beside it
 * @returns {Promise<Database>}
 * @throws {DatabaseError} not reachable, in use by another lab, or its table `users` holds rows that are not ours
 */
export async function openDatabase(url, env = process.env) {
  if (url) refuseUnverifiedTls(url, env)
  const embedded = url ? undefined : await startEmbedded()
  try {
    return await openAt(url ?? /** @type {any} */ (embedded).url, embedded)
  } catch (error) {
    await embedded?.stop()
    throw error
  }
}

/**
 * @typedef {object} Database
 * @property {string} url for the service that is measured
 * @property {'embedded' | 'given'} kind
 * @property {string} version of the server, such as 18.4
 * @property {string[]} warnings what makes its commits less than durable, and what the schema warns of
 * @property {() => Promise<void>} reset empties the table
 * @property {() => Promise<number>} countRows
 * @property {(text: string) => Promise<any[]>} query for a look at the server
 * @property {() => Promise<void>} close and stop what was started
 */

/**
 * @param {string} url
 * @param {import('./embedded.js').Embedded} [embedded]
 * @returns {Promise<Database>}
 */
async function openAt(url, embedded) {
  const client = await connect(url)
  try {
    await takeLock(client)
    await refuseForeignRows(client)
    /** @type {string[]} */
    const notices = []
    client.on('notice', ({ severity, message }) => severity === 'WARNING' && notices.push(String(message)))
    await client.query(SCHEMA)
    const { server_version: version } = await show(client, 'server_version')
    return {
      url,
      kind: embedded ? 'embedded' : 'given',
      version: version.split(' ')[0],
      warnings: [...notices, ...(await durabilityWarnings(client, embedded))],
      reset: async () => {
        await client.query(RESET)
      },
      countRows: async () => {
        const { rows } = await client.query('SELECT count(*)::int8 AS rows FROM users')
        return Number(rows[0].rows)
      },
      query: async (text) => (await client.query(text)).rows,
      close: async () => {
        await client.end()
        await embedded?.stop()
      },
    }
  } catch (error) {
    await client.end()
    throw error
  }
}

/** @param {string} url */
async function connect(url) {
  const timeouts = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS, lock_timeout: LOCK_TIMEOUT_MS }
  const client = new pg.Client({ connectionString: url, application_name: 'redline-lab', ...timeouts })
  // A lost connection makes the next query fail, which is where somebody waits for it.
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    const { message, code } = /** @type {Error & { code?: string }} */ (error)
    throw new DatabaseError(`DATABASE_URL: expected a Postgres that answers, got: ${message || code}`)
  }
}

/** @param {pg.Client} client */
async function takeLock(client) {
  const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS taken', [LOCK])
  if (rows[0].taken) return
  throw new DatabaseError('DATABASE_URL: expected a database for this run alone, but another Redline run uses it now')
}

/**
 * The lab empties `users` before every trial. A table that does not bear our mark is somebody's, unless it is empty and
 * nobody has said a word about it.
 *
 * @param {pg.Client} client
 */
async function refuseForeignRows(client) {
  const { rows } = await client.query(`SELECT to_regclass('users') IS NOT NULL AS exists, mark FROM (${MARK}) AS m`)
  const [{ exists, mark }] = rows
  if (!exists || mark?.startsWith('redline:')) return
  const { rows: found } = await client.query(HAS_ROWS)
  if (!found[0].has_rows && mark === null) return
  throw new DatabaseError(
    'DATABASE_URL: its table "users" is in use and does not bear Redline\'s mark; a run would empty it. ' +
      "Use another database, or mark it: COMMENT ON TABLE users IS 'redline: emptied before every trial'",
  )
}

/**
 * @param {pg.Client} client
 * @param {import('./embedded.js').Embedded} [embedded]
 */
async function durabilityWarnings(client, embedded) {
  const settings = await show(client, 'fsync', 'synchronous_commit', 'full_page_writes')
  const off = Object.entries(settings).filter(([, value]) => value === 'off')
  const warnings = off.map(([name]) => `Postgres has ${name} = off: a 201 may be lost in a crash`)
  if (embedded && (await statfs(embedded.folder)).type === TMPFS) {
    warnings.push(`the data folder ${embedded.folder} is in memory: commits cost less than on a disk (set TMPDIR)`)
  }
  return warnings
}

/**
 * @param {pg.Client} client
 * @param {string[]} names
 * @returns {Promise<Record<string, string>>}
 */
async function show(client, ...names) {
  const columns = names.map((name) => `current_setting('${name}') AS ${name}`).join(', ')
  return (await client.query(`SELECT ${columns}`)).rows[0]
}

/**
 * The same rule that the API has (api/config.js), which this folder may not import: pg takes modes that encrypt without
 * checking who answers, from URL and environment, and of a parameter that stands twice the last.
 *
 * @param {string} url
 * @param {NodeJS.ProcessEnv} env
 */
function refuseUnverifiedTls(url, env) {
  if (!URL.canParse(url))
    throw new DatabaseError('DATABASE_URL: expected a URL such as postgres://user:password@host/db')
  const query = new URL(url).searchParams
  if (query.has('ssl') || query.has('uselibpqcompat') || query.getAll('sslmode').length > 1) {
    throw new DatabaseError('DATABASE_URL: expected no TLS parameter but one sslmode, and sslrootcert')
  }
  for (const [name, mode] of Object.entries({
    DATABASE_URL: query.get('sslmode'),
    PGSSLMODE: env.PGSSLMODE || undefined,
  })) {
    if (mode === undefined || mode === null || mode === 'disable' || mode === 'verify-full') continue
    throw new DatabaseError(`${name}: expected sslmode verify-full (with sslrootcert=FILE) or disable, got "${mode}"`)
  }
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    throw new DatabaseError('NODE_TLS_REJECT_UNAUTHORIZED: expected it unset (give a CA file instead), got "0"')
  }
}

/** @param {string} file */
function statementsOf(file) {
  return readFileSync(new URL(file, import.meta.url), 'utf8')
}
