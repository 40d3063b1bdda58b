import { ApiError, RowRefused } from './errors.js'

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
    return createBatcher({ insertOne, insertMany: (users) => insertMany(pool, users) }, config)
  },
}

/** How long a shared statement may hold up the next one: on a connection that died silently it gets no response. */
const PATIENCE_MS = 1000

/**
 * Group commit: requests that come while a statement is in flight share the next one. It leaves when there is room, not on a
 * timer: an idle service stores a row at once, a busy one stores many for little more than the price of one.
 *
 * Up to `batchSlots` statements are in flight at once while each carries one row, since with few requests none should wait.
 * While a statement of several rows is in flight, no other is sent: it would carry only the few rows that wait by then, and the
 * more rows share a statement, the less each one costs.
 *
 * @param {object} statements
 * @param {Insert} statements.insertOne
 * @param {(users: User[]) => Promise<string[]>} statements.insertMany all of them or none; their ids, in their order
 * @param {{ batchSlots: number, batchMaxRows: number }} limits statements in flight at once, and rows in each
 * @returns {Insert & { waiting: () => number }}
 */
export function createBatcher({ insertOne, insertMany }, { batchSlots, batchMaxRows }) {
  /** @type {Waiting[]} */
  let waiting = []
  let statementsOnTheirWay = 0
  let rowsOnTheirWay = 0
  let isFlushing = false

  const slotIsFree = () => statementsOnTheirWay < batchSlots && rowsOnTheirWay === statementsOnTheirWay

  /** Once all that has arrived has been read: Node runs an immediate before it waits for more. */
  function flushSoon() {
    if (isFlushing || waiting.length === 0 || !slotIsFree()) return
    isFlushing = true
    setImmediate(flush)
  }

  function flush() {
    isFlushing = false
    const batch = waiting.length <= batchMaxRows ? waiting : waiting.slice(0, batchMaxRows)
    waiting = waiting.slice(batch.length)
    store(batch)
    flushSoon()
  }

  /** @param {Waiting[]} batch */
  async function store(batch) {
    let rows = batch.length
    statementsOnTheirWay++
    rowsOnTheirWay += rows
    // A statement without an answer must not hold up the next ones for long: from then on it counts as not shared.
    const patience = setTimeout(() => {
      rowsOnTheirWay -= rows - 1
      rows = 1
      flushSoon()
    }, PATIENCE_MS)
    await (batch.length === 1 ? storeAlone(batch[0]) : storeTogether(batch))
    clearTimeout(patience)
    statementsOnTheirWay--
    rowsOnTheirWay -= rows
    flushSoon()
  }

  const storeAlone = (/** @type {Waiting} */ { user, resolve, reject }) => insertOne(user).then(resolve, reject)

  /** @param {Waiting[]} batch */
  async function storeTogether(batch) {
    try {
      const ids = await insertMany(batch.map(({ user }) => user))
      batch.forEach(({ resolve }, i) => void resolve(ids[i]))
    } catch (error) {
      // One bad row must not fail its neighbours. Any other error fails each of them alike, or leaves their outcome open:
      // a second attempt would be of no use, or store a row twice.
      if (error instanceof RowRefused) await Promise.all(batch.map(storeAlone))
      else for (const { reject } of batch) reject(error)
    }
  }

  /** @type {Insert} */
  const insert = (user) =>
    new Promise((resolve, reject) => {
      waiting.push({ user, resolve, reject })
      flushSoon()
    })
  return Object.assign(insert, { waiting: () => waiting.length })
}

/** @typedef {{ user: User, resolve: (id: string) => void, reject: (error: unknown) => void }} Waiting */

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
