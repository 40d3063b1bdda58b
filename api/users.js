import { ApiError } from './errors.js'
import { isStoredAs } from './passwords.js'

/**
 * @import { InsertOnce } from './idempotency.js'
 * @import { Insert } from './insert.js'
 * @import { StorePassword } from './passwords.js'
 * @import { Pool } from './pool.js'
 */

/** varchar(255) counts characters, i.e. code points. */
export const MAX_FIELD_CHARACTERS = 255

/** Exactly one @ with text on both sides. Postgres' text type rejects NUL. */
export const EMAIL_PATTERN = '^[^@\\s\\u0000]+@[^@\\s\\u0000]+$'
export const PASSWORD_PATTERN = '^[^\\u0000]+$'
const EMAIL = new RegExp(EMAIL_PATTERN, 'u')

/** Largest bigint. Ids are text, since JavaScript numbers are exact only up to 2^53. */
const MAX_ID = '9223372036854775807'
const ID = /^[1-9]\d{0,18}$/

/** The cast lets any valid id be looked up in a table whose ids are still integers. */
const FIND = 'SELECT id::text FROM users WHERE id = $1::bigint'

/** Whether a text may be the id of a user. @param {string} text */
export function isId(text) {
  return ID.test(text) && (text.length < MAX_ID.length || text <= MAX_ID)
}

/** @param {{ pool: Pool, insert: Insert, insertOnce: InsertOnce, storePassword: StorePassword, hashingThreads: number }} parts */
export function createUsers({ pool, insert, insertOnce, storePassword, hashingThreads }) {
  let hashing = 0

  /** @template T @param {Promise<T>} hash */
  function counted(hash) {
    hashing++
    return hash.finally(() => hashing--)
  }

  /** @param {string} key @param {{ email: string, password: string }} user */
  async function storeOnce(key, { email, password }) {
    const stored = storePassword(password)
    const isPlain = typeof stored === 'string'
    const user = { email, password: isPlain ? stored : await counted(stored) }
    return insertOnce(key, user, async (earlier) => {
      return earlier.email === email && (await counted(isStoredAs(password, earlier.password, isPlain)))
    })
  }

  return {
    /** Stores a user and resolves to the id of the committed row. @param {unknown} body @throws {ApiError} invalid_user, or a code of the pool */
    create(body) {
      const { email, password } = validUser(body)
      const stored = storePassword(password)
      // Another promise would slow down plain storage, whose CPU time is measured.
      if (typeof stored === 'string') return insert({ email, password: stored })
      return counted(stored).then((hash) => insert({ email, password: hash }))
    },

    /**
     * Stores a user unless an earlier request with the same key has done so. The stored user itself identifies a
     * repeat: a stored digest of the request would be a fast hash of the password next to its slow one.
     * @param {unknown} body @param {string} key the request's Idempotency-Key
     * @throws {ApiError} invalid_user at once; rejects with idempotency_key_reused, idempotency_unsupported, or a code of the pool
     */
    createOnce: (body, key) => storeOnce(key, validUser(body)),

    /** Number of passwords being hashed or waiting for a libuv thread. */
    hashing: () => hashing,
    waiting: () => Math.max(0, hashing - hashingThreads),

    /**
     * Reveals only whether a user exists: anyone can enumerate ids and must not be able to collect addresses that way.
     * @param {string} id that may be one @returns {Promise<string | undefined>} the id
     */
    async find(id) {
      const { rows } = await pool.read({ name: 'find_user', text: FIND, values: [id] })
      return rows[0]?.id
    },
  }
}

/** @typedef {ReturnType<typeof createUsers>} Users */

/** @param {any} body @returns {{ email: string, password: string }} @throws {ApiError} invalid_user */
function validUser(body) {
  if (body === null || typeof body !== 'object' || Array.isArray(body)) {
    throw invalid('expected a JSON object with email and password')
  }
  const { email, password } = body
  refuseText('email', email)
  refuseText('password', password)
  if (!EMAIL.test(email)) throw invalid('email: expected an address such as ada@example.com')
  return { email, password }
}

/** @param {string} name @param {unknown} value */
function refuseText(name, value) {
  if (typeof value !== 'string')
    throw invalid(`${name}: expected a string, got ${value === null ? null : typeof value}`)
  // length counts UTF-16 units, never fewer than code points, so the exact count is needed only beyond the limit.
  if (value === '' || (value.length > MAX_FIELD_CHARACTERS && [...value].length > MAX_FIELD_CHARACTERS)) {
    throw invalid(`${name}: expected 1 to ${MAX_FIELD_CHARACTERS} characters`)
  }
  // Postgres' text type accepts neither; a lone surrogate would be stored as another character.
  if (value.includes('\0')) throw invalid(`${name}: expected no NUL character`)
  if (!value.isWellFormed()) throw invalid(`${name}: expected well-formed Unicode, got a lone surrogate`)
}

const invalid = (/** @type {string} */ detail) => new ApiError('invalid_user', detail)
