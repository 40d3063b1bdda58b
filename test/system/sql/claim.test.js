import fs from 'node:fs'
import pg from 'pg'
import t from 'tap'
import { markText, readMark, TABLES } from '../../../sql/claim.js'
import { applySchema, DatabaseError, openDatabase } from '../../../sql/database.js'
import { blockTable, rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { withoutOptions } from '../../support/startup.js'
import { until } from '../../support/until.js'

const OWN = ['user-a-%@redline.test']
const OF_THE_LOAD =
  "INSERT INTO users (email, password) VALUES ('user-a-1-0@redline.test', 'x'), ('user-a-1-1@redline.test', 'x')"
const OF_SOMEBODY = "INSERT INTO users (email, password) VALUES ('ada@example.com', 'x')"
const OF_A_KEY = "INSERT INTO redline_idempotency_keys (key, user_id) VALUES ('ours', 1)"
const LAB = "pg_stat_activity WHERE application_name = 'redline-lab' AND datname = current_database()"

const { url: given } = await newDatabase(t)

/** Nothing is left of the test before. */
async function emptyDatabase() {
  await rows(given, 'DROP SCHEMA IF EXISTS redline_lab CASCADE; DROP TABLE IF EXISTS users')
  return given
}

/** @param {string} url @param {string} text the run's rows; then it ends in order, or is cut off */
async function run(url, text, { inOrder = true } = {}) {
  const database = await openDatabase(url, { run: 'r', own: OWN })
  await rows(database.url, text)
  if (inOrder) await database.close()
  else await cutOff(url)
  return database
}

/** Ends the lab's session, and with it the lock that keeps a second lab out. @param {string} url */
async function cutOff(url) {
  await rows(url, `SELECT pg_terminate_backend(pid) FROM ${LAB}`)
  await until('the session of the lab to end', async () => (await rows(url, `SELECT FROM ${LAB}`)).length === 0)
}

/** @param {string} url @returns {Promise<any>} */
async function refusal(url) {
  const error = await openDatabase(url, { run: 'next', own: ['user-b-%@redline.test'] }).then(
    (database) => database.close().then(() => null),
    (thrown) => thrown,
  )
  if (error && !(error instanceof DatabaseError)) throw error
  return error?.message ?? null
}

t.test('what the last run left is emptied, and nothing else', async (t) => {
  /** @type {[string, string, { inOrder?: boolean }, string, RegExp | null][]} */
  const cases = [
    ['a run that ended in order', OF_THE_LOAD, {}, 'SELECT 1', null],
    ['a run that ended in order, without rows', 'SELECT 1', {}, 'SELECT 1', null],
    [
      'a row more',
      OF_THE_LOAD,
      {},
      OF_THE_LOAD,
      /holds {"rows":"4","highest_id":"4"}, but run r left {"rows":"2","highest_id":"2"}/,
    ],
    [
      'a row exchanged for another',
      OF_THE_LOAD,
      {},
      `DELETE FROM users WHERE id = 2; ${OF_SOMEBODY}`,
      /holds {"rows":"2","highest_id":"3"}, but run r left {"rows":"2","highest_id":"2"}/,
    ],
    [
      'as many rows of somebody else, from id 1 again',
      OF_THE_LOAD,
      {},
      `TRUNCATE users RESTART IDENTITY; ${OF_SOMEBODY}; ${OF_SOMEBODY}`,
      /holds rows that no load of run r is known to have made \(2\)/,
    ],
    [
      'the email of a row changed',
      OF_THE_LOAD,
      {},
      "UPDATE users SET email = 'ada@example.com' WHERE id = 1",
      /holds rows that no load of run r is known to have made \(1\)/,
    ],
    [
      'a key exchanged for another',
      OF_A_KEY,
      {},
      "UPDATE redline_idempotency_keys SET key = 'theirs'",
      /redline_idempotency_keys holds {"rows":"1","digest":"-?\d+"}, but run r left {"rows":"1","digest":"-?\d+"}/,
    ],
    ['a run that was cut off', OF_THE_LOAD, { inOrder: false }, 'SELECT 1', null],
    ['a run that was cut off before its first row', 'SELECT 1', { inOrder: false }, 'SELECT 1', null],
    [
      'a row beside those of a cut-off run',
      OF_THE_LOAD,
      { inOrder: false },
      OF_SOMEBODY,
      /no load of run r is known to have made \(1\)/,
    ],
    [
      'rows of another seed',
      OF_THE_LOAD,
      { inOrder: false },
      "INSERT INTO users (email, password) VALUES ('user-b-1-0@redline.test', 'x')",
      /no load of run r is known to have made \(1\)/,
    ],
    [
      'a row that came in before the run ended',
      OF_SOMEBODY,
      {},
      'SELECT 1',
      /no load of run r is known to have made \(1\)/,
    ],
    ['somebody else’s comment', OF_THE_LOAD, {}, "COMMENT ON TABLE users IS 'ask Ada'", /was not made by the lab/],
    [
      'a table of the same name',
      OF_THE_LOAD,
      {},
      'ALTER TABLE users RENAME TO old; CREATE TABLE users (LIKE old)',
      /was not made/,
    ],
    [
      'a view of the same name',
      OF_THE_LOAD,
      {},
      'ALTER TABLE users RENAME TO old; CREATE VIEW users AS SELECT * FROM old',
      /was not made by the lab/,
    ],
    [
      'a table that refers to it',
      OF_THE_LOAD,
      {},
      'CREATE TABLE redline_lab.orders (user_id bigint REFERENCES users)',
      /DROP CONSTRAINT.*Table "orders" references "users"/,
    ],
    [
      'a table that inherits, with a row',
      OF_THE_LOAD,
      {},
      'CREATE TABLE heirs () INHERITS (users); INSERT INTO heirs VALUES (9)',
      /holds {"rows":"3"/,
    ],
  ]
  for (const [name, during, how, between, expected] of cases) {
    const url = await emptyDatabase()
    const { url: inside } = await run(url, during, how)
    await rows(inside, between.replace('heirs VALUES (9)', "heirs (email, password) VALUES ('x', 'x')"))
    const before = await rows(inside, 'SELECT count(*)::int FROM users')
    const message = await refusal(url)
    if (expected) {
      t.match(message, expected, name)
      t.match(message, /drop (table )?redline_lab\.\w+|DROP CONSTRAINT/i, `${name}: what to do`)
      t.strictSame(await rows(inside, 'SELECT count(*)::int FROM users'), before, `${name}: nothing is lost`)
    } else t.equal(message, null, name)
  }
})

t.test('indexes that a killed run had added are removed, and those of somebody else are not', async (t) => {
  const url = await emptyDatabase()
  const added = 'CREATE INDEX redline_index_1 ON users (email); CREATE INDEX redline_index_2 ON users (password)'
  const { url: own } = await run(url, `${added}; CREATE INDEX of_mine ON users (email)`, { inOrder: false })
  await (await openDatabase(url, { run: 'next', own: OWN })).close()
  const left = await rows(own, "SELECT indexname AS name FROM pg_indexes WHERE tablename = 'users' ORDER BY name")
  t.strictSame(
    left.map(({ name }) => name),
    ['of_mine', 'users_pkey'],
  )
})

t.test('rows that cannot be told from others: accepted after an end in order, refused after a kill', async (t) => {
  const url = await emptyDatabase()
  const first = await openDatabase(url, { run: 'mix', own: null })
  await rows(first.url, OF_SOMEBODY)
  await first.reset()
  await rows(first.url, OF_SOMEBODY)
  await first.close()
  const second = await openDatabase(url, { run: 'mix', own: null })
  t.equal(await second.countRows(), 0)
  await rows(second.url, OF_SOMEBODY)
  await cutOff(url)
  t.match(await refusal(url), /no load of run mix is known to have made \(1\)\. .*DROP TABLE redline_lab\.users/)
})

t.test('rows that cannot be told from others are those that the run left, or are kept', async (t) => {
  const own = new URL(given).pathname.slice(1)
  /** @type {[string, string, RegExp | null][]} */
  const cases = [
    ['the same rows, seen with other settings', `ALTER DATABASE ${own} SET timezone = 'Asia/Kathmandu'`, null],
    [
      'as many rows of somebody else',
      'TRUNCATE users RESTART IDENTITY; INSERT INTO users (email, password) VALUES (1, 1)',
      /holds {"rows":"1","highest_id":"1","digest":"-?\d+"}, but run mix left {"rows":"1","highest_id":"1",/,
    ],
    ['a changed row', "UPDATE users SET password = 'changed'", /but run mix left/],
  ]
  t.teardown(() => rows(given, `ALTER DATABASE ${own} RESET timezone`))
  for (const [name, between, expected] of cases) {
    const url = await emptyDatabase()
    const first = await openDatabase(url, { run: 'mix', own: null })
    await rows(first.url, `${OF_SOMEBODY}; ${OF_A_KEY}`)
    await first.close()
    await rows(first.url, between)
    const message = await refusal(url)
    if (expected) t.match(message, expected, name)
    else t.equal(message, null, name)
  }
})

t.test('a reset refuses sessions of others where rows cannot be told apart', async (t) => {
  const url = await emptyDatabase()
  await rows(url, 'CREATE SCHEMA IF NOT EXISTS shared')
  t.teardown(() => rows(url, 'DROP SCHEMA shared CASCADE'))
  const shared = new URL(url)
  shared.searchParams.set('options', '-c search_path=shared')
  const theirs = {
    'a schema of its own': { given: url, insert: OF_SOMEBODY.replace('users', 'redline_lab.users') },
    'a schema that was named': { given: shared.href, insert: OF_SOMEBODY },
  }
  for (const [name, { given, insert }] of Object.entries(theirs)) {
    const database = await openDatabase(given, { run: 'mix', own: null })
    const [api, other] = ['redline-api', 'somebody'].map((application_name) => {
      return new pg.Client({ connectionString: database.url, application_name })
    })
    await Promise.all([api.connect(), other.connect()])
    await api.query(insert)
    await other.query('SELECT 1')
    await database.reset()
    t.equal(await database.countRows(), 0, `${name}: the API of the run, and a session elsewhere, are no matter`)
    await other.query(insert)
    await t.rejects(database.reset(), { message: /users is in use by session \d+ \(somebody.*cannot be told/ }, name)
    t.equal(await database.countRows(), 1, `${name}: nothing is lost`)
    await Promise.all([api.end(), other.end()])
    await database.close()
  }
})

t.test('a reset keeps what came in from elsewhere, and a table that was exchanged', async (t) => {
  const url = await emptyDatabase()
  const database = await openDatabase(url, { run: 'r', own: OWN })
  await rows(database.url, OF_THE_LOAD)
  await database.reset()
  await rows(database.url, OF_SOMEBODY)
  await t.rejects(database.reset(), {
    message: /no load of run r is known to have made \(1\)\. The run stops and keeps them/,
  })
  t.equal(await database.countRows(), 1)
  await rows(database.url, 'ALTER TABLE users RENAME TO kept; CREATE TABLE users (LIKE kept INCLUDING ALL)')
  await t.rejects(database.reset(), { message: /was changed during the run/ })
  await database.close()
})

t.test('locks', async (t) => {
  // Each waits for as long as the lab does, in a database of its own.
  t.jobs = 3
  t.test(
    'a table that a session has locked is refused after a few seconds, with the name of the session',
    { buffered: true },
    async (t) => {
      const { url } = await newDatabase(t)
      await rows(url, 'DROP TABLE users')
      const { url: inside } = await run(url, OF_THE_LOAD)
      const release = await blockTable(t, `${inside}&application_name=somebody`)
      t.match(await refusal(url), /redline_lab\.users is in use by session \d+ \(somebody, redline, 127\.0\.0\.1\)/)
      await release()
      t.equal(await refusal(url), null)
    },
  )

  t.test(
    'a locked table: the error names the session that holds it, and the run can be closed',
    { buffered: true },
    async (t) => {
      const { url } = await newDatabase(t)
      await rows(url, 'DROP TABLE users')
      const database = await openDatabase(url, { run: 'r', own: OWN })
      const release = await blockTable(t, `${database.url}&application_name=somebody`)
      const counted = database.countRows().catch((error) => error)
      await until('the lab to wait', async () => {
        return (await rows(url, `SELECT FROM ${LAB} AND wait_event_type = 'Lock'`)).length > 0
      })
      const error = await counted
      t.type(error, DatabaseError)
      t.match(error.message, /redline_lab\.users is in use by session \d+ \(somebody/)
      const waiting = database.countRows().catch((error) => error)
      await database.close()
      t.type(await waiting, Error)
      t.notMatch((await waiting).message, /in use by/, 'it does not wait for the lock again')
      await release()
    },
  )

  t.test('tables that another session is making are refused with a plain message', { buffered: true }, async (t) => {
    const { url } = await newDatabase(t)
    await rows(url, 'DROP TABLE users')
    await rows(url, 'CREATE SCHEMA redline_lab')
    const other = new pg.Client({ connectionString: url })
    await other.connect()
    t.teardown(() => other.end())
    await other.query('BEGIN; CREATE TABLE redline_lab.users (id int)')
    t.match(await refusal(url), /the schema is in use by another session/)
  })
})

t.test('a pooler that drops the search path is refused before anything is made', async (t) => {
  const url = await emptyDatabase()
  t.match(
    await refusal(await withoutOptions(t, url)),
    /search_path.*redline_lab.*got public.*ignore_startup_parameters/,
  )
  t.strictSame(await rows(url, "SELECT to_regclass('public.users') AS made"), [{ made: null }])
})

t.test('applySchema marks nothing, and the lab does not take its table', async (t) => {
  const url = await emptyDatabase()
  await applySchema(url)
  t.strictSame(await rows(url, "SELECT obj_description('public.users'::regclass, 'pg_class') AS mark"), [
    { mark: null },
  ])
  const named = new URL(url)
  named.searchParams.set('options', '-c search_path=public')
  t.match(await refusal(named.href), /public\.users was not made by the lab.*Leave search_path out/)
})

t.test('every table that a reset empties is one that is marked and checked', async (t) => {
  const [, names] = /^TRUNCATE ([\w, ]+?) RESTART IDENTITY;$/m.exec(fs.readFileSync('sql/reset.sql', 'utf8')) ?? []
  t.strictSame(names?.split(', '), TABLES)
})

t.test('a mark is read as it was written; other comments are none', async (t) => {
  for (const mark of [
    { run: '20261121T000000Z-sweep', own: ['user-a-%@redline.test'], left: null },
    { run: 'r', own: null, left: { rows: '9007199254740993', highest_id: null } },
  ]) {
    t.strictSame(readMark(markText(mark)), mark)
  }
  for (const comment of [
    null,
    '',
    'customers',
    'redline: emptied before every trial',
    'redline: made by run x',
    'redline: made by run x {"run":',
    'redline: made by run x {}',
  ]) {
    t.equal(readMark(comment), null, String(comment))
  }
})
