import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { openSession, plantTrigger } from '../../knobs/session.js'

/**
 * @import { Plant } from './index.js'
 * @import { Client } from 'pg'
 */

/** A trigger on `users`. @param {string} file in sql/: creates pg_temp.redline_fault() and the trigger @returns {Plant} */
export function trigger(file) {
  const statements = readFileSync(new URL(`sql/${file}`, import.meta.url), 'utf8')
  return ({ databaseUrl }) => plantTrigger(databaseUrl, statements, 'redline_fault')
}

/** The table is locked for a share of the time; in between, those that wait get through, so that the lab can count the rows. */
const HOLD = 'BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(0.4); COMMIT'
const FREE_MS = 100

/** A session that locks the table most of the time. @type {Plant} */
export async function holdLock({ databaseUrl }) {
  const session = await openSession(databaseUrl)
  let held = true
  const hold = async () => {
    for (; held; await pause(FREE_MS)) await session.query(HOLD)
  }
  const holding = hold()
  holding.catch(() => {})
  return async () => {
    held = false
    await holding.finally(() => session.end())
  }
}

/** SQLSTATE too_many_connections (Postgres manual, appendix A). */
const TOO_MANY = '53300'

/** Takes every connection that Postgres has left for this user. @type {Plant} */
export async function takeConnections({ databaseUrl }) {
  /** @type {Client[]} */
  const taken = []
  const giveBack = async () => {
    await Promise.all(taken.map((session) => session.end()))
  }
  for (;;) {
    try {
      taken.push(await openSession(databaseUrl))
    } catch (error) {
      if (/** @type {any} */ (error).code === TOO_MANY) return giveBack
      await giveBack()
      throw error
    }
  }
}
