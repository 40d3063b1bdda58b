import { ApiError } from './errors.js'

/**
 * The ways to store one user. Each gives a function that resolves to the new id once the row is committed: a statement
 * outside a transaction block is answered after its commit.
 *
 * @typedef {{ email: string, password: string }} User
 * @typedef {(user: User) => Promise<number>} Insert
 */

const INSERT = 'INSERT INTO users (email, password) VALUES ($1, $2) RETURNING id'

/**
 * Rows go in, and so take their ids, in the order of the arrays; in which order RETURNING gives the ids back is promised
 * by nobody.
 */
const INSERT_MANY = `
  INSERT INTO users (email, password)
  SELECT email, password FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u (email, password, place) ORDER BY place
  RETURNING id`

/** @type {Record<string, (pool: import('./pool.js').Pool, config: import('./config.js').Config) => Insert>} */
export const insertModes = {
  /** An unnamed statement per request: Postgres parses and plans it each time. The article's way. */
  single: (pool) => async (user) => {
    const { rows } = await pool.query({ text: INSERT, values: [user.email, user.password] })
    return rows[0].id
  },

  /** A named statement: parsed once per connection, then only bound and executed. */
  prepared: (pool) => (user) => insertPrepared(pool, user),

  batched: (pool, config) => createBatcher((users) => insertMany(pool, users), config),
}

/**
 * Group commit: requests that come while a statement is on its way share the next one. No timer is needed, and none is
 * set: an idle service stores a row at once, a busy one stores many for little more than the price of one.
 *
 * @param {(users: User[]) => Promise<Stored[]>} insert stores rows in one statement
 * @param {{ batchSlots: number, batchMaxRows: number }} limits statements on their way at once, and rows in each
 * @returns {Insert}
 */
export function createBatcher(insert, { batchSlots, batchMaxRows }) {
  /** @type {Waiting[]} */
  let waiting = []
  let busySlots = 0

  function flush() {
    if (busySlots === batchSlots || waiting.length === 0) return
    busySlots++
    const batch = waiting.length <= batchMaxRows ? waiting : waiting.slice(0, batchMaxRows)
    waiting = waiting.slice(batch.length)
    store(batch)
  }

  /** @param {Waiting[]} batch */
  async function store(batch) {
    try {
      const stored = await insert(batch.map(({ user }) => user))
      for (const [i, { resolve, reject }] of batch.entries()) {
        if ('id' in stored[i]) resolve(stored[i].id)
        else reject(stored[i].error)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    busySlots--
    flush()
  }

  return (user) => {
    return new Promise((resolve, reject) => {
      waiting.push({ user, resolve, reject })
      flush()
    })
  }
}

/**
 * @typedef {{ user: User, resolve: (id: number) => void, reject: (error: unknown) => void }} Waiting
 * @typedef {{ id: number } | { error: unknown }} Stored what became of one row
 */

/**
 * Stores rows in one statement, which takes all of them or none. Where Postgres refuses it, nothing is stored, and each
 * row is tried alone: a bad one does not fail its neighbours.
 *
 * @param {import('./pool.js').Pool} pool
 * @param {User[]} users
 * @returns {Promise<Stored[]>} in the order of the users
 * @throws {ApiError} what the pool throws for all of them: then it may not be known whether they are stored
 */
async function insertMany(pool, users) {
  if (users.length === 1) return [await settled(insertPrepared(pool, users[0]))]
  const values = [textArray(users.map(({ email }) => email)), textArray(users.map(({ password }) => password))]
  /** @type {{ id: number }[]} */
  let rows
  try {
    rows = (await pool.query({ name: 'insert_users', text: INSERT_MANY, values })).rows
  } catch (error) {
    if (error instanceof ApiError) throw error
    return oneByOne(pool, users)
  }
  if (rows.length !== users.length) throw new Error(`expected ${users.length} ids of as many rows, got ${rows.length}`)
  return rows.sort((a, b) => a.id - b.id)
}

/** @param {import('./pool.js').Pool} pool @param {User[]} users */
async function oneByOne(pool, users) {
  const stored = []
  for (const user of users) stored.push(await settled(insertPrepared(pool, user)))
  return stored
}

/** @param {import('./pool.js').Pool} pool @param {User} user */
async function insertPrepared(pool, user) {
  const { rows } = await pool.query({ name: 'insert_user', text: INSERT, values: [user.email, user.password] })
  return rows[0].id
}

/** @param {Promise<number>} insert @returns {Promise<Stored>} */
function settled(insert) {
  return insert.then(
    (id) => ({ id }),
    (error) => ({ error }),
  )
}

const TEXT_OID = 25
const HEADER_BYTES = 20

/**
 * A text[] in Postgres' binary format (array_recv in arrayfuncs.c): dimensions, null flag, element type, then length and
 * lower bound of the one dimension, then each element behind its length. pg sends a Buffer as it is, where an array of
 * strings would be quoted and escaped character by character, here and parsed again there.
 *
 * @param {string[]} texts
 * @returns {Buffer}
 */
export function textArray(texts) {
  const lengths = texts.map((text) => Buffer.byteLength(text))
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + length, HEADER_BYTES))
  let at = 0
  for (const field of [1, 0, TEXT_OID, texts.length, 1]) at = bytes.writeInt32BE(field, at)
  texts.forEach((text, i) => {
    at = bytes.writeInt32BE(lengths[i], at)
    at += bytes.write(text, at)
  })
  return bytes
}
