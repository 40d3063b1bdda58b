import { readTextArray } from './wire.js'

/** @import { ServerError } from './wire.js' */

/**
 * The two tables behind the API, and what its statements do to them. A statement takes its snapshot when it begins, and
 * its effect is visible to others once it has committed.
 *
 * Addresses that begin with `bad` violate a constraint; those that begin with `vanish` are suppressed by a trigger.
 * @param {() => number} now_ms
 */
export function createTables(now_ms) {
  /** @type {{ id: string, email: string, password: string }[]} */
  const users = []
  /** @type {Map<string, { id: string, created_ms: number }>} */
  const keys = new Map()

  /** @param {string} email @param {string} password @returns {string | null} */
  function add(email, password) {
    if (email.startsWith('vanish')) return null
    users.push({ id: String(users.length + 1), email, password })
    return String(users.length)
  }

  /** @type {Record<string, (values: Buffer[]) => Work>} by a part of the statement's text */
  const statements = {
    unnest(values) {
      const [emails, passwords] = values.map(readTextArray)
      return {
        users: emails,
        commit: () => {
          const ids = emails.map((email, i) => add(email, passwords[i])).filter((id) => id !== null)
          return result('SELECT', ['ids'], [[ids.length > 0 ? ids.join() : null]])
        },
      }
    },

    claimed(values) {
      const [key, email, password] = values.map(String)
      const isTaken = keys.has(key)
      return {
        users: [email],
        key,
        commit: () => {
          if (isTaken) return result('SELECT', ['id'], [])
          if (keys.has(key)) return { error: { severity: 'ERROR', code: '23505', table: 'redline_idempotency_keys' } }
          const id = add(email, password)
          if (id !== null) keys.set(key, { id, created_ms: now_ms() })
          return result('SELECT', ['id'], id === null ? [] : [[id]])
        },
      }
    },

    'LEFT JOIN users'(values) {
      const key = String(values[0])
      const taken = keys.get(key)
      const user = users.find(({ id }) => id === taken?.id)
      const row = [user?.id ?? null, user?.email ?? null, user?.password ?? null]
      return { users: [], key, commit: () => result('SELECT', ['id', 'email', 'password'], taken ? [row] : []) }
    },

    'DELETE FROM'(values) {
      const oldest_ms = now_ms() - Number(String(values[0]))
      const expired = [...keys].filter(([, { created_ms }]) => created_ms < oldest_ms).slice(0, 1000)
      const commit = () => {
        for (const [key] of expired) keys.delete(key)
        return { ...result('DELETE', [], []), count: expired.length }
      }
      return { users: [], commit }
    },

    'INSERT INTO users'(values) {
      const [email, password] = values.map(String)
      return {
        users: [email],
        commit: () => {
          const id = add(email, password)
          return result('INSERT 0', ['id'], id === null ? [] : [[id]])
        },
      }
    },

    'WHERE id ='(values) {
      const found = users.some(({ id }) => id === String(values[0]))
      return { users: [], commit: () => result('SELECT', ['id'], found ? [[String(values[0])]] : []) }
    },

    /** The whole of one statement, and a part of others. */
    SELECT: () => ({ users: [], commit: () => result('SELECT', [], [[]]) }),
  }

  return {
    users,
    keys,

    /** @param {string} text @param {Buffer[]} values @returns {Work} */
    begin(text, values) {
      const known = Object.keys(statements).find((part) => text.includes(part))
      if (known === undefined) throw new Error(`expected a statement of the API, got ${text}`)
      const work = statements[known](values)
      if (!work.users.some((email) => email.startsWith('bad'))) return work
      return { ...work, commit: () => ({ error: { severity: 'ERROR', code: '23514' } }) }
    },
  }
}

/** @param {string} tag @param {string[]} columns @param {(string | null)[][]} rows */
function result(tag, columns, rows) {
  return { tag, columns, rows }
}

/**
 * @typedef {object} Work
 * @property {string[]} users addresses that it would store
 * @property {string} [key] idempotency key
 * @property {() => Result} commit
 * @typedef {{ tag: string, columns: string[], rows: (string | null)[][], count?: number, error?: undefined } |
 *   { error: ServerError }} Result
 */
