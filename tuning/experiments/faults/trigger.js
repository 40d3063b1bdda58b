import { readFileSync } from 'node:fs'
import { openSession } from '../../knobs/session.js'

/** @import { Plant } from './index.js' */

/**
 * A trigger on `users`.
 *
 * @param {string} file under sql/: creates pg_temp.redline_fault() and the trigger that calls it
 * @returns {Plant}
 */
export function trigger(file) {
  const statements = readFileSync(new URL(`sql/${file}`, import.meta.url), 'utf8')
  return async ({ databaseUrl }) => {
    const session = await openSession(databaseUrl)
    try {
      await session.query(statements)
    } catch (error) {
      await session.end()
      throw error
    }
    return async () => {
      // The session's end would do it too, but nobody would know when.
      await session.query('DROP FUNCTION pg_temp.redline_fault CASCADE').finally(() => session.end())
    }
  }
}
