import pg from 'pg'
import { until, within } from './until.js'

/**
 * Runs one statement on a connection of its own.
 * @param {string} url
 * @param {string} text
 * @param {unknown[]} [values]
 * @returns {Promise<any[]>}
 */
export async function rows(url, text, values) {
  const client = new pg.Client({ connectionString: url })
  await within('a connection to Postgres', client.connect())
  try {
    return (await within(`an answer to ${text}`, client.query(text, values))).rows
  } finally {
    await client.end()
  }
}

/**
 * Statements on users wait until the returned function is called.
 * @param {any} t
 * @param {string} url
 */
export async function blockTable(t, url) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await within('a connection to Postgres', client.connect())
  await within('a lock on users', client.query('BEGIN; LOCK TABLE users'))
  const release = () => client.end()
  t.teardown(release)
  return release
}

/**
 * Waits until so many sessions of this database wait for a lock.
 * @param {string} url
 * @param {number} [count]
 */
export function untilAtLock(url, count = 1) {
  return until(`${count} statements at a lock`, async () => (await rows(url, AT_LOCK)).length === count)
}

const AT_LOCK = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

/**
 * Takes every connection that the server has left, until the test ends or the returned function is called.
 * @param {any} t
 * @param {string} url
 * @returns {Promise<() => Promise<unknown>>}
 */
export async function takeConnections(t, url) {
  /** @type {pg.Client[]} */
  const taken = []
  const release = () => Promise.all(taken.splice(0).map((client) => client.end()))
  t.teardown(release)
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    try {
      await within('a connection to Postgres, or its refusal', client.connect())
      taken.push(client)
    } catch (error) {
      if (/** @type {any} */ (error).code === TOO_MANY) return release
      throw error
    }
  }
}

/** SQLSTATE of "too many connections". */
const TOO_MANY = '53300'
