/** @import { Database } from './database.js' */

/** A setting of the database, unknown to Postgres. ALTER SYSTEM outlives every process, so it tells the next run whose the delay is. */
const MARK = 'redline.delays_commits'
/** Number of an advisory lock of the session that sets delays: Postgres may still execute the last statement of a killed process. */
const LOCK = 7_335_464

const atDatabase = (/** @type {string} */ change) =>
  `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I ${change}', current_database()); END $$`

/** Marks the database, before the first delay. @param {Database['query']} query of a superuser, in the session that will set it */
export async function markDelays(query) {
  await query(`SELECT pg_advisory_lock(${LOCK})`)
  await query(atDatabase(`SET ${MARK} = true`))
}

/**
 * Has every flush of the write-ahead log wait, with its lock held, so that flushes are late one after another.
 * @param {Database['query']} query of a superuser @param {number} delay_us of 1 to 100,000; 0: Postgres' default, no delay
 */
export async function delayCommits(query, delay_us) {
  const change = (/** @type {string} */ name, /** @type {number} */ value) =>
    query(delay_us > 0 ? `ALTER SYSTEM SET ${name} = ${value}` : `ALTER SYSTEM RESET ${name}`)
  await change('commit_delay', delay_us)
  await change('commit_siblings', 0)
  await query('SELECT pg_reload_conf()')
}

/**
 * Takes back a delay that may have been left behind, for example by a killed run.
 * @param {Database['query']} query @returns {Promise<boolean>} whether a run had marked the database
 */
export async function undelayCommits(query) {
  const [{ is_marked }] = await query(`SELECT EXISTS (
    SELECT FROM pg_db_role_setting JOIN pg_database ON pg_database.oid = setdatabase
    WHERE datname = current_database() AND '${MARK}=true' = ANY (setconfig)) AS is_marked`)
  if (!is_marked) return false
  await query(`SELECT pg_advisory_lock(${LOCK})`)
  await delayCommits(query, 0)
  await query(atDatabase(`RESET ${MARK}`))
  await query(`SELECT pg_advisory_unlock(${LOCK})`)
  return true
}
