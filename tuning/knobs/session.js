import pg from 'pg'

/** A session that plants a fault in Postgres. The fault ends with it, so that nothing is left when we are killed. @param {string} databaseUrl */
export async function openSession(databaseUrl) {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'redline-fault' })
  // A lost connection makes the next query fail, which is where somebody waits for it.
  client.on('error', () => {})
  await client.connect()
  return client
}
