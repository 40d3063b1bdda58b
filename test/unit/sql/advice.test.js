import pg from 'pg'
import t from 'tap'
import { explained } from '../../../sql/advice.js'
import { DatabaseError } from '../../../sql/connection.js'

const URL = 'postgres://me:secret@h/db'

/** @param {string} code @param {string} message */
const refused = (code, message) => Object.assign(new pg.DatabaseError(message, 1, 'error'), { code })

t.test('whatever Postgres refuses comes with what to do', async (t) => {
  const rows = /** @type {[string, 'lab' | 'schema', RegExp][]} */ ([
    ['42501', 'lab', /GRANT CREATE ON DATABASE "db" TO "me", got: no$/],
    ['42501', 'schema', /GRANT CREATE ON SCHEMA public TO "me", got: no$/],
    ['55P03', 'lab', /expected no other session \(.*\) to hold a lock .*: end it \(see pg_locks\), got: no$/],
    ['25006', 'schema', /expected a server and a role that may write/],
    ['42804', 'lab', /expected tables that the lab may make and empty/],
    ['42804', 'schema', /expected sql\/schema\.sql to be applicable/],
  ])
  for (const [code, purpose, message] of rows) {
    const error = explained(refused(code, 'no'), URL, purpose)
    t.type(error, DatabaseError)
    t.match(error.message, message, `${code}, ${purpose}`)
    t.notMatch(error.message, 'secret')
  }
})

t.test('any other error stays as it is', async (t) => {
  const error = new Error('nobody knows')
  t.equal(explained(error, URL, 'lab'), error)
})
