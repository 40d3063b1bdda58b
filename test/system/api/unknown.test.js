import t from 'tap'
import { newUser, post } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { blockTable, rows, untilAtLock } from '../../support/database.js'
import { newServer } from '../../support/postgres.js'
import { tcpProxy } from '../../support/servers.js'
import { until } from '../../support/until.js'

const MODES = ['single', 'prepared', 'pipelined', 'batched']
// A commit can be made to wait for a standby only for a whole server.
const database = await newServer(t, { fsync: 'off' })

/** The server's timeout ends no commit; the API's own timer fires a second after it. */
const QUICK = { STATEMENT_TIMEOUT_MS: '2000', POOL_MAX: '6' }

/** @param {any} t @param {Response} answer */
async function saysUnknown(t, answer) {
  t.equal(answer.status, 504)
  t.equal(answer.headers.get('retry-after'), null, 'nobody is invited to retry')
  t.match(await answer.json(), { code: 'outcome_unknown', title: /may or may not be stored.*Idempotency-Key/ })
}

/** @param {{ email: string }[]} users */
async function countOf(users) {
  const emails = users.map(({ email }) => email)
  const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users WHERE email = ANY($1)', [emails])
  return count
}

/** Sessions of others for which this holds. @param {string} condition on pg_stat_activity */
async function waiting(condition) {
  const text = `SELECT count(*)::int FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${condition}`
  const [{ count }] = await rows(database.url, text)
  return count
}

/** Each behind a way to the database that can be cut. */
const apis = await Promise.all(
  MODES.map(async (mode) => {
    const proxy = await tcpProxy(t, database.url)
    return { mode, proxy, api: await startHere(t, proxy.url, { ...QUICK, INSERT_MODE: mode }) }
  }),
)

t.test('a commit that waits for a standby: 504 in every INSERT_MODE, and the row comes later, once', async (t) => {
  const standby = async (/** @type {string} */ names) => {
    await rows(database.url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
    await rows(database.url, 'SELECT pg_reload_conf()')
  }
  await standby('nobody')
  t.teardown(() => standby(''))
  // Commits wait as soon as the checkpointer has read the new setting, which it does at some later time.
  let commits = 0
  await until('a commit to wait', async () => {
    rows(database.url, `CREATE TABLE commit_${++commits} ()`).catch(() => {})
    return (await waiting("wait_event = 'SyncRep'")) > 0
  })
  // Several at once, so that batched stores them together, and pipelined behind one another.
  const users = MODES.map(() => [newUser(), newUser(), newUser(), newUser(), newUser(), newUser()])
  const answers = await Promise.all(apis.map(({ api }, i) => Promise.all(users[i].map((user) => post(api.url, user)))))
  t.equal(answers.flat().length, 4 * 6)
  for (const answer of answers.flat()) await saysUnknown(t, answer)
  t.equal(await countOf(users.flat()), 0, 'no row is visible')
  await standby('')
  await until('the rows of single', async () => (await countOf(users[0])) === users[0].length)
  await until('the end of every commit', async () => (await waiting("wait_event = 'SyncRep'")) === 0)
  const emails = users.flat().map(({ email }) => email)
  const twice = 'SELECT email FROM users WHERE email = ANY($1) GROUP BY email HAVING count(*) > 1'
  t.strictSame(await rows(database.url, twice, [emails]), [], 'no row is there twice')
  for (const { api } of apis) t.equal((await post(api.url, newUser())).status, 201, 'and the API serves again')
})

t.test('a response that is lost after the commit is a 504, and the row is there', async (t) => {
  for (const { api } of apis) t.equal((await post(api.url, newUser())).status, 201)
  const release = await blockTable(t, database.url)
  const users = apis.map(newUser)
  const answers = apis.map(({ api }, i) => post(api.url, users[i]))
  await untilAtLock(database.url, apis.length)
  for (const { proxy } of apis) proxy.silence()
  await release()
  await until('the rows', async () => (await countOf(users)) === users.length)
  for (const [i, { mode, api, proxy }] of apis.entries()) {
    t.comment(mode)
    proxy.reset()
    await saysUnknown(t, await answers[i])
    t.equal((await post(api.url, newUser())).status, 201, 'and the next request has a connection of its own')
    t.equal(await countOf([users[i]]), 1)
  }
})

t.test('a read without a response is a 503: it leaves nothing open', async (t) => {
  const { api, proxy } = apis[MODES.indexOf('prepared')]
  const location = (await post(api.url, newUser())).headers.get('location') ?? ''
  proxy.silence()
  const answer = await fetch(new URL(location, api.origin))
  t.equal(answer.status, 503)
  t.equal(answer.headers.get('retry-after'), '1')
  t.match(await answer.json(), { code: 'database_unavailable' })
})

t.test('a session that an administrator ends under its statement: 503, and no row', async (t) => {
  const { api } = apis[MODES.indexOf('prepared')]
  await until('a 201', async () => (await post(api.url, newUser())).status === 201)
  const release = await blockTable(t, database.url)
  const user = newUser()
  const answer = post(api.url, user)
  await untilAtLock(database.url)
  await rows(database.url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
  t.equal((await answer).status, 503)
  t.match(await (await answer).json(), { code: 'database_unavailable' })
  await release()
  t.equal((await post(api.url, newUser())).status, 201)
  t.equal(await countOf([user]), 0)
})

t.test('an id that changes its type under prepared statements costs no request', async (t) => {
  // One request at a time takes the session that was used last, which has prepared its statement.
  const { api } = apis[MODES.indexOf('prepared')]
  t.equal((await post(api.url, newUser())).status, 201)
  const [{ type }] = await rows(
    database.url,
    "SELECT format_type(atttypid, -1) AS type FROM pg_attribute WHERE attrelid = 'users'::regclass AND attname = 'id'",
  )
  const alter = (/** @type {string} */ to) => rows(database.url, `ALTER TABLE users ALTER COLUMN id TYPE ${to}`)
  await alter(type === 'bigint' ? 'integer' : 'bigint')
  t.teardown(() => alter(type))
  t.equal((await post(api.url, newUser())).status, 201, 'ids are sent as text, so the statement still fits')
})
