import pg from 'pg'

/**
 * Runs one statement on a connection of its own.
 *
 * @param {string} url
 * @param {string} text
 * @param {unknown[]} [values]
 * @returns {Promise<any[]>}
 */
export async function rows(url, text, values) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

/**
 * Statements on users wait until the returned function is called.
 *
 * @param {any} t
 * @param {string} url
 */
export async function blockTable(t, url) {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  await client.query('BEGIN; LOCK TABLE users')
  const release = () => client.end()
  t.teardown(release)
  return release
}
