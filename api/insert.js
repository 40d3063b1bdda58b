/**
 * The ways to store one user. Each takes the pool and gives a function that resolves to the new id once the row is
 * committed: a statement outside a transaction block is answered after its commit.
 */

const INSERT = 'INSERT INTO users (email, password) VALUES ($1, $2) RETURNING id'

/** @typedef {(user: { email: string, password: string }) => Promise<number>} Insert */

/** @type {Record<string, (pool: import('./pool.js').Pool) => Insert>} */
export const insertModes = {
  /** An unnamed statement per request: Postgres parses and plans it each time. The article's way. */
  single: (pool) => async (user) => {
    const { rows } = await pool.query({ text: INSERT, values: [user.email, user.password] })
    return rows[0].id
  },

  /** A named statement: parsed once per connection, then only bound and executed. */
  prepared: (pool) => async (user) => {
    const { rows } = await pool.query({ name: 'insert_user', text: INSERT, values: [user.email, user.password] })
    return rows[0].id
  },
}
