import t from 'tap'
import { RowRefused } from '../../../api/errors.js'
import { createBatcher, textArray } from '../../../api/insert.js'
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

/** Statements that are answered when the test says so, in the order in which they left. @param {number} batchSlots */
function heldBatcher(batchSlots) {
  /** @type {{ rows: number, answer: (result: any) => void, fail: (error: Error) => void }[]} */
  const statements = []
  let lastId = 0
  const held = (/** @type {number} */ rows) => new Promise((answer, fail) => statements.push({ rows, answer, fail }))
  const insert = createBatcher(
    {
      insertOne: async () => (await held(1)) ?? String(++lastId),
      insertMany: async (users) => (await held(users.length)) ?? users.map(() => String(++lastId)),
    },
    { batchSlots, batchMaxRows: 10 },
  )
  return {
    statements,
    insert,
    insertMany: (/** @type {number} */ n) => Array.from({ length: n }, () => insert(newUser())),
  }
}

/** Long enough for an answer to be taken in, and for the next statement to leave. */
async function turn() {
  for (let i = 0; i < 3; i++) await new Promise(setImmediate)
}

t.test('one by one, rows take a slot each; once they share a statement, it goes alone', async (t) => {
  const { statements, insertMany } = heldBatcher(3)
  const rowsSent = () => statements.map(({ rows }) => rows)
  const inserts = []
  for (let i = 0; i < 4; i++) {
    inserts.push(...insertMany(1))
    await turn()
  }
  t.strictSame(rowsSent(), [1, 1, 1], 'a slot each, and the fourth waits')
  inserts.push(...insertMany(4))
  await turn()
  statements[0].answer(undefined)
  await turn()
  t.strictSame(rowsSent(), [1, 1, 1, 5], 'those that have waited go together')
  inserts.push(...insertMany(25))
  statements[1].answer(undefined)
  statements[2].answer(undefined)
  await turn()
  t.strictSame(rowsSent(), [1, 1, 1, 5], 'and nothing goes beside them')
  for (let sent = 3; sent < statements.length; sent++) {
    statements[sent].answer(undefined)
    await turn()
  }
  t.strictSame(rowsSent(), [1, 1, 1, 5, 10, 10, 5], 'at most ten at once')
  t.equal(new Set(await Promise.all(inserts)).size, 33, 'each has an id of its own')
})

t.test('a statement that gets no answer holds up nobody for long', async (t) => {
  const { statements, insertMany } = heldBatcher(2)
  const lost = insertMany(3)
  await turn()
  const next = insertMany(2)
  await turn()
  t.equal(statements.length, 1, 'it goes alone')
  while (statements.length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
  statements[1].answer(undefined)
  t.strictSame(await Promise.all(next), ['1', '2'])
  statements[0].answer(undefined)
  t.strictSame(await Promise.all(lost), ['3', '4', '5'])
  const after = insertMany(2)
  await turn()
  statements[2].answer(undefined)
  t.strictSame(await Promise.all(after), ['6', '7'], 'and the counts are right again')
})

t.test('when a row is refused, each is tried alone; after any other error none is tried again', async (t) => {
  const { statements, insertMany } = heldBatcher(1)
  const refused = insertMany(3).map((row) => row.catch((error) => error.message))
  await turn()
  statements[0].fail(new RowRefused(new Error('one of them')))
  await turn()
  t.equal(statements.length, 4)
  statements[1].answer(undefined)
  statements[2].fail(new RowRefused(new Error('this one')))
  statements[3].answer(undefined)
  t.strictSame(await Promise.all(refused), ['1', 'this one', '2'])

  const lost = insertMany(3).map((row) => row.catch((error) => error.message))
  await turn()
  statements[4].fail(new Error('nobody knows'))
  t.strictSame(await Promise.all(lost), ['nobody knows', 'nobody knows', 'nobody knows'])
  t.equal(statements.length, 5)
  const next = insertMany(1)
  await turn()
  statements[5].answer(undefined)
  t.strictSame(await Promise.all(next), ['3'], 'and the slot is free again')
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
