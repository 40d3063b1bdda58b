import pg from 'pg'

/** Pool and statement of the peers on pg. The statement is named, so Postgres parses it once per connection and can reuse its plan. */
const { DATABASE_URL: connectionString, POOL_MAX, POOL_IDLE_TIMEOUT_MS } = process.env
const pool = new pg.Pool({ connectionString, max: Number(POOL_MAX), idleTimeoutMillis: Number(POOL_IDLE_TIMEOUT_MS) })
const INSERT = { name: 'insert_user', text: 'INSERT INTO users (email, password) VALUES ($1, $2) RETURNING id' }

/** @param {string} email @param {string} password @returns {Promise<number>} its id */
export async function insertUser(email, password) {
  const { rows } = await pool.query({ ...INSERT, values: [email, password] })
  return rows[0].id
}

/** @param {unknown} value */
export function isText(value) {
  return typeof value === 'string' && value.length > 0 && value.length <= 255
}
