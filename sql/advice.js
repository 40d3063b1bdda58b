import pg from 'pg'
import { DatabaseError } from './connection.js'

/**
 * Turns an error of Postgres into one that says what was expected and what to do. Pure.
 * @param {any} error @param {string} url of the database @param {'lab' | 'schema'} purpose lab: to open the lab's database; schema: to
 *   apply the schema for an API
 * @returns {any} a DatabaseError, or any other error as it is
 */
export function explained(error, url, purpose) {
  if (!(error instanceof pg.DatabaseError)) return error
  const { username, pathname } = new URL(url)
  const [role, database] = [username, pathname.slice(1)].map(decodeURIComponent).map(pg.escapeIdentifier)
  const grant =
    purpose === 'lab'
      ? `may make the lab's schema and owns what is in it: GRANT CREATE ON DATABASE ${database} TO ${role}`
      : `owns the tables, or may make them: GRANT CREATE ON SCHEMA public TO ${role}`
  // SQLSTATEs (Postgres manual, appendix A): a missing privilege, a read-only server, a missing schema, a foreign key, a lock.
  const todo =
    {
      42501: `expected a role that ${grant}`,
      25006: 'expected a server and a role that may write; this one is read-only',
      '3F000': 'expected the schema of the search_path to exist: CREATE SCHEMA, or leave search_path out',
      '0A000':
        purpose === 'lab'
          ? "expected no table that refers to the lab's: ALTER TABLE … DROP CONSTRAINT …"
          : 'expected no view or rule that uses users.id: drop it, apply the schema, and create it again',
      '55P03':
        'expected no other session (of a killed run, for example) to hold a lock on the tables: end it (see pg_locks)',
    }[String(error.code)] ??
    (purpose === 'lab' ? 'expected tables that the lab may make and empty' : 'expected sql/schema.sql to be applicable')
  return new DatabaseError(`DATABASE_URL: ${todo}, got: ${[error.message, error.detail].filter(Boolean).join('. ')}`)
}
