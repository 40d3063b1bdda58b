import pg from 'pg'
import { explicitAddress, LAB_SCHEMA } from './address.js'
import { explained } from './advice.js'
import { claimTables, SCHEMA, TABLES } from './claim.js'
import { undelayCommits } from './commit-delay.js'
import { connect, DatabaseError, destroy, end, ofLost, roundTrip_ms, settled } from './connection.js'
import { durabilityOf, durabilityWarnings } from './durability.js'
import { startEmbedded } from './embedded.js'

export { DatabaseError }

/** Number of the advisory lock that every Redline takes. */
const LOCK = 7_335_463

const DELAYED = 'a run that was killed had left commit_delay and commit_siblings set: they have been reset'

/** Long enough for a digest of 10 million rows. */
const RELEASE_TIMEOUT_MS = 10_000

/**
 * Opens the lab's database: the given one, by default in a schema of the lab's own, else an embedded Postgres. Creates the tables,
 * or empties those that the last run left. Admits one lab at a time, since a second would empty the first one's table.
 * @param {string} [given] URL; without it, Postgres is started
 * @param {{ run?: string, own?: string[] | null, pg?: NodeJS.ProcessEnv }} [options] run: run_id, for the mark on the tables; own:
 *   LIKE patterns of the emails that the run's load sends, null: unknown; pg: PG* variables that fill in what the URL leaves out
 * @throws {DatabaseError} if it cannot be reached, another lab uses it, or its tables are not the lab's to empty
 */
export async function openDatabase(given, { run = 'without a name', own = null, pg = {} } = {}) {
  const { client, url, ownSchema, embedded, close } = await reach(given, pg)
  let pending = 0
  /** @template {any[]} A @template R @param {(...args: A) => Promise<R>} work @returns {(...args: A) => Promise<R>} */
  const counted =
    (work) =>
    (...args) => {
      pending++
      return work(...args)
        .catch((error) => Promise.reject(ofLost(error, client, embedded?.endedBy())))
        .finally(() => pending--)
    }
  try {
    const place = embedded ? 'embedded' : ownSchema ? 'own' : 'named'
    await takeLock(client)
    const wasDelayed = await undelayCommits(rowsOf(client))
    if (place === 'own') await makeSchema(client)
    const { schema, reset, countRows, release } = await claimTables(client, { run, own, place })
    const durability = await durabilityOf(client, TABLES, embedded?.folder ?? null)
    return {
      /** Complete: for everything that connects. */
      url,
      kind: /** @type {'embedded' | 'given'} */ (embedded ? 'embedded' : 'given'),
      version: await versionOf(client),
      schema,
      durability,
      /** Of this machine. */
      round_trip_ms: Number((await roundTrip_ms(client)).toFixed(2)),
      warnings: [...durabilityWarnings(durability), ...(wasDelayed ? [DELAYED] : [])],
      query: counted(rowsOf(client)),
      reset: counted(reset),
      countRows: counted(countRows),
      upkeep_s: (/** @type {Upkeep} */ kind, /** @type {AbortSignal} */ signal) => timeUpkeep_s(url, kind, signal),
      close: async () => {
        // Without it, the mark says that the run was killed, and the next run checks every row. Behind a pending statement, it
        // would have to wait.
        if (!embedded && pending === 0) await settled(RELEASE_TIMEOUT_MS, release())
        await close()
      },
    }
  } catch (error) {
    await close()
    throw explained(error, url, 'lab')
  }
}

/** sees_others: what sessions of other roles do. */
const LOOK = `SELECT current_setting('server_version') AS version,
  current_setting('is_superuser') = 'on' OR pg_has_role('pg_read_all_stats', 'USAGE') AS sees_others`

/**
 * Opens a database read-only; without a URL, an embedded one. reopen: connects anew, after the connection was lost.
 * @param {string} [given] @param {{ pg?: NodeJS.ProcessEnv }} [options]
 * @throws {DatabaseError}
 */
export async function lookAtDatabase(given, { pg = {} } = {}) {
  const { client, url, close } = await reach(given, pg)
  let current = client
  const readOnly = () => current.query('SET default_transaction_read_only = on')
  try {
    await readOnly()
    const query = (/** @type {string} */ text) => rowsOf(current)(text)
    const [{ version, sees_others }] = await query(LOOK)
    const reopen = async () => {
      const lost = current
      current = await connect(url)
      destroy(lost)
      await readOnly()
    }
    const closeAll = () => (current === client ? close() : end(current).finally(close))
    return { query, url, reopen, close: closeAll, version, sees_others, round_trip_ms: null }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * @typedef {Awaited<ReturnType<typeof openDatabase>>} Database
 * @typedef {Awaited<ReturnType<typeof lookAtDatabase>>} Look
 */

/** Maintenance that Postgres also runs by itself. @typedef {keyof typeof UPKEEP} Upkeep */
const UPKEEP = { checkpoint: 'CHECKPOINT', vacuum: 'VACUUM (ANALYZE) users' }

/** Runs a CHECKPOINT or a VACUUM, which may take minutes, and returns how long it took. @param {string} url @param {Upkeep} kind @param {AbortSignal} signal cuts it off */
export async function timeUpkeep_s(url, kind, signal) {
  const client = await connect(url, { isBounded: false })
  const cut = () => destroy(client)
  signal.addEventListener('abort', cut)
  try {
    signal.throwIfAborted()
    const start_ms = performance.now()
    await client.query(UPKEEP[kind])
    return (performance.now() - start_ms) / 1000
  } finally {
    signal.removeEventListener('abort', cut)
    await end(client)
  }
}

/** @param {pg.Client} client @returns {(text: string) => Promise<any[]>} */
const rowsOf = (client) => async (text) => (await client.query(text)).rows

/** Connects to the database given, else to an embedded one. @param {string | undefined} given @param {NodeJS.ProcessEnv} pg */
async function reach(given, pg) {
  const embedded = given ? null : await startEmbedded()
  try {
    const { url, ownSchema } = embedded ? { url: embedded.url, ownSchema: false } : explicitAddress(String(given), pg)
    const client = await connect(url)
    const close = () => end(client).finally(() => embedded?.stop())
    return { client, url, ownSchema, embedded, close }
  } catch (error) {
    await embedded?.stop()
    throw error
  }
}

/**
 * Applies the schema for an API that is started by hand. Empties nothing and marks nothing.
 * @param {string} url @param {NodeJS.ProcessEnv} [env]
 * @throws {DatabaseError} if it cannot be reached, its TLS would not verify the server, or it refuses the schema
 */
export async function applySchema(url, env = process.env) {
  // pg itself reads the variables that the API will read: this is only for its checks, and to name the role.
  const explicit = explicitAddress(url, env).url
  const client = await connect(url)
  try {
    const warnings = /** @type {string[]} */ ([])
    client.on('notice', ({ severity, message }) => severity === 'WARNING' && warnings.push(String(message)))
    await client.query(SCHEMA)
    return { version: await versionOf(client), warnings }
  } catch (error) {
    throw explained(error, explicit, 'schema')
  } finally {
    await client.end()
  }
}

/** @param {pg.Client} client */
async function takeLock(client) {
  const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS taken', [LOCK])
  if (rows[0].taken) return
  throw new DatabaseError('DATABASE_URL: expected a database for this run alone, but another Redline run uses it now')
}

/** Without IF NOT EXISTS, which needs the right to create the schema even if it exists. @param {pg.Client} client */
async function makeSchema(client) {
  const look = "SELECT to_regnamespace($1) IS NULL AS is_missing, current_setting('search_path') AS path"
  const [{ is_missing, path }] = (await client.query(look, [LAB_SCHEMA])).rows
  if (is_missing && path === LAB_SCHEMA) await client.query(`CREATE SCHEMA ${LAB_SCHEMA}`)
  const [{ schema }] = (await client.query('SELECT current_schema() AS schema')).rows
  if (schema === LAB_SCHEMA) return
  throw new DatabaseError(
    `DATABASE_URL: expected the search_path to lead to ${LAB_SCHEMA}, got ${schema}: something between the lab and Postgres ` +
      "drops the URL's options (PgBouncer's ignore_startup_parameters): connect to Postgres directly",
  )
}

/** The version of Postgres, such as 18.4. @param {pg.Client} client @returns {Promise<string>} */
async function versionOf(client) {
  const { rows } = await client.query("SELECT split_part(current_setting('server_version'), ' ', 1) AS version")
  return rows[0].version
}
