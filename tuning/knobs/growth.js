import { LAB_USER } from '../../load/generators/mix.js'
import { destroy } from '../../sql/connection.js'
import { ask, openSession, plant } from './session.js'

const NOT_ALLOWED = '42501'
const CONNECT_TIMEOUT_MS = 5000
/** Columns of the indexes, each of which must be updated for every row. The first index is unique. */
const COLUMNS = ['email', 'password', 'lower(email)', 'email, password']

/** Creates this many indexes besides the primary key, and returns a function that drops them. @param {string} databaseUrl @param {number} number */
export function addIndexes(databaseUrl, number) {
  const names = Array.from({ length: number }, (_, i) => `redline_index_${i + 1}`)
  const creations = names.map((name, i) => `CREATE ${i === 0 ? 'UNIQUE ' : ''}INDEX ${name} ON users (${COLUMNS[i]})`)
  return plant(databaseUrl, creations.join(';'), `DROP INDEX IF EXISTS ${names.join(', ')}`)
}

/**
 * Puts rows into the emptied table and writes them to disk, so that this is not part of the trial.
 * @param {string} databaseUrl @param {number} rows @param {AbortSignal} signal cancels the statement, which would go on for up to minutes
 */
export async function fillTable(databaseUrl, rows, signal) {
  const session = await openSession(databaseUrl, { connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  let pid = 0
  const cancel = () => {
    if (pid === 0) destroy(session)
    else ask(databaseUrl, `SELECT pg_cancel_backend(${pid})`).catch(() => destroy(session))
  }
  const take = (/** @type {string} */ statement) => {
    signal.throwIfAborted()
    return session.query(statement)
  }
  signal.addEventListener('abort', cancel)
  try {
    const found = await take('SELECT pg_backend_pid() AS pid')
    pid = found.rows[0].pid
    await take(
      `INSERT INTO users (email, password) SELECT '${LAB_USER}-' || n || '@redline.test', 'secret-' || n FROM generate_series(1, ${rows}) AS n`,
    )
    await take('VACUUM ANALYZE users')
    await take('CHECKPOINT').catch((error) => {
      if (error.code !== NOT_ALLOWED) throw error
    })
  } finally {
    signal.removeEventListener('abort', cancel)
    await session.end()
  }
}
