import pg from 'pg'
import { newUser, post, untilMetric } from './api.js'
import { within } from './until.js'

/** @import { Api } from './api.js' */

/** @param {number} count */
export const newUsers = (count) => Array.from({ length: count }, newUser)

/**
 * Sends the first user alone and all others in one statement, given BATCH_SLOTS=1: both wait for a lock until the last
 * request is there.
 * @param {Pick<Api, 'url' | 'adminUrl'>} api
 * @param {string} databaseUrl
 * @param {{ email: string, password: string }[]} users
 * @param {string} [spoil] SQL that takes effect as the lock is released
 * @returns {Promise<Response[]>}
 */
export async function inOneBatch(api, databaseUrl, users, spoil = '') {
  const client = new pg.Client({ connectionString: databaseUrl })
  await within('a connection to Postgres', client.connect())
  try {
    await within('a lock on users', client.query('BEGIN; LOCK TABLE users'))
    const first = post(api.url, users[0])
    await untilMetric(api, 'redline_in_flight_requests', 1)
    const others = users.slice(1).map((user) => post(api.url, user))
    await untilMetric(api, 'redline_in_flight_requests', users.length)
    await client.query(`${spoil}; COMMIT`)
    return await Promise.all([first, ...others])
  } finally {
    await client.end()
  }
}
