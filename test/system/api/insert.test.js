import t from 'tap'
import { textArray } from '../../../api/insert.js'
import { metric, newUser, post, startApi } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'

const database = await newDatabase(t)

/** @param {any} t @param {Record<string, string>} [env] */
const start = (t, env) => startApi(t, database.url, { INSERT_MODE: 'batched', ...env })

/** @param {Response} answer */
const idOf = (answer) => answer.headers.get('location')?.slice('/user/'.length)

t.test('requests at once share statements, and each gets the id of its own row', async (t) => {
  const api = await start(t)
  const users = Array.from({ length: 1000 }, newUser)
  const answers = await Promise.all(users.map((user) => post(api.url, user)))
  t.ok(answers.every(({ status }) => status === 201))
  const stored = await rows(database.url, 'SELECT id, email FROM users')
  const emailOf = new Map(stored.map(({ id, email }) => [id, email]))
  for (const [i, answer] of answers.entries()) {
    if (emailOf.get(idOf(answer)) !== users[i].email) t.fail(`${users[i].email} was told ${idOf(answer)}`)
  }
  t.equal(new Set(answers.map(idOf)).size, 1000, 'no id twice')
  const statements = await metric(api, 'redline_statement_seconds_count')
  t.ok(statements < 500, `${statements} statements for 1000 rows`)
})

t.test('one bad row fails alone', async (t) => {
  await rows(database.url, "ALTER TABLE users ADD CONSTRAINT no_bad CHECK (email NOT LIKE 'bad%')")
  t.teardown(() => rows(database.url, 'ALTER TABLE users DROP CONSTRAINT no_bad'))
  const api = await start(t)
  const users = Array.from({ length: 200 }, (_, i) =>
    i % 20 === 7 ? { ...newUser(), email: `bad-${i}@x` } : newUser(),
  )
  const answers = await Promise.all(users.map((user) => post(api.url, user)))
  t.strictSame(
    answers.map(({ status }) => status),
    users.map(({ email }) => (email.startsWith('bad') ? 500 : 201)),
  )
  const emails = users.map(({ email }) => email)
  const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users WHERE email = ANY($1)', [emails])
  t.equal(count, 190, 'every 201 is one row, and nothing else is')
})

t.test('a row that vanished is an error for its batch, and is not stored twice', async (t) => {
  const api = await start(t)
  await rows(
    database.url,
    'CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.email LIKE $q$lost%$q$ THEN RETURN NULL; END IF; RETURN NEW; END $$',
  )
  await rows(database.url, 'CREATE TRIGGER swallow BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION swallow()')
  t.teardown(() => rows(database.url, 'DROP TRIGGER swallow ON users'))
  const users = Array.from({ length: 60 }, (_, i) => (i === 30 ? { ...newUser(), email: 'lost@x' } : newUser()))
  const answers = await Promise.all(users.map((user) => post(api.url, user)))
  t.ok(answers.every(({ status }) => [201, 500, 504].includes(status)))
  t.match(
    await answers[30].json(),
    { code: 'outcome_unknown' },
    'the ids of its batch do not tell which row is missing',
  )
  const emails = users.map(({ email }) => email)
  const twice = await rows(
    database.url,
    'SELECT email FROM users WHERE email = ANY($1) GROUP BY email HAVING count(*) > 1',
    [emails],
  )
  t.strictSame(twice, [])
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
