import pg from 'pg'

/**
 * Opens a session to plant something in Postgres. Temporary objects disappear with it, so none are left if we are killed.
 * @param {string} databaseUrl @param {pg.ClientConfig} [options]
 */
export async function openSession(databaseUrl, options) {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'redline-fault', ...options })
  // A lost connection also makes the next query fail, which is where the caller handles it.
  client.on('error', () => {})
  await client.connect()
  return client
}

/**
 * Plants something in a session of its own, and returns a function that removes it.
 * @param {string} databaseUrl @param {string} statements that create it @param {string} removal statement that drops it
 */
export async function plant(databaseUrl, statements, removal) {
  const session = await openSession(databaseUrl)
  // The end of the session would drop a temporary object too, but at an unknown time.
  const remove = async () => {
    await session.query(removal).finally(() => session.end())
  }
  try {
    await session.query(statements)
  } catch (error) {
    await remove().catch(() => {})
    throw error
  }
  return remove
}

/**
 * Plants a trigger before inserts.
 * @param {string} databaseUrl @param {string} name of the trigger and its function @param {'ROW' | 'STATEMENT'} each
 * @param {string} work PL/pgSQL that it executes
 */
export function plantTrigger(databaseUrl, name, each, work) {
  const create = `CREATE FUNCTION pg_temp.${name}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      ${work}
      RETURN NEW;
    END $$;
    CREATE TRIGGER ${name} BEFORE INSERT ON users FOR EACH ${each} EXECUTE FUNCTION pg_temp.${name}()`
  return plant(databaseUrl, create, dropTrigger(name))
}

/** @param {string} name of a function in pg_temp, which takes its trigger with it */
export const dropTrigger = (name) => `DROP FUNCTION pg_temp.${name} CASCADE`

const TIMEOUTS = { connectionTimeoutMillis: 5000, query_timeout: 5000 }

/** Returns the rows of one query. @param {string} databaseUrl @param {string} text @returns {Promise<any[]>} */
export async function ask(databaseUrl, text) {
  const session = await openSession(databaseUrl, TIMEOUTS)
  try {
    return (await session.query(text)).rows
  } finally {
    await session.end()
  }
}
