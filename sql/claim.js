import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { LAB_SCHEMA } from './address.js'
import { attempt } from './attempt.js'
import { DatabaseError, destroy, STATEMENT_TIMEOUT_MS } from './connection.js'
import { refuseOtherSessions, refuseStrangers, sessionsUsing, untilApisEnded } from './sessions.js'

/** Every table that reset.sql empties. */
export const TABLES = ['users', 'redline_idempotency_keys']

/** SQLSTATEs (Postgres manual, appendix A): lock_not_available and query_canceled. */
const LOCKED = '55P03'
const CANCELLED = '57014'

const MARK = 'redline: made by run '

export const SCHEMA = readFileSync(new URL('schema.sql', import.meta.url), 'utf8')
const RESET = readFileSync(new URL('reset.sql', import.meta.url), 'utf8')

/** The indexes that a run of `INDEXES` leaves if it is killed: the next run would measure them. */
const LEFT_INDEXES = `SELECT indexrelid::regclass::text AS name FROM pg_index JOIN pg_class ON oid = indexrelid
  WHERE indrelid = 'users'::regclass AND relname ~ '^redline_index_[0-9]+$'`

const FIND = `
  SELECT name, c.oid::int8::text AS oid, n.nspname AS schema, quote_ident(n.nspname) || '.' || quote_ident(relname) AS full_name,
    CASE WHEN relkind = 'r' THEN obj_description(c.oid, 'pg_class') END AS comment,
    coalesce(c.xmin::text::int8 = txid_current_if_assigned() % 4294967296, false) AS is_ours
  FROM unnest($1::text[]) AS name
  JOIN pg_class AS c ON c.oid = to_regclass(name) JOIN pg_namespace AS n ON n.oid = relnamespace`

/**
 * Creates the lab's tables, or takes over those that the last run left, and empties them: in one transaction under an exclusive
 * lock, so that no row arrives between the checks and the TRUNCATE. The mark is committed with it.
 * @param {pg.Client} client whose search path leads to the tables
 * @param {Owner} owner
 * @throws {DatabaseError} if the tables are not the lab's, hold rows that its last run did not leave, or are in use
 * @typedef {Pick<Mark, 'run' | 'own'> & { place: 'own' | 'named' | 'embedded' }} Owner place: the lab's own schema, one that
 *   the user named and others may use, or any of the embedded server
 */
export async function claimTables(client, { run, own, place }) {
  const existing = await find(client)
  refuseUnmarked(existing, place)
  if (place === 'named' && existing.length > 0) await refuseOtherSessions(client, existing)
  await locked(client, 'ACCESS EXCLUSIVE', existing, async () => {
    const tables = await find(client)
    refuseUnmarked(tables, place)
    refuseUnlocked(tables, existing)
    for (const table of tables) await refuseUnlikeMark(client, table)
    await client.query(SCHEMA)
    // CREATE TABLE IF NOT EXISTS does not report whether this transaction created the table.
    refuseUnlocked(await find(client), existing)
    for (const { name } of (await client.query(LEFT_INDEXES)).rows) await client.query(`DROP INDEX ${name}`)
    await client.query(RESET)
    for (const name of TABLES) await writeMark(client, name, { run, own, left: null })
  })
  const claimed = await find(client)
  // Other clients of the database may use tables of the same names in other schemas.
  const names = place === 'own' ? [LAB_SCHEMA] : TABLES
  const refuseOthers = async () => {
    if (own === null && place !== 'embedded') await refuseStrangers(client, claimed, names)
  }

  return {
    schema: claimed[0].schema,

    /** Empties the tables. @throws {DatabaseError} if they hold rows of somebody else */
    reset: async () => {
      await refuseOthers()
      await locked(client, 'ACCESS EXCLUSIVE', claimed, async () => {
        // Nobody else knows the embedded server's password.
        if (place !== 'embedded') await refuseChanges(client, claimed)
        await client.query(RESET)
      })
    },

    /** Number of users. @returns {Promise<number>} */
    countRows: async () => {
      try {
        return (await client.query('SELECT count(*)::float8 AS rows FROM users')).rows[0].rows
      } catch (error) {
        throw await explained(client, claimed, error)
      }
    },

    /** Marks the tables with what the run leaves in them. */
    release: async () => {
      await untilApisEnded(client)
      await refuseOthers()
      await locked(client, 'SHARE', claimed, async () => {
        await refuseChanges(client, claimed)
        for (const { name } of claimed) {
          await writeMark(client, name, { run, own, left: await leftIn(client, name, own) })
        }
      })
    },
  }
}

/** @typedef {Record<'name' | 'oid' | 'schema' | 'full_name', string> & { comment: string | null, is_ours: boolean }} Table is_ours: this transaction made it */

/** The tables that exist. @param {pg.Client} client @returns {Promise<Table[]>} */
const find = async (client) => (await client.query(FIND, [TABLES])).rows

/** Refuses tables that this transaction has neither locked nor made. @param {Table[]} tables @param {Table[]} locked */
function refuseUnlocked(tables, locked) {
  if (tables.every(({ oid, is_ours }) => is_ours || locked.some((table) => table.oid === oid))) return
  throw new DatabaseError('somebody else made a table while the lab looked at the database: expected none, try again')
}

/** @param {pg.Client} client @param {'SHARE' | 'ACCESS EXCLUSIVE'} mode @param {Table[]} tables @param {() => Promise<void>} work */
async function locked(client, mode, tables, work) {
  try {
    // Row-level security must raise an error instead of hiding rows; the digest needs one format of times.
    await client.query("BEGIN; SET LOCAL row_security = off; SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO'")
    for (const { full_name } of tables) await client.query(`LOCK TABLE ${full_name} IN ${mode} MODE`)
    await work()
    await client.query('COMMIT')
  } catch (error) {
    if (isUnanswered(error)) destroy(client)
    await client.query('ROLLBACK').catch(() => {})
    throw await explained(client, tables, error)
  }
}

/** The error to throw. @param {pg.Client} client @param {Table[]} tables @param {any} error @returns {Promise<any>} */
async function explained(client, tables, error) {
  if (isUnanswered(error) || error.code === CANCELLED) {
    const time = `${STATEMENT_TIMEOUT_MS / 1000} s`
    return new DatabaseError(`expected Postgres to carry out a statement within ${time}, got: ${error.message}`)
  }
  if (error.code !== LOCKED) return error
  const sessions = (await sessionsUsing(client, tables)) || 'another session'
  return new DatabaseError(`${tables[0]?.full_name ?? 'the schema'} is in use by ${sessions}: stop it, then try again`)
}

/** Recognises pg's query_timeout, which has no code. @param {any} error */
const isUnanswered = ({ message }) => message === 'Query read timeout'

/** @param {Table[]} tables @param {Owner['place']} place */
function refuseUnmarked(tables, place) {
  for (const { full_name, comment } of tables) {
    if (readMark(comment)) continue
    const todo =
      place === 'named'
        ? `Leave search_path out of the URL's options (or PGOPTIONS): the lab then works in a schema of its own, ${LAB_SCHEMA}`
        : `Keep what you need of it, then drop ${full_name}, or name another schema: ?options=-c search_path=NAME`
    throw new DatabaseError(`${full_name} was not made by the lab, which empties only tables that it made. ${todo}`)
  }
}

/** Refuses a table that differs from its mark, which says what the last run left, unless that run was killed. @param {pg.Client} client @param {Table} table */
async function refuseUnlikeMark(client, { name, full_name, comment }) {
  const { run, own, left } = /** @type {Mark} */ (readMark(comment))
  const remove = `Keep what you need of it, then DROP TABLE ${full_name}: the next run recreates it`
  const found = left && (await leftIn(client, name, own))
  if (!isDeepStrictEqual(found, left)) {
    const [holds, was] = [found, left].map((rows) => JSON.stringify(rows))
    throw new DatabaseError(`${full_name} holds ${holds}, but run ${run} left ${was}: others have used it. ${remove}`)
  }
  if (own || !left) await refuseForeignRows(client, { name, full_name }, { run, own }, remove)
}

/** Refuses replaced tables, another mark, and rows of somebody else. @param {pg.Client} client @param {Table[]} claimed */
async function refuseChanges(client, claimed) {
  if (!isDeepStrictEqual(await find(client), claimed)) {
    throw new DatabaseError(`${claimed[0].full_name} was changed during the run, which stops and leaves it as it is`)
  }
  for (const table of claimed) {
    const mark = /** @type {Mark} */ (readMark(table.comment))
    const todo = 'The run stops and keeps them: stop whoever else writes to it'
    if (mark.own) await refuseForeignRows(client, table, mark, todo)
  }
}

/**
 * Refuses rows that are not known to be of a run's load. Only the emails of users tell whose they are, and only if the run's load
 * has patterns.
 * @param {pg.Client} client @param {Pick<Table, 'name' | 'full_name'>} table @param {Pick<Mark, 'run' | 'own'>} mark @param {string} todo
 */
async function refuseForeignRows(client, { name, full_name }, { run, own }, todo) {
  if (own && name !== 'users') return
  const others = own ? ' WHERE NOT (email LIKE ANY ($1))' : ''
  const { rows } = await client.query(`SELECT count(*)::text AS rows FROM ${name}${others}`, own ? [own] : [])
  if (rows[0].rows === '0') return
  throw new DatabaseError(
    `${full_name} holds rows that no load of run ${run} is known to have made (${rows[0].rows}). ${todo}`,
  )
}

/**
 * The content of a table. A digest, at 0.7 s per million rows, identifies rows that no pattern identifies.
 * @param {pg.Client} client @param {string} name @param {string[] | null} own @returns {Promise<Left>}
 */
async function leftIn(client, name, own) {
  const highest = name === 'users' ? ', max(id)::text AS highest_id' : ''
  const isDigested = own === null || name !== 'users'
  const digest = isDigested ? `, sum(hashtextextended(${name}::text, 0))::text AS digest` : ''
  const { rows } = await client.query(`SELECT count(*)::text AS rows${highest}${digest} FROM ${name}`)
  return { ...rows[0] }
}

/** COMMENT takes no parameters. @param {pg.Client} client @param {string} name @param {Mark} mark */
async function writeMark(client, name, mark) {
  await client.query(`COMMENT ON TABLE ${name} IS ${pg.escapeLiteral(markText(mark))}`)
}

/**
 * The lab's mark on a table that it made, kept as the table's comment: which run has it, and what that run left.
 * @param {Mark} mark
 * @typedef {{ run: string, own: string[] | null, left: Left | null }} Mark run: run_id; own: LIKE patterns of the load's emails,
 *   null if its rows cannot be told from others; left: null while the run is under way, or if it was killed
 * @typedef {{ rows: string, highest_id?: string | null, digest?: string | null }} Left numbers as text, since they may exceed 2^53
 */
export function markText({ run, own, left }) {
  return `${MARK}${run}, which empties it. ${JSON.stringify({ run, own, left })}`
}

/** @param {string | null} comment @returns {Mark | null} null: the comment is not a mark of a run */
export function readMark(comment) {
  if (!comment?.startsWith(MARK)) return null
  const { run, own = null, left = null } = attempt(() => JSON.parse(comment.slice(comment.indexOf('{'))), {})
  return typeof run === 'string' ? { run, own, left } : null
}
