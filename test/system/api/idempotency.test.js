import pg from 'pg'
import t from 'tap'
import { KEY_PATTERN } from '../../../api/idempotency.js'
import { logged, newUser, post } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { blockTable, rows, untilAtLock } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { tcpProxy } from '../../support/servers.js'
import { until } from '../../support/until.js'

const database = await newDatabase(t)
const proxy = await tcpProxy(t, database.url)
const [api, behindProxy, hashing, forgetful] = await Promise.all([
  startHere(t, database.url),
  startHere(t, proxy.url),
  startHere(t, database.url, { PASSWORD_STORAGE: 'scrypt' }),
  startHere(t, database.url, { IDEMPOTENCY_KEY_TTL_MS: '3600000' }),
])
let keys = 0
const newKey = () => `key-${process.pid}-${keys++}`

/** @param {string} url @param {unknown} user @param {string} key */
function postWith(url, user, key) {
  return post(url, user, { 'Content-Type': 'application/json', 'Idempotency-Key': key })
}

/** @param {{ email: string }} user */
async function countOf({ email }) {
  const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users WHERE email = $1', [email])
  return count
}

const countKeys = async () => {
  const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM redline_idempotency_keys')
  return count
}

t.test('a malformed key is a 400, and stores nothing', async (t) => {
  const user = newUser()
  const answer = await postWith(api.url, user, 'two words')
  t.equal(answer.status, 400)
  t.match(await answer.json(), { code: 'malformed_idempotency_key', detail: /expected one key such as/ })
  t.equal(await countOf(user), 0)
})

// The same statement in every INSERT_MODE: test/unit/api/nth-statement.test.js simulates them all.
t.test('a repeat gets the 201 and the Location of the first, and stores nothing', async (t) => {
  const { url } = api
  const [user, key] = [newUser(), newKey()]
  const first = await postWith(url, user, key)
  t.equal(first.status, 201)
  const repeat = await postWith(url, { ...user, more: 'ignored' }, `"${key}"`)
  t.equal(repeat.status, 201)
  t.match(first.headers.get('location'), /^\/user\/[1-9]\d*$/)
  t.equal(repeat.headers.get('location'), first.headers.get('location'))
  t.equal(await countOf(user), 1)
  for (const other of [
    { ...user, password: 'another' },
    { ...newUser(), password: user.password },
  ]) {
    const reused = await postWith(url, other, key)
    t.equal(reused.status, 422)
    t.match(await reused.json(), { code: 'idempotency_key_reused' })
  }
  t.equal((await postWith(url, user, newKey())).status, 201, 'the same user under another key is another request')
  t.equal(await countOf(user), 2)
})

t.test('requests at once with one key: one row, and each gets its Location', async (t) => {
  const [user, key] = [newUser(), newKey()]
  const answers = await Promise.all(Array.from({ length: 30 }, () => postWith(api.url, user, key)))
  t.strictSame([...new Set(answers.map(({ status }) => status))], [201])
  t.equal(new Set(answers.map(({ headers }) => headers.get('location'))).size, 1)
  t.equal(await countOf(user), 1)
})

t.test(
  'where emails are unique, requests at once with one key are one request, and another key is a 409',
  async (t) => {
    const { url } = await newDatabase(t)
    await rows(url, 'CREATE UNIQUE INDEX one_each ON users (email)')
    const api = await startHere(t, url)
    const [user, key] = [newUser(), newKey()]
    const answers = await Promise.all(Array.from({ length: 30 }, () => postWith(api.url, user, key)))
    t.strictSame([...new Set(answers.map(({ status }) => status))], [201])
    t.equal(new Set(answers.map(({ headers }) => headers.get('location'))).size, 1)
    const other = await postWith(api.url, user, newKey())
    t.equal(other.status, 409)
    t.match(await other.json(), { code: 'user_exists' })
    t.equal((await postWith(api.url, { ...user, password: 'another' }, key)).status, 422)
  },
)

t.test('a password that looks like a hash is known again', async (t) => {
  const user = { ...newUser(), password: '$scrypt$ln=14,r=8,p=5$x' }
  for (const one of [api, hashing]) {
    const key = newKey()
    const [first, repeat] = [await postWith(one.url, user, key), await postWith(one.url, user, key)]
    t.strictSame([first.status, repeat.status], [201, 201])
    t.equal(repeat.headers.get('location'), first.headers.get('location'))
  }
})

t.test('a request that arrives while the first one commits waits for it', async (t) => {
  const [user, key] = [newUser(), newKey()]
  await rows(
    database.url,
    `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END';
     CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON redline_idempotency_keys DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION hold()`,
  )
  t.teardown(() => rows(database.url, 'DROP TRIGGER hold ON redline_idempotency_keys'))
  const holder = new pg.Client({ connectionString: database.url })
  holder.on('error', () => {})
  await holder.connect()
  t.teardown(() => holder.end())
  await holder.query('SELECT pg_advisory_lock(1)')
  const answers = [postWith(api.url, user, key)]
  await untilAtLock(database.url, 1)
  answers.push(postWith(api.url, user, key))
  await untilAtLock(database.url, 2)
  await holder.end()
  const [first, second] = await Promise.all(answers)
  t.strictSame([first.status, second.status], [201, 201])
  t.equal(second.headers.get('location'), first.headers.get('location'))
  t.equal(await countOf(user), 1)
})

t.test('after an unknown outcome, a retry with the key stores no second row', async (t) => {
  const api = behindProxy
  t.equal((await post(api.url, newUser())).status, 201)
  const [user, key] = [newUser(), newKey()]
  const release = await blockTable(t, database.url)
  const lost = postWith(api.url, user, key)
  await untilAtLock(database.url)
  proxy.silence()
  await release()
  await until('the row', async () => (await countOf(user)) === 1)
  proxy.reset()
  t.equal((await lost).status, 504)
  const retry = await postWith(api.url, user, key)
  t.equal(retry.status, 201)
  const stored = await rows(database.url, 'SELECT id FROM users WHERE email = $1', [user.email])
  t.strictSame(
    stored.map(({ id }) => `/user/${id}`),
    [retry.headers.get('location')],
  )
})

t.test('a request that stored nothing claims nothing: the key is free for its retry', async (t) => {
  const [user, key] = [newUser(), newKey()]
  const release = await blockTable(t, database.url)
  const refused = postWith(api.url, user, key)
  await untilAtLock(database.url)
  // As its timeout does.
  await rows(database.url, CANCEL)
  t.equal((await refused).status, 503)
  await release()
  t.equal((await postWith(api.url, user, key)).status, 201)
  t.equal(await countOf(user), 1)
})

const CANCEL =
  "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

t.test('a key whose user is gone stores no second one', async (t) => {
  const [user, key] = [newUser(), newKey()]
  t.equal((await postWith(api.url, user, key)).status, 201)
  await rows(database.url, 'DELETE FROM users WHERE email = $1', [user.email])
  t.equal((await postWith(api.url, user, key)).status, 422)
  t.equal(await countOf(user), 0)
})

// Before anybody else sends it a key: it deletes only so often.
t.test('expired keys are deleted in steps, by requests with a key, and the others stay', async (t) => {
  await rows(database.url, 'TRUNCATE redline_idempotency_keys')
  await rows(
    database.url,
    "INSERT INTO redline_idempotency_keys SELECT 'old-' || i, i, now() - interval '2 hours' FROM generate_series(1, 2500) AS i",
  )
  await rows(
    database.url,
    "INSERT INTO redline_idempotency_keys SELECT 'new-' || i, i FROM generate_series(1, 10) AS i",
  )
  const api = forgetful
  t.equal((await post(api.url, newUser())).status, 201)
  t.equal(await countKeys(), 2510, 'a request without a key deletes nothing')
  const counts = []
  for (let i = 1; i <= 3; i++) {
    t.equal((await postWith(api.url, newUser(), newKey())).status, 201)
    await until(`step ${i}`, async () => (await countKeys()) === Math.max(10, 2510 - i * 1000) + i)
    counts.push(await countKeys())
  }
  t.strictSame(counts, [1511, 512, 13])
  t.equal((await rows(database.url, "SELECT FROM redline_idempotency_keys WHERE key LIKE 'old-%'")).length, 0)
})

t.test('with PASSWORD_STORAGE=scrypt a repeat is known by its password, and nothing about it is kept', async (t) => {
  const api = hashing
  const [user, key] = [newUser(), newKey()]
  const first = await postWith(api.url, user, key)
  t.equal(first.status, 201)
  const repeat = await postWith(api.url, user, key)
  t.equal(repeat.status, 201)
  t.equal(repeat.headers.get('location'), first.headers.get('location'))
  t.equal((await postWith(api.url, { ...user, password: 'wrong' }, key)).status, 422)
  const [claim] = await rows(database.url, 'SELECT * FROM redline_idempotency_keys WHERE key = $1', [key])
  t.strictSame(Object.keys(claim).sort(), ['created_at', 'key', 'user_id'])
})

t.test('a database without the table: 501 with a key and one log line, 201 without one', async (t) => {
  await rows(database.url, 'ALTER TABLE redline_idempotency_keys RENAME TO elsewhere')
  const mend = () => rows(database.url, 'ALTER TABLE IF EXISTS elsewhere RENAME TO redline_idempotency_keys')
  t.teardown(mend)
  const user = newUser()
  const answers = await Promise.all(Array.from({ length: 20 }, () => postWith(api.url, user, newKey())))
  for (const answer of answers) {
    t.equal(answer.status, 501)
    t.equal(answer.headers.get('retry-after'), null)
    t.match(await answer.json(), { code: 'idempotency_unsupported', detail: /schema\.sql/ })
  }
  t.equal(await countOf(user), 0, 'the key is never ignored')
  t.equal((await post(api.url, user)).status, 201)
  await logged(api, /redline_idempotency_keys.*does not exist/)
  t.equal(api.log().match(/redline_idempotency_keys.*does not exist/g)?.length, 1)
  await mend()
  t.equal((await postWith(api.url, newUser(), newKey())).status, 201, 'and 201 as soon as it is there')
})

t.test('GET takes no notice of a key', async (t) => {
  const location = (await post(api.url, newUser())).headers.get('location') ?? ''
  const answer = await fetch(new URL(location, api.origin), { headers: { 'Idempotency-Key': 'two words' } })
  t.equal(answer.status, 200)
})

t.test('/openapi.json describes the header, and what may become of it', async (t) => {
  const { paths } = /** @type {any} */ (await (await fetch(`${api.origin}/openapi.json`)).json())
  const { parameters, responses } = paths['/user'].post
  t.equal(parameters.length, 1)
  t.match(parameters[0], { name: 'Idempotency-Key', in: 'header', required: false, schema: { pattern: KEY_PATTERN } })
  for (const [status, code] of [
    ['400', 'malformed_idempotency_key'],
    ['422', 'idempotency_key_reused'],
    ['501', 'idempotency_unsupported'],
    ['504', 'outcome_unknown'],
  ]) {
    t.match(responses[status].description, code)
  }
  t.equal(responses['504'].headers, undefined, 'and no Retry-After')
})
