import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t from 'tap'
import { newUser, post, untilMetric } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'

const CLI = fileURLToPath(new URL('../../../sql/cli.js', import.meta.url))
const MAX_ID = '9223372036854775807'

/** Enough to cross each border of types. */
const AT_ONCE = 8

/** The table as earlier versions created it. */
const OLD_TABLE = `
  DROP TABLE IF EXISTS users;
  CREATE TABLE users (id serial PRIMARY KEY, email varchar(255) NOT NULL, password varchar(255) NOT NULL);
  COMMENT ON TABLE users IS 'redline: emptied before every trial'`

const ID_TYPE = `
  SELECT format_type(atttypid, atttypmod) AS column,
    (SELECT data_type::text FROM pg_sequences WHERE sequencename = 'users_id_seq') AS sequence
  FROM pg_attribute WHERE attrelid = 'users'::regclass AND attname = 'id'`

const database = await newDatabase(t)

/** @param {string} id that the next row gets */
const continueAt = (id) => rows(database.url, `SELECT setval('users_id_seq', ${id}, false)`)

/** Stores so many users at once, and gives each with the id that it was told. @param {string} url @param {number} count */
async function store(url, count) {
  const users = Array.from({ length: count }, newUser)
  const answers = await Promise.all(users.map((user) => post(url, user)))
  return answers.map((answer, i) => ({
    status: answer.status,
    id: answer.headers.get('location')?.slice('/user/'.length),
    email: users[i].email,
  }))
}

/** Those among them whose row is not under the id that they were told. @param {Awaited<ReturnType<typeof store>>} stored */
async function misplaced(stored) {
  const found = await rows(database.url, "SELECT id::text, email FROM users WHERE password = 'secret'")
  const emailOf = new Map(found.map(({ id, email }) => [id, email]))
  return stored.filter(({ status, id, email }) => status !== 201 || emailOf.get(id) !== email)
}

const MODES = ['single', 'prepared', 'pipelined', 'batched']
// They see the old table first.
await rows(database.url, OLD_TABLE)
const apis = await Promise.all(
  MODES.map(async (mode) => ({ mode, api: await startHere(t, database.url, { INSERT_MODE: mode }) })),
)

async function endSessions() {
  const others = 'FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()'
  await rows(database.url, `SELECT pg_terminate_backend(pid) ${others}`)
  for (const { api } of apis) await untilMetric(api, 'redline_pool_total', 0)
}

/** Applies the schema as a user does. */
function applySchema() {
  const env = { ...process.env, DATABASE_URL: database.url }
  const { status, stderr } = spawnSync(process.execPath, [CLI], { env, encoding: 'utf8', timeout: 60_000 })
  return { status, stderr }
}

t.test('an old table with serial ids: the API serves it, also while it becomes bigint', async (t) => {
  const works = async () => {
    for (const { api } of apis) {
      const { url } = api
      const stored = await store(url, AT_ONCE)
      t.strictSame(await misplaced(stored), [])
      t.equal((await fetch(`${url}/${stored[0].id}`)).status, 200)
      t.equal((await fetch(`${url}/${MAX_ID}`)).status, 404, 'an id that the old type cannot hold')
    }
  }
  await works()
  const reader = new pg.Client({ connectionString: database.url })
  await reader.connect()
  await reader.query('BEGIN; SELECT FROM users LIMIT 1')
  const { status, stderr } = applySchema()
  t.equal(status, 0, 'it waits for nobody who reads the table')
  await reader.end()
  const [, statement] = /(ALTER TABLE .*; ALTER SEQUENCE .*)$/m.exec(stderr) ?? []
  t.ok(statement, `it says which statement makes the ids bigint: ${stderr}`)
  t.strictSame(await rows(database.url, ID_TYPE), [{ column: 'integer', sequence: 'integer' }], 'and changes nothing')
  await rows(database.url, statement)
  t.strictSame(await rows(database.url, ID_TYPE), [{ column: 'bigint', sequence: 'bigint' }])
  await continueAt('2147483644')
  await works()
})

t.test('an empty table, for which sessions parse their statements anew', async (t) => {
  await rows(database.url, 'TRUNCATE users RESTART IDENTITY')
  await endSessions()
  t.strictSame(await rows(database.url, 'SELECT id FROM users'), [])
})

for (const { mode, api } of apis) {
  t.test(`${mode}: users are stored and found under ids beyond 2^31 and 2^53, up to the largest bigint`, async (t) => {
    t.teardown(() => rows(database.url, 'TRUNCATE users RESTART IDENTITY'))
    for (const first of ['1', '2147483644', '9007199254740988', '9223372036854775800']) {
      await continueAt(first)
      const stored = await store(api.url, AT_ONCE)
      t.strictSame(await misplaced(stored), [], `from ${first}`)
      t.strictSame(
        stored.map(({ id }) => BigInt(id ?? 0) - BigInt(first)).sort((a, b) => Number(a - b)),
        Array.from({ length: AT_ONCE }, (_, i) => BigInt(i)),
      )
      for (const { id } of [stored[0], stored[AT_ONCE - 1]]) {
        const answer = await fetch(`${api.url}/${id}`)
        t.equal(answer.status, 200)
        t.equal(await answer.text(), `{"id":${id}}`, 'every digit of the id')
      }
    }
    t.equal((await fetch(`${api.url}/${MAX_ID}`)).status, 200)
    for (const id of ['9223372036854775808', '9999999999999999999', '10000000000000000000']) {
      t.equal((await fetch(`${api.url}/${id}`)).status, 404, `${id}: beyond the largest bigint`)
    }
  })
}

t.test('an old table without rows becomes bigint when the schema is applied', async (t) => {
  await rows(database.url, OLD_TABLE)
  t.equal(applySchema().status, 0)
  t.strictSame(await rows(database.url, ID_TYPE), [{ column: 'bigint', sequence: 'bigint' }])
  const again = applySchema()
  t.equal(again.status, 0)
  t.notMatch(again.stderr, 'ALTER', 'applied again, it has nothing to say')
})
