import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { LAB_SCHEMA } from './address.js'
import { destroy, STATEMENT_TIMEOUT_MS } from './connection.js'
import { DatabaseError } from './error.js'
import { markText, readMark } from './mark.js'
import { refuseOtherSessions, refuseStrangers, sessionsText, untilApisEnded } from './sessions.js'

/** @import { Left, Mark } from './mark.js' */

/** Every table that reset.sql empties. */
export const TABLES = ['users', 'redline_idempotency_keys']

/** A run that was just killed leaves sessions for a moment; at a run's end the user may be waiting after Ctrl-C. */
const CLAIM_LOCK_TIMEOUT_MS = 5000
const RESET_LOCK_TIMEOUT_MS = 10_000
const RELEASE_LOCK_TIMEOUT_MS = 2000

/** SQLSTATE codes (Postgres manual, appendix A): lock_not_available and query_canceled. */
const LOCKED = '55P03'
const CANCELLED = '57014'

/** pg_class.relkind of what else may have a table's name. @type {Record<string, string>} */
const KINDS = { v: 'VIEW', m: 'MATERIALIZED VIEW', f: 'FOREIGN TABLE', S: 'SEQUENCE', i: 'INDEX', c: 'TYPE' }

export const SCHEMA = readFileSync(new URL('schema.sql', import.meta.url), 'utf8')
const RESET = readFileSync(new URL('reset.sql', import.meta.url), 'utf8')

const FIND = `
  SELECT name, c.oid::int8::text AS oid, relkind, n.nspname AS schema, quote_ident(n.nspname) || '.' || quote_ident(relname) AS full_name,
    CASE WHEN relkind = 'r' THEN obj_description(c.oid, 'pg_class') END AS comment, row_security_active(c.oid) AS hides_rows
  FROM unnest($1::text[]) AS name
  JOIN pg_class AS c ON c.oid = to_regclass(name) JOIN pg_namespace AS n ON n.oid = relnamespace`

/**
 * Makes the lab's tables, or takes over those that the last run left, and empties them: in one transaction under an exclusive
 * lock, so that no row comes in between the checks and the TRUNCATE. The mark is committed with it.
 *
 * @param {pg.Client} client whose search path leads to the tables
 * @param {Owner} owner
 * @returns {Promise<Claim>}
 * @throws {DatabaseError} the tables are not the lab's, hold rows that its last run did not leave, or are in use
 *
 * @typedef {object} Owner
 * @property {string} run run_id
 * @property {string[] | null} own LIKE patterns of the load's emails; null: its rows cannot be told from others
 * @property {'own' | 'named' | 'embedded'} place whose schema it is; a named one may have other users
 *
 * @typedef {object} Claim
 * @property {string} schema
 * @property {() => Promise<void>} reset empties the tables, unless rows of somebody else came in
 * @property {() => Promise<number>} countRows of users
 * @property {() => Promise<void>} release writes down what the run leaves
 */
export async function claimTables(client, { run, own, place }) {
  const existing = await find(client)
  refuseUnmarked(existing, place)
  if (place === 'named' && existing.length > 0) await refuseOtherSessions(client, existing)
  await locked(client, 'ACCESS EXCLUSIVE', existing, CLAIM_LOCK_TIMEOUT_MS, async () => {
    const tables = await find(client)
    refuseUnmarked(tables, place)
    refuseUnlocked(tables, existing)
    for (const table of tables) await refuseForeignRows(client, table)
    await client.query(SCHEMA)
    refuseUnlocked(await foundBefore(client), existing)
    await client.query(RESET)
    for (const name of TABLES) await mark(client, name, { run, own, left: null })
  })
  const claimed = await find(client)
  const [{ schema }] = claimed
  // Whatever else is connected to the database may have tables of the same names elsewhere.
  const names = place === 'own' ? [LAB_SCHEMA] : TABLES
  const refuseOthers = async () => {
    if (own === null && place !== 'embedded') await refuseStrangers(client, claimed, names)
  }

  return {
    schema,
    reset: async () => {
      await refuseOthers()
      await locked(client, 'ACCESS EXCLUSIVE', claimed, RESET_LOCK_TIMEOUT_MS, async () => {
        // Nobody else knows the embedded server's password.
        if (place !== 'embedded') await refuseChanges(client, claimed)
        await client.query(RESET)
      })
    },
    countRows: async () => {
      try {
        return (await client.query('SELECT count(*)::float8 AS rows FROM users')).rows[0].rows
      } catch (error) {
        throw await explained(client, claimed, error)
      }
    },
    release: async () => {
      await untilApisEnded(client)
      await refuseOthers()
      await locked(client, 'SHARE', claimed, RELEASE_LOCK_TIMEOUT_MS, async () => {
        await refuseChanges(client, claimed)
        for (const { name } of claimed) await mark(client, name, { run, own, left: await leftIn(client, name, own) })
      })
    },
  }
}

/** @typedef {{ name: string, oid: string, relkind: string, schema: string, full_name: string, comment: string | null, hides_rows: boolean }} Table */

/** @param {pg.Client} client @returns {Promise<Table[]>} those that exist */
async function find(client) {
  return (await client.query(FIND, [TABLES])).rows
}

/** Tables that this transaction did not make: CREATE TABLE IF NOT EXISTS does not say. @param {pg.Client} client */
async function foundBefore(client) {
  const { rows } = await client.query(
    'SELECT oid::int8::text AS oid FROM pg_class WHERE oid = ANY ($1::oid[]) AND xmin::text::int8 <> txid_current() % 4294967296',
    [(await find(client)).map(({ oid }) => oid)],
  )
  return rows
}

/** @param {{ oid: string }[]} tables @param {Table[]} locked */
function refuseUnlocked(tables, locked) {
  if (tables.every(({ oid }) => locked.some((table) => table.oid === oid))) return
  throw new DatabaseError('somebody else made a table while the lab looked at the database: expected none, try again')
}

/**
 * @param {pg.Client} client
 * @param {'SHARE' | 'ACCESS EXCLUSIVE'} mode
 * @param {Table[]} tables
 * @param {number} timeout_ms
 * @param {() => Promise<void>} work
 */
async function locked(client, mode, tables, timeout_ms, work) {
  try {
    // Row-level security must raise an error instead of hiding rows; the digest needs one way of writing a time.
    await client.query(
      `BEGIN; SET LOCAL row_security = off; SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO'; ` +
        `SET LOCAL lock_timeout = ${timeout_ms}`,
    )
    for (const { full_name } of tables) await client.query(`LOCK TABLE ${full_name} IN ${mode} MODE`)
    await work()
    await client.query('COMMIT')
  } catch (error) {
    if (isUnanswered(error)) destroy(client)
    await client.query('ROLLBACK').catch(() => {})
    throw await explained(client, tables, error)
  }
}

/** @param {pg.Client} client @param {Table[]} tables @param {any} error @returns {Promise<any>} what to throw */
async function explained(client, tables, error) {
  if (isUnanswered(error) || error.code === CANCELLED) {
    const time = `${STATEMENT_TIMEOUT_MS / 1000} s`
    return new DatabaseError(`expected Postgres to carry out a statement within ${time}, got: ${error.message}`)
  }
  if (error.code !== LOCKED) return error
  const [table] = tables
  return new DatabaseError(
    table
      ? `${table.full_name} is in use by ${await sessionsText(client, tables)}: stop them, then try again`
      : 'expected to make the tables, but another session is making them too: stop it, then try again',
  )
}

/** The message of pg's query_timeout, which has no code. @param {any} error */
function isUnanswered({ message }) {
  return message === 'Query read timeout'
}

/** @param {Table[]} tables @param {Owner['place']} place */
function refuseUnmarked(tables, place) {
  for (const { full_name, relkind, comment, hides_rows } of tables) {
    if (!readMark(comment)) {
      const todo =
        place === 'named'
          ? `Leave search_path out of the URL's options (or PGOPTIONS): the lab then works in a schema of its own, ${LAB_SCHEMA}`
          : `Keep what you need of it, then DROP ${KINDS[relkind] ?? 'TABLE'} ${full_name}, or name another schema: ?options=-c search_path=NAME`
      throw new DatabaseError(`${full_name} was not made by the lab, which empties only tables that it made. ${todo}`)
    }
    if (hides_rows) {
      throw new DatabaseError(
        `${full_name} has row-level security, which hides rows from this role: expected to see every row before emptying it. ` +
          `Use a role with BYPASSRLS, or ALTER TABLE ${full_name} DISABLE ROW LEVEL SECURITY`,
      )
    }
  }
}

/**
 * After a run that ended in order, the table must match its mark; after any run, every row must belong to that run's load
 * where rows can be told apart.
 *
 * @param {pg.Client} client @param {Table} table
 */
async function refuseForeignRows(client, { name, full_name, comment }) {
  const { run, own, left } = /** @type {Mark} */ (readMark(comment))
  const remove = `Keep what you need of it, then DROP TABLE ${full_name}: the next run recreates it`
  const found = left && (await leftIn(client, name, own))
  // Marks of earlier versions have no digest.
  if (left && !isDeepStrictEqual({ digest: null, ...found }, { digest: null, ...left })) {
    const [holds, was] = [/** @type {Left} */ (found), left].map(leftText)
    const others = holds === was ? `not the ${left.rows === '1' ? 'one' : 'ones'} that run ${run} left` : null
    throw new DatabaseError(
      `${full_name} holds ${holds}, but ${others ?? `run ${run} left ${was}`}: others have used it. ${remove}`,
    )
  }
  const foreign = left && !own ? 0 : await foreignRows(client, name, own)
  if (foreign === 0) return
  const origin = own ? `that no load of run ${run} made` : 'whose origin is unknown'
  const killed = left ? '' : ' (that run was killed)'
  throw new DatabaseError(`${full_name} holds ${rowsText(foreign)} ${origin}${killed}. ${remove}`)
}

/** The same tables, with the same mark and no row of somebody else. @param {pg.Client} client @param {Table[]} claimed */
async function refuseChanges(client, claimed) {
  if (!isDeepStrictEqual(await find(client), claimed)) {
    throw new DatabaseError(`${claimed[0].full_name} was changed during the run, which stops and leaves it as it is`)
  }
  for (const { name, full_name, comment } of claimed) {
    const { run, own } = /** @type {Mark} */ (readMark(comment))
    const foreign = own ? await foreignRows(client, name, own) : 0
    if (foreign === 0) continue
    throw new DatabaseError(
      `${full_name} holds ${rowsText(foreign)} that no load of run ${run} made: the run stops and keeps them. ` +
        'Stop whoever else writes to it',
    )
  }
}

/** Only users have an email that says whose they are. @param {pg.Client} client @param {string} name @param {string[] | null} own */
async function foreignRows(client, name, own) {
  if (own && name !== 'users') return 0
  const { rows } = own
    ? await client.query('SELECT count(*)::float8 AS rows FROM users WHERE NOT (email LIKE ANY ($1))', [own])
    : await client.query(`SELECT count(*)::float8 AS rows FROM ${name}`)
  return rows[0].rows
}

/**
 * A digest, which takes 0.7 s for a million rows, identifies rows without patterns of their own.
 *
 * @param {pg.Client} client @param {string} name @param {string[] | null} own @returns {Promise<Left>}
 */
async function leftIn(client, name, own) {
  const highest = name === 'users' ? ', max(id)::text AS highest_id' : ''
  const isDigested = own === null || name !== 'users'
  const digest = isDigested ? `, sum(hashtextextended(${name}::text, 0))::text AS digest` : ''
  const { rows } = await client.query(`SELECT count(*)::text AS rows${highest}${digest} FROM ${name}`)
  return rows[0]
}

/** @param {Left} left */
function leftText({ rows, highest_id }) {
  return `${rowsText(rows)}${highest_id ? ` up to id ${highest_id}` : ''}`
}

/** COMMENT takes no parameters. @param {pg.Client} client @param {string} name @param {Mark} mark */
async function mark(client, name, { run, own, left }) {
  await client.query(`COMMENT ON TABLE ${name} IS ${pg.escapeLiteral(markText({ run, own, left }))}`)
}

/** @param {number | string} rows */
function rowsText(rows) {
  return `${rows} row${Number(rows) === 1 ? '' : 's'}`
}
