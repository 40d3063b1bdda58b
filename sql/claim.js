import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { LAB_SCHEMA } from './address.js'
import { DatabaseError, destroy, STATEMENT_TIMEOUT_MS } from './connection.js'
import { refuseOtherSessions, refuseStrangers, sessionsUsing, untilApisEnded } from './sessions.js'

/** Every table that reset.sql empties. */
export const TABLES = ['users', 'redline_idempotency_keys']

/** A killed run's sessions last for a moment; at the end of a run the user may be waiting after Ctrl-C. */
const LOCK_TIMEOUT_MS = { claim: 5000, reset: 10_000, release: 2000 }

/** SQLSTATEs (Postgres manual, appendix A): lock_not_available and query_canceled. */
const LOCKED = '55P03'
const CANCELLED = '57014'

/** pg_class.relkind of other objects that may have a table's name. @type {Record<string, string>} */
const KINDS = { v: 'VIEW', m: 'MATERIALIZED VIEW', f: 'FOREIGN TABLE', S: 'SEQUENCE', i: 'INDEX', c: 'TYPE' }

const MARK = 'redline: made by run '

export const SCHEMA = readFileSync(new URL('schema.sql', import.meta.url), 'utf8')
const RESET = readFileSync(new URL('reset.sql', import.meta.url), 'utf8')

const FIND = `
  SELECT name, c.oid::int8::text AS oid, relkind, n.nspname AS schema, quote_ident(n.nspname) || '.' || quote_ident(relname) AS full_name,
    CASE WHEN relkind = 'r' THEN obj_description(c.oid, 'pg_class') END AS comment, row_security_active(c.oid) AS hides_rows,
    coalesce(c.xmin::text::int8 = txid_current_if_assigned() % 4294967296, false) AS is_ours
  FROM unnest($1::text[]) AS name
  JOIN pg_class AS c ON c.oid = to_regclass(name) JOIN pg_namespace AS n ON n.oid = relnamespace`

/**
 * Creates the lab's tables, or takes over those that the last run left, and empties them: in one transaction under an exclusive
 * lock, so that no row arrives between the checks and the TRUNCATE. The mark is committed with it.
 *
 * @param {pg.Client} client whose search path leads to the tables
 * @param {Owner} owner
 * @throws {DatabaseError} if the tables are not the lab's, hold rows that its last run did not leave, or are in use
 *
 * @typedef {Pick<Mark, 'run' | 'own'> & { place: 'own' | 'named' | 'embedded' }} Owner place: the lab's own schema, one that
 *   the user named and others may use, or any of the embedded server
 */
export async function claimTables(client, { run, own, place }) {
  const existing = await find(client)
  refuseUnmarked(existing, place)
  if (place === 'named' && existing.length > 0) await refuseOtherSessions(client, existing)
  await locked(client, 'ACCESS EXCLUSIVE', existing, LOCK_TIMEOUT_MS.claim, async () => {
    const tables = await find(client)
    refuseUnmarked(tables, place)
    refuseUnlocked(tables, existing)
    for (const table of tables) await refuseForeignRows(client, table)
    await client.query(SCHEMA)
    // CREATE TABLE IF NOT EXISTS does not report whether this transaction created the table.
    refuseUnlocked(await find(client), existing)
    await client.query(RESET)
    for (const name of TABLES) await writeMark(client, name, { run, own, left: null })
  })
  const claimed = await find(client)
  const [{ schema }] = claimed
  // Other clients of the database may use tables of the same names in other schemas.
  const names = place === 'own' ? [LAB_SCHEMA] : TABLES
  const refuseOthers = async () => {
    if (own === null && place !== 'embedded') await refuseStrangers(client, claimed, names)
  }

  return {
    schema,

    /** Empties the tables. @throws {DatabaseError} if they hold rows of somebody else */
    reset: async () => {
      await refuseOthers()
      await locked(client, 'ACCESS EXCLUSIVE', claimed, LOCK_TIMEOUT_MS.reset, async () => {
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
      await locked(client, 'SHARE', claimed, LOCK_TIMEOUT_MS.release, async () => {
        await refuseChanges(client, claimed)
        for (const { name } of claimed)
          await writeMark(client, name, { run, own, left: await leftIn(client, name, own) })
      })
    },
  }
}

/**
 * @typedef {Record<'name' | 'oid' | 'relkind' | 'schema' | 'full_name', string>} Names
 * @typedef {Names & { comment: string | null, hides_rows: boolean, is_ours: boolean }} Table is_ours: this transaction made it
 */

/** The tables that exist. @param {pg.Client} client @returns {Promise<Table[]>} */
async function find(client) {
  return (await client.query(FIND, [TABLES])).rows
}

/** Refuses tables that this transaction has neither locked nor made. @param {Table[]} tables @param {Table[]} locked */
function refuseUnlocked(tables, locked) {
  if (tables.every(({ oid, is_ours }) => is_ours || locked.some((table) => table.oid === oid))) return
  throw new DatabaseError('somebody else made a table while the lab looked at the database: expected none, try again')
}

/**
 * @param {pg.Client} client @param {'SHARE' | 'ACCESS EXCLUSIVE'} mode @param {Table[]} tables @param {number} timeout_ms
 * @param {() => Promise<void>} work
 */
async function locked(client, mode, tables, timeout_ms, work) {
  try {
    // Row-level security must raise an error instead of hiding rows; the digest needs one format of times.
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

/** The error to throw. @param {pg.Client} client @param {Table[]} tables @param {any} error @returns {Promise<any>} */
async function explained(client, tables, error) {
  if (isUnanswered(error) || error.code === CANCELLED) {
    const time = `${STATEMENT_TIMEOUT_MS / 1000} s`
    return new DatabaseError(`expected Postgres to carry out a statement within ${time}, got: ${error.message}`)
  }
  if (error.code !== LOCKED) return error
  const sessions = (await sessionsUsing(client, tables)) || 'a session that is gone by now'
  const problem = tables[0]
    ? `${tables[0].full_name} is in use by ${sessions}: stop them, then try again`
    : 'expected to make the tables, but another session is making them too: stop it, then try again'
  return new DatabaseError(problem)
}

/** Recognises pg's query_timeout, which has no code. @param {any} error */
const isUnanswered = ({ message }) => message === 'Query read timeout'

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
 * Refuses a table that differs from its mark after a run that ended in order, or, after any run, has rows that are known not to
 * be of that run's load.
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

/** Refuses replaced tables, another mark, and rows of somebody else. @param {pg.Client} client @param {Table[]} claimed */
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

/** Number of rows that are not the run's; only users have an email that tells. @param {pg.Client} client @param {string} name @param {string[] | null} own */
async function foreignRows(client, name, own) {
  if (own && name !== 'users') return 0
  const others = own ? ' WHERE NOT (email LIKE ANY ($1))' : ''
  const { rows } = await client.query(`SELECT count(*)::float8 AS rows FROM ${name}${others}`, own ? [own] : [])
  return rows[0].rows
}

/**
 * What a table holds. A digest, at 0.7 s per million rows, identifies rows that no pattern identifies.
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

const leftText = (/** @type {Left} */ { rows, highest_id }) =>
  `${rowsText(rows)}${highest_id ? ` up to id ${highest_id}` : ''}`

const rowsText = (/** @type {number | string} */ rows) => `${rows} row${Number(rows) === 1 ? '' : 's'}`

/** COMMENT takes no parameters. @param {pg.Client} client @param {string} name @param {Mark} mark */
async function writeMark(client, name, mark) {
  await client.query(`COMMENT ON TABLE ${name} IS ${pg.escapeLiteral(markText(mark))}`)
}

/**
 * The lab's mark on a table that it made, kept as the table's comment: which run has it, and what that run left.
 *
 * @param {Mark} mark
 *
 * @typedef {{ run: string, own: string[] | null, left: Left | null }} Mark run: run_id; own: LIKE patterns of the load's emails,
 *   null if its rows cannot be told from others; left: null while the run is under way, or if it was killed
 * @typedef {{ rows: string, highest_id?: string | null, digest?: string | null }} Left numbers as text, since they may exceed
 *   2^53; digest: of rows that nothing else identifies
 */
export function markText({ run, own, left }) {
  return `${MARK}${run}, which empties it. ${JSON.stringify({ run, own, left })}`
}

/** @param {string | null} comment @returns {Mark | null} null: the comment is not a mark of a run */
export function readMark(comment) {
  if (!comment?.startsWith(MARK)) return null
  try {
    const { run, own = null, left = null } = JSON.parse(comment.slice(comment.indexOf('{')))
    return typeof run === 'string' ? { run, own, left } : null
  } catch {
    return null
  }
}
