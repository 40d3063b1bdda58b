/** The statement of the peers on pg, named so that Postgres parses and plans it once per connection. */
const TEXT = 'INSERT INTO users (email, password) VALUES ($1, $2) RETURNING id'

/** @param {unknown} value */
export function isText(value) {
  return typeof value === 'string' && value.length > 0 && value.length <= 255
}

/** @param {string} email @param {string} password */
export function insertUser(email, password) {
  return { name: 'insert_user', text: TEXT, values: [email, password] }
}
