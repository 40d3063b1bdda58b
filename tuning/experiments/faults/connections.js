import { openSession } from '../../knobs/session.js'

/**
 * @import { Plant } from './index.js'
 * @import { Client } from 'pg'
 */

/** SQLSTATE too_many_connections (Postgres manual, appendix A). */
const TOO_MANY = '53300'

/** More than this is nobody's benchmark, and would take as many processes. */
const MOST = 2000

/**
 * Takes every connection that Postgres has left for this user.
 *
 * @type {Plant}
 */
export async function takeConnections({ databaseUrl }) {
  /** @type {Client[]} */
  const taken = []
  const giveBack = async () => {
    await Promise.all(taken.map((session) => session.end()))
  }
  try {
    while (taken.length < MOST) taken.push(await openSession(databaseUrl))
  } catch (error) {
    if (/** @type {any} */ (error).code === TOO_MANY) return giveBack
    await giveBack()
    throw error
  }
  await giveBack()
  throw new Error(`expected Postgres to refuse a connection at ${MOST} or fewer, it took them all`)
}
