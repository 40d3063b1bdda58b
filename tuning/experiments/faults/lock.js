import { setTimeout as pause } from 'node:timers/promises'
import { openSession } from '../../knobs/session.js'

/** @import { Plant } from './index.js' */

/** Of the time; in between whoever waits gets through, so that the lab can count the rows. */
const HELD_S = 0.4
const FREE_MS = 100

const HOLD = `BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(${HELD_S}); COMMIT`

/**
 * A session that locks the table most of the time.
 *
 * @type {Plant}
 */
export async function holdLock({ databaseUrl }) {
  const session = await openSession(databaseUrl)
  let held = true
  const holding = hold()
  holding.catch(() => {})
  return async () => {
    held = false
    await holding.finally(() => session.end())
  }

  async function hold() {
    while (held) {
      await session.query(HOLD)
      await pause(FREE_MS)
    }
  }
}
