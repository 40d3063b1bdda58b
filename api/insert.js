import { createBatcher } from './batcher.js'
import { ApiError } from './errors.js'
import { createRoundTrip } from './round-trip.js'

/**
 * @import { Config } from './config.js'
 * @import { Pool } from './pool.js'
 */

/**
 * Stores a user; resolves to the new id, in decimal digits, once the row is committed: Postgres answers a statement outside a
 * transaction block after its commit.
 *
 * @typedef {{ email: string, password: string }} User
 * @typedef {((user: User) => Promise<string>) & { waiting?: () => number }} Insert `waiting`: users outside the pool
 */

/** Ids are transferred as text: bigint exceeds JavaScript's numbers, and text is the same whichever type the column has. */
const INSERT = 'INSERT INTO users (email, password) VALUES ($1, $2) RETURNING id::text'

/**
 * Rows go in, and so take their ids, in the order of the arrays; in which order RETURNING gives the ids back is not
 * guaranteed, so they are sorted. They come as one text: a row of an answer costs pg more than a number in a list.
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
  /** An unnamed statement per request: Postgres parses and plans it each time. The article's way. */
  single: (pool) => async (user) => idOf(await pool.query({ text: INSERT, values: [user.email, user.password] })),

  /** A named statement: parsed once per connection, then only bound and executed. */
  prepared: (pool) => async (user) => idOf(await pool.query(prepared(user))),

  /** The same, sent on a few connections without waiting for the answers before it. Each still commits alone. */
  pipelined: (pool) => async (user) => idOf(await pool.pipe(prepared(user))),

  batched: (pool, config) => {
    const insertOne = insertModes.prepared(pool, config)
    // The last connection is for reads and for the round trip.
    const limits = { ...config, sharedMax: Math.max(1, config.poolMax - 1) }
    const roundTrip = createRoundTrip(pool.roundTrip)
    return createBatcher({ insertOne, insertMany: (users) => insertMany(pool, users), roundTrip }, limits)
  },
}

/** @param {User} user */
function prepared({ email, password }) {
  return { name: 'insert_user', text: INSERT, values: [email, password] }
}

/** @param {Awaited<ReturnType<Pool['query']>>} result @returns {string} */
export function idOf({ rows }) {
  // A trigger can make a statement that succeeds store nothing.
  if (rows.length === 0) throw new ApiError('row_refused')
  return rows[0].id
}

/**
 * Stores rows in one statement, or none of them.
 *
 * @param {Pool} pool @param {User[]} users @returns {Promise<string[]>} their ids, in their order
 * @throws {ApiError} outcome_unknown when a row is missing, since the ids do not tell which one
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
 * A text[] in Postgres' binary format (array_recv in arrayfuncs.c): dimensions, null flag, element type, then length and
 * lower bound of the one dimension, then each element behind its length. pg sends a Buffer as it is, where an array of
 * strings would be quoted and escaped character by character, here and parsed again there.
 *
 * @param {string[]} texts
 * @returns {Buffer}
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
