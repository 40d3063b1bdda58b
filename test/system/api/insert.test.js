import t from 'tap'
import { textArray } from '../../../api/insert.js'
import { metric, newUser } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { inOneBatch, newUsers } from '../../support/batch.js'
import { rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'

const database = await newDatabase(t)

const api = await startHere(t, database.url, { INSERT_MODE: 'batched', BATCH_SLOTS: '1' })

/** @param {Response} answer */
const idOf = (answer) => answer.headers.get('location')?.slice('/user/'.length)

t.test('requests at once share statements, and each gets the id of its own row', async (t) => {
  const users = newUsers(100)
  const before = await metric(api, 'redline_statement_seconds_count')
  const began_ms = performance.now()
  const answers = await inOneBatch(api, database.url, users)
  // For each second that the lock is held, the batcher rightly sends one more.
  const more = Math.floor((performance.now() - began_ms) / 1000)
  t.strictSame([...new Set(answers.map(({ status }) => status))], [201])
  const stored = await rows(database.url, 'SELECT id, email FROM users')
  const emailOf = new Map(stored.map(({ id, email }) => [id, email]))
  t.strictSame(
    answers.map((answer) => emailOf.get(idOf(answer))),
    users.map(({ email }) => email),
  )
  const statements = (await metric(api, 'redline_statement_seconds_count')) - before
  t.ok(
    statements >= 2 && statements <= 2 + more,
    `${statements}: the first, and all others together; ${more} more allowed`,
  )
})

t.test('one bad row fails alone', async (t) => {
  await rows(database.url, "ALTER TABLE users ADD CONSTRAINT no_bad CHECK (email NOT LIKE 'bad%')")
  t.teardown(() => rows(database.url, 'ALTER TABLE users DROP CONSTRAINT no_bad'))
  const users = newUsers(40).map((user, i) => (i % 10 === 7 ? { ...user, email: `bad-${i}@x` } : user))
  const answers = await inOneBatch(api, database.url, users)
  t.strictSame(
    answers.map(({ status }) => status),
    users.map(({ email }) => (email.startsWith('bad') ? 500 : 201)),
  )
  const emails = users.map(({ email }) => email)
  const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users WHERE email = ANY($1)', [emails])
  t.equal(count, 36, 'every 201 is one row, and nothing else is')
})

t.test('where emails are unique, a duplicate is a 409, and fails alone', async (t) => {
  await rows(database.url, 'CREATE UNIQUE INDEX one_email ON users (email)')
  t.teardown(() => rows(database.url, 'DROP INDEX one_email'))
  const users = newUsers(40)
  for (const i of [9, 19]) users[i] = { ...users[i], email: users[i - 1].email }
  const answers = await inOneBatch(api, database.url, users)
  const statuses = answers.map(({ status }) => status)
  t.strictSame(
    [8, 18].map((i) => [statuses[i], statuses[i + 1]].sort()),
    [
      [201, 409],
      [201, 409],
    ],
  )
  t.strictSame(
    statuses.filter((_, i) => ![8, 9, 18, 19].includes(i)),
    Array(36).fill(201),
  )
  const refused = answers.find(({ status }) => status === 409)
  t.match(await refused?.json(), { code: 'user_exists', status: 409 })
  const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users WHERE email = ANY($1)', [
    users.map(({ email }) => email),
  ])
  t.equal(count, 38)
})

t.test('a row that vanished is an error for its batch, and is not stored twice', async (t) => {
  await rows(
    database.url,
    'CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.email LIKE $q$lost%$q$ THEN RETURN NULL; END IF; RETURN NEW; END $$',
  )
  await rows(database.url, 'CREATE TRIGGER swallow BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION swallow()')
  t.teardown(() => rows(database.url, 'DROP TRIGGER swallow ON users'))
  const users = newUsers(30)
  users[15].email = 'lost@x'
  const [first, ...others] = await inOneBatch(api, database.url, users)
  t.equal(first.status, 201)
  t.equal(others.length, 29)
  for (const answer of others) {
    t.equal(answer.status, 504)
    t.match(await answer.json(), { code: 'outcome_unknown' }, 'the ids do not tell which row is missing')
  }
  t.equal(
    (await inOneBatch(api, database.url, [{ ...newUser(), email: 'lost@x' }]))[0].status,
    500,
    'alone, it is known',
  )
  const emails = users.map(({ email }) => email)
  const twice = await rows(
    database.url,
    'SELECT email FROM users WHERE email = ANY($1) GROUP BY email HAVING count(*) > 1',
    [emails],
  )
  t.strictSame(twice, [])
  const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users WHERE email = ANY($1)', [emails])
  t.equal(count, 29, 'and all but one are there')
})

t.test('textArray says the same to Postgres as its strings do', async (t) => {
  const texts = [
    '',
    'plain',
    '{"a","b"}',
    'NULL',
    '\\',
    '"',
    "'; DROP TABLE users; --",
    'ünïcödé',
    '😀',
    'line\nbreak',
    ' ',
    ',',
  ]
  const [{ back }] = await rows(database.url, 'SELECT $1::text[] AS back', [textArray(texts)])
  t.strictSame(back, texts)
  t.strictSame(await rows(database.url, 'SELECT unnest($1::text[]) AS back', [textArray(['one'])]), [{ back: 'one' }])
})
