import { createBatcher } from './batcher.js'
import { ApiError } from './errors.js'
import { createRoundTrip } from './round-trip.js'

/**
 * @import { Config } from './config.js'
 * @import { Pool } from './pool.js'
 */

/**
 * Stores a user and resolves to the new id, in decimal digits, once the row is committed: Postgres answers a statement outside
 * a transaction block only after committing it.
 * @typedef {{ email: string, password: string }} User
 * @typedef {((user: User) => Promise<string>) & { waiting?: () => number }} Insert `waiting`: users queued ahead of the pool
 */

/** Ids are transferred as text: bigint exceeds JavaScript's exact integers, and text works for any column type. */
const INSERT = 'INSERT INTO users (email, password) VALUES ($1, $2) RETURNING id::text'

/**
 * Rows are inserted, and so take their ids, in array order. RETURNING does not guarantee an order, so the ids are sorted. They
 * are returned as one string: a result row costs pg more than a number in a list.
 */
const INSERT_MANY = `
  WITH stored AS (
    INSERT INTO users (email, password)
    SELECT email, password FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (email, password, place) ORDER BY place
    RETURNING id
  )
  SELECT string_agg(id::text, ',' ORDER BY id) AS ids FROM stored`

/** @type {Record<string, (pool: Pool, config: Config) => Insert>} */
export const insertModes = {
  /** An unnamed statement per request, as in the article: Postgres parses and plans it each time. */
  single: (pool) => async (user) => idOf(await pool.query({ text: INSERT, values: [user.email, user.password] })),

  /** A named statement, parsed once per connection and then only bound and executed. */
  prepared: (pool) => async (user) => idOf(await pool.query(prepared(user))),

  /** A named statement, sent on a few connections without waiting for earlier answers. Each still commits alone. */
  pipelined: (pool) => async (user) => idOf(await pool.pipe(prepared(user))),

  batched: (pool, config) => {
    const insertOne = insertModes.prepared(pool, config)
    // Shared statements leave one connection for reads and for measuring the round trip, unless there is only one.
    const sharedMax = Math.max(1, config.poolMax - 1)
    const limits = { ...config, batchSlots: Math.min(config.batchSlots, config.poolMax), sharedMax }
    const roundTrip = createRoundTrip(pool.roundTrip)
    return createBatcher({ insertOne, insertMany: (users) => insertMany(pool, users), roundTrip }, limits)
  },
}

/** @param {User} user */
const prepared = ({ email, password }) => ({ name: 'insert_user', text: INSERT, values: [email, password] })

/** @param {{ rows: any[] }} result @returns {string} */
export function idOf({ rows }) {
  // A trigger can make a statement succeed without storing anything.
  if (rows.length === 0) throw new ApiError('row_refused')
  return rows[0].id
}

/**
 * Stores all rows in one statement, or none of them.
 * @param {Pool} pool @param {User[]} users @returns {Promise<string[]>} their ids, in the same order
 * @throws {ApiError} outcome_unknown if a row is missing, since the ids do not show which one
 */
async function insertMany(pool, users) {
  const values = [textArray(users.map(({ email }) => email)), textArray(users.map(({ password }) => password))]
  const { rows } = await pool.query({ name: 'insert_users', text: INSERT_MANY, values })
  const ids = rows[0].ids?.split(',') ?? []
  if (ids.length !== users.length) {
    const cause = new Error(`expected ${users.length} ids of as many rows, got ${ids.length}`)
    throw new ApiError('outcome_unknown', undefined, { cause })
  }
  return ids
}

const TEXT_OID = 25
const HEADER_BYTES = 20
const LENGTH_BYTES = 4

/**
 * Encodes a text[] in Postgres' binary format (array_recv in arrayfuncs.c): dimensions, null flag, element type, then length
 * and lower bound of the only dimension, then each element after its length. pg sends a Buffer as is; it would quote and
 * escape an array of strings character by character, which Postgres would then have to parse.
 * @param {string[]} texts
 */
export function textArray(texts) {
  let size = HEADER_BYTES
  for (const text of texts) size += LENGTH_BYTES + Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(size)
  let at = 0
  for (const field of [1, 0, TEXT_OID, texts.length, 1]) at = bytes.writeInt32BE(field, at)
  for (const text of texts) {
    const length = bytes.write(text, at + LENGTH_BYTES)
    at = bytes.writeInt32BE(length, at) + length
  }
  return bytes
}
