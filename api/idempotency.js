import { ApiError } from './errors.js'

/**
 * @import { User } from './insert.js'
 * @import { Pool } from './pool.js'
 */

/**
 * Idempotency-Key as in draft-ietf-httpapi-idempotency-key-header: a structured-field string (RFC 9651). Bare keys, such as
 * an unquoted UUID, are accepted too; `"a"` and `a` are the same key.
 */
export const KEY_PATTERN = '^("([ !#-\\[\\]-~]|\\\\["\\\\]){1,255}"|[!#-+\\--:<-~]{1,255})$'
const KEY = new RegExp(KEY_PATTERN)

const TABLE = 'redline_idempotency_keys'
const UNDEFINED_TABLE = '42P01'
const UNIQUE_VIOLATION = '23505'

/**
 * Stores the user and claims the key, or does neither. Of two concurrent statements, the second waits for the first to
 * commit, then violates the primary key, which rolls back its row. It returns what a repeat has to read, so that a missing privilege
 * shows before anything is stored.
 */
const STORE_ONCE = `
  WITH stored AS (
    INSERT INTO users (email, password)
    SELECT $2::text, $3::text WHERE NOT EXISTS (SELECT FROM ${TABLE} AS taken WHERE taken.key = $1::text)
    RETURNING id, email, password
  ), claimed AS (
    INSERT INTO ${TABLE} (key, user_id) SELECT $1::text, id FROM stored
  )
  SELECT id::text FROM stored`

/** A separate statement, since it has to see what was committed while STORE_ONCE waited. */
const FIND_EARLIER = `
  SELECT u.id::text, u.email, u.password
  FROM ${TABLE} AS taken LEFT JOIN users AS u ON u.id = taken.user_id WHERE taken.key = $1`

/** Number of expired keys deleted per statement, so that none runs long. */
const DELETE_ROWS = 1000
const DELETE_EXPIRED = `
  DELETE FROM ${TABLE} WHERE key IN (
    SELECT key FROM ${TABLE} WHERE created_at < now() - $1::float8 * interval '1 millisecond'
    ORDER BY created_at LIMIT ${DELETE_ROWS} FOR UPDATE SKIP LOCKED
  )`

/** Interval between deletions. An expired key remains in force until it is deleted. */
const DELETE_INTERVAL_MS = 60_000

/** Extracts the key from a header; Node joins repeated ones. @param {string | string[]} header @throws {ApiError} malformed_idempotency_key */
export function keyOf(header) {
  if (typeof header !== 'string' || !KEY.test(header)) {
    throw new ApiError('malformed_idempotency_key', 'expected one key such as "8e03978e-40d5-43dd-bc93-6894a57f9324"')
  }
  return header.startsWith('"') ? header.slice(1, -1).replace(/\\(.)/g, '$1') : header
}

/**
 * Stores users at most once per key, in a statement outside any batch, whatever the INSERT_MODE.
 * @param {Pool} pool @param {{ idempotencyKeyTtlMs: number }} config @returns {InsertOnce}
 * @typedef {(key: string, user: User, isRepeatOf: (earlier: User) => Promise<boolean>) => Promise<string>} InsertOnce
 *   resolves to the id of the row committed by this request or by an earlier one with the same key
 */
export function createInsertOnce(pool, { idempotencyKeyTtlMs }) {
  let deleteAt_ms = 0

  /** Runs only after a key is added, so that a service without keys never sends the query. */
  async function deleteExpired() {
    if (performance.now() < deleteAt_ms) return
    deleteAt_ms = Number.POSITIVE_INFINITY
    const statement = { name: 'delete_expired_keys', text: DELETE_EXPIRED, values: [idempotencyKeyTtlMs] }
    // After an error, the next attempt is one interval later; the pool logs lasting causes, such as a missing privilege.
    const result = await pool.query(statement).catch(() => null)
    deleteAt_ms = performance.now() + (result?.rowCount === DELETE_ROWS ? 0 : DELETE_INTERVAL_MS)
  }

  return async (key, user, isRepeatOf) => {
    // The key may be deleted between the two statements and is then free again, hence the second attempt.
    for (let attempt = 1; attempt <= 2; attempt++) {
      const id = await storeOnce(pool, key, user).catch(violationOf)
      if (typeof id === 'string') {
        deleteExpired()
        return id
      }
      const earlier = await earlierId(pool, key, isRepeatOf).catch(unknownUnlessReused)
      if (earlier !== null) return earlier
      if (id) throw id
    }
    // Neither stored nor taken: a trigger suppressed the row.
    throw new ApiError('row_refused')
  }
}

/**
 * Returns the error if a unique index rejected the user: its own earlier request may have stored it and committed meanwhile, which only
 * another statement can see. Rethrows all others.
 * @param {any} error
 */
function violationOf(error) {
  if ((error.cause ?? error).code === UNIQUE_VIOLATION) return error
  throw error
}

/** The key, or the row, is taken: by an earlier request of this client, for all we know. @param {ApiError} error @returns {never} */
function unknownUnlessReused(error) {
  if (error.code === 'idempotency_key_reused') throw error
  throw new ApiError('outcome_unknown', undefined, { cause: error })
}

/** @param {Pool} pool @param {string} key @param {User} user @returns {Promise<string | null>} null: the key is taken */
async function storeOnce(pool, key, { email, password }) {
  try {
    const { rows } = await pool.query({ name: 'insert_user_once', text: STORE_ONCE, values: [key, email, password] })
    return rows[0]?.id ?? null
  } catch (error) {
    const { code, table, message } = /** @type {any} */ (error).cause ?? error
    if (code === UNIQUE_VIOLATION && table === TABLE) return null
    if (code !== UNDEFINED_TABLE || !message.includes(TABLE)) throw error
    const detail = 'send the request without Idempotency-Key, or ask the operator to apply sql/schema.sql'
    throw new ApiError('idempotency_unsupported', detail, { cause: error })
  }
}

/** @param {Pool} pool @param {string} key @param {Parameters<InsertOnce>[2]} isRepeatOf @returns {Promise<string | null>} null: no such key */
async function earlierId(pool, key, isRepeatOf) {
  const { rows } = await pool.read({ name: 'find_user_by_key', text: FIND_EARLIER, values: [key] })
  if (rows.length === 0) return null
  const [{ id, ...earlier }] = rows
  // A user who has since been deleted or altered does not match this request either.
  if (id === null || !(await isRepeatOf(earlier))) throw new ApiError('idempotency_key_reused')
  return id
}
