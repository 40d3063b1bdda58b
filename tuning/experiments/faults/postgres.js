import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { dropTrigger, openSession, plant, plantTrigger } from '../../knobs/session.js'

/**
 * @import { Plant } from './index.js'
 * @import { Client } from 'pg'
 */

const NAME = 'redline_fault'
const MILLISECOND_ROW = readFileSync(new URL('millisecond-row.sql', import.meta.url), 'utf8')

/** A trigger on `users`. @param {string} work PL/pgSQL @param {'STATEMENT' | 'ROW'} [each] @returns {Plant} */
export function trigger(work, each = 'STATEMENT') {
  return ({ databaseUrl }) => plantTrigger(databaseUrl, NAME, each, work)
}

/** A trigger by which each row costs Postgres a millisecond of CPU, whatever the speed of its core. @type {Plant} */
export function millisecondRow({ databaseUrl }) {
  return plant(databaseUrl, MILLISECOND_ROW, dropTrigger(NAME))
}

/**
 * Opens a session that locks the table most of the time. In between, waiting statements get through, so that the lab can count the rows.
 * @param {{ held_ms: number, free_ms: number }} times @returns {Plant}
 */
export function holdLock({ held_ms, free_ms }) {
  const hold_sql = `BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(${held_ms / 1000}); COMMIT`
  return async ({ databaseUrl }) => {
    const session = await openSession(databaseUrl)
    let held = true
    const hold = async () => {
      for (; held; await pause(free_ms)) await session.query(hold_sql)
    }
    const holding = hold()
    holding.catch(() => {})
    return async () => {
      held = false
      await holding.finally(() => session.end())
    }
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
