import { LAB_USER } from '../../load/generators/mix.js'
import { openSession } from './session.js'

const NOT_ALLOWED = '42501'
const UNIQUE = 'CREATE UNIQUE INDEX redline_index_1 ON users (email)'
/** Columns of further indexes, each of which must be updated for every row. */
const FURTHER = ['password', 'lower(email)', 'email, password']

/** Statements that create this many indexes besides the primary key, first a unique one on email. @param {number} number */
export function indexStatements(number) {
  const further = FURTHER.map((columns, i) => `CREATE INDEX redline_index_${i + 2} ON users (${columns})`)
  return [UNIQUE, ...further].slice(0, number)
}

/** Creates indexes, and returns a function that drops them. @param {string} databaseUrl @param {number} number */
export async function addIndexes(databaseUrl, number) {
  const session = await openSession(databaseUrl)
  const names = Array.from({ length: number }, (_, i) => `redline_index_${i + 1}`)
  const drop = async () => {
    await session.query(`DROP INDEX IF EXISTS ${names.join(', ')}`).finally(() => session.end())
  }
  try {
    for (const statement of indexStatements(number)) await session.query(statement)
  } catch (error) {
    await drop().catch(() => {})
    throw error
  }
  return drop
}

/** Puts rows into the emptied table and writes them to disk, so that this is not part of the trial. @param {string} databaseUrl @param {number} rows */
export async function fillTable(databaseUrl, rows) {
  const session = await openSession(databaseUrl)
  try {
    await session.query(
      `INSERT INTO users (email, password) SELECT '${LAB_USER}-' || n || '@redline.test', 'secret-' || n FROM generate_series(1, ${rows}) AS n`,
    )
    await session.query('VACUUM ANALYZE users')
    await session.query('CHECKPOINT').catch((error) => {
      if (error.code !== NOT_ALLOWED) throw error
    })
  } finally {
    await session.end()
  }
}
