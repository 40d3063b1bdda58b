import { readFileSync } from 'node:fs'
import pg from 'pg'
import t from 'tap'
import { logged, metric, newUser, post, startApi, startUnready } from '../../support/api.js'
import { blockTable, rows } from '../../support/database.js'
import { newServer } from '../../support/postgres.js'
import { tcpProxy } from '../../support/servers.js'
import { until } from '../../support/until.js'

const server = await newServer(t, { max_connections: '30' })
const SCHEMA = readFileSync(new URL('../../../sql/schema.sql', import.meta.url), 'utf8')

/** The same server, with another database. @param {string} name @param {string} [user] */
function urlOf(name, user) {
  const url = new URL(server.url)
  url.pathname = `/${name}`
  if (user) url.username = user
  return String(url)
}

/**
 * @param {string} name
 * @param {string} [statements] run in it
 * @param {string} [options] of CREATE DATABASE
 */
async function createDatabase(name, statements = '', options = '') {
  await rows(server.url, `CREATE DATABASE ${name} ${options}`)
  await rows(urlOf(name), statements)
  return urlOf(name)
}

/** @param {{ adminUrl: string | null }} api @returns {Promise<{ code: number, status: string, detail?: string, took_ms: number }>} */
async function readyz({ adminUrl }) {
  const asked_ms = performance.now()
  const answer = await fetch(`${adminUrl}/readyz`)
  const { status, detail } = /** @type {any} */ (await answer.json())
  return { code: answer.status, status, detail, took_ms: performance.now() - asked_ms }
}

/** A database of each kind, what /readyz says of it, and how a request ends there, if that is certain. */
const CONDITIONS = [
  {
    name: 'ascii',
    options: "ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0",
    statements: SCHEMA,
    status: 'the database encoding is not UTF8',
    detail: /got SQL_ASCII/,
  },
  {
    name: 'latin1',
    options: "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
    statements: SCHEMA,
    status: 'the database encoding is not UTF8',
    detail: /got LATIN1/,
  },
  {
    name: 'without_table',
    statements: '',
    status: 'the table users is missing',
    detail: /sql\/schema\.sql/,
    post: 500,
  },
  {
    name: 'other_schema',
    statements:
      'CREATE SCHEMA mine; SET search_path TO mine; CREATE TABLE users (id serial, email text, password text)',
    status: 'the table users is missing',
    post: 500,
  },
  {
    name: 'without_password',
    statements: 'CREATE TABLE users (id serial PRIMARY KEY, email text)',
    status: 'the columns of users do not fit',
    detail: /^password: expected text, got no such column/,
    post: 500,
  },
  {
    name: 'with_name',
    statements: `${SCHEMA} ALTER TABLE users ADD name text NOT NULL, ADD note text, ADD made timestamptz NOT NULL DEFAULT now()`,
    status: 'the columns of users do not fit',
    detail: /^name: expected a default/,
    post: 500,
  },
  {
    name: 'short_email',
    statements: `${SCHEMA} ALTER TABLE users ALTER email TYPE varchar(20)`,
    status: 'the columns of users do not fit',
    detail: /^email: expected at least 255 characters, got character varying\(20\)/,
  },
  {
    name: 'without_default',
    statements: `${SCHEMA} ALTER TABLE users ALTER id DROP DEFAULT`,
    status: 'the columns of users do not fit',
    detail: /^id: expected a sequence/,
    post: 500,
  },
  {
    name: 'serial_end',
    statements: `CREATE TABLE users (id serial PRIMARY KEY, email text, password text);
      SELECT setval('users_id_seq', 2147483647)`,
    status: 'the ids run out',
    detail: /got 0 of 2147483647 left/,
    post: 500,
  },
  {
    name: 'identity_near_end',
    statements: `CREATE TABLE users (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, email text, password text);
      SELECT setval(pg_get_serial_sequence('users', 'id'), 2147000000)`,
    status: 'the ids run out',
    detail: /got 483647 of 2147483647 left/,
    post: 201,
  },
  {
    name: 'cycle_near_end',
    statements: `CREATE SEQUENCE turns MAXVALUE 1000 CYCLE;
      CREATE TABLE users (id bigint PRIMARY KEY DEFAULT nextval('turns'), email text, password text);
      SELECT setval('turns', 995)`,
    status: 'the ids run out',
    detail: /got 5 of 1000 left/,
    post: 201,
  },
  {
    name: 'read_only',
    statements: `${SCHEMA} ALTER DATABASE read_only SET default_transaction_read_only = on`,
    status: 'the server is read-only',
    post: 503,
  },
]

/** Started early, since it is given up only after 10 s. */
const lab = startApi(t, await createDatabase('empty'), {}).catch((error) => error)

for (const { name, statements, options, status, detail, post: answer } of CONDITIONS) {
  t.test(`not ready: ${name.replaceAll('_', ' ')}`, async (t) => {
    const api = await startUnready(t, await createDatabase(name, statements, options))
    const found = await readyz(api)
    t.match(found, { code: 503, status })
    if (detail) t.match(found.detail, detail)
    if (answer) t.equal((await post(api.url, newUser())).status, answer, 'and that is how requests end')
    await until('a line in the log', async () => api.log().includes(`not ready: ${status}`))
  })
}

t.test('not ready: a role that may not store users', async (t) => {
  const url = await createDatabase(
    'permissions',
    `${SCHEMA} CREATE ROLE clerk LOGIN PASSWORD '${new URL(server.url).password}'; GRANT SELECT ON users TO clerk`,
  )
  const api = await startUnready(t, urlOf('permissions', 'clerk'))
  const denied = { code: 503, status: 'no permission to store users' }
  t.match(await readyz(api), denied)
  await rows(url, 'GRANT INSERT ON users TO clerk')
  t.match(await readyz(api), denied, 'the sequence is missing')
  t.equal((await post(api.url, newUser())).status, 500)
  await rows(url, 'GRANT USAGE ON users_id_seq TO clerk')
  t.match(await readyz(api), { code: 200, status: 'ready' })
  t.equal((await post(api.url, newUser())).status, 201)
  await loggedBy(api, /ready again/)
})

/** @param {{ log: () => string }} api @param {RegExp} pattern */
const loggedBy = (api, pattern) => until(`${pattern} in the log`, () => pattern.test(api.log()))

t.test('ready: other types that fit, and columns that need no value', async (t) => {
  const table = `CREATE DOMAIN user_id AS bigint; CREATE SEQUENCE ids;
    CREATE TABLE users (id user_id DEFAULT nextval('ids'), email text, password varchar, note text, made date NOT NULL DEFAULT now())`
  const api = await startUnready(t, await createDatabase('others', table))
  t.match(await readyz(api), { code: 200, status: 'ready' })
  t.equal((await post(api.url, newUser())).status, 201)
})

t.test('a table that comes and goes is noticed without a restart', async (t) => {
  const url = await createDatabase('come_and_go', SCHEMA)
  const api = await startApi(t, url)
  await rows(url, 'ALTER TABLE users RENAME TO gone')
  t.match(await readyz(api), { code: 503, status: 'the table users is missing' })
  await rows(url, 'ALTER TABLE gone RENAME TO users')
  t.match(await readyz(api), { code: 200, status: 'ready' })
})

t.test('a database that is not there, and one that is', async (t) => {
  const api = await startUnready(t, urlOf('later'))
  t.match(await readyz(api), { code: 503, status: 'database unavailable', detail: /database "later" does not exist/ })
  await createDatabase('later', SCHEMA)
  t.match(await readyz(api), { code: 200, status: 'ready' })
})

t.test('ready while every connection of the pool is busy and requests wait', async (t) => {
  const api = await startApi(t, server.url, { INSERT_MODE: 'single', POOL_MAX: '1', POOL_CONNECT_TIMEOUT_MS: '5000' })
  const release = await blockTable(t, server.url)
  const answers = Array.from({ length: 8 }, () => post(api.url, newUser()))
  await until('requests that wait', async () => (await metric(api, 'redline_pool_waiting')) === 7)
  const { code, took_ms } = await readyz(api)
  t.equal(code, 200)
  t.ok(took_ms < 1000, `after ${Math.round(took_ms)} ms`)
  await release()
  for (const answer of answers) t.equal((await answer).status, 201)
})

t.test('ready while others take every connection that Postgres has, as long as ours serve', async (t) => {
  const api = await startApi(t, server.url, { INSERT_MODE: 'prepared' })
  t.equal((await post(api.url, newUser())).status, 201)
  const late = await startUnready(t, server.url)
  const taken = await takeConnections(t, server.url)
  t.match(await readyz(api), { code: 200 }, 'over the session that it has')
  t.match(await readyz(late), { code: 503, status: 'database unavailable', detail: /too many clients/ })
  t.equal((await post(late.url, newUser())).status, 503, 'and that is how its requests end')
  t.equal((await post(api.url, newUser())).status, 201)
  for (const client of taken) await client.end()
  await until('a session for the other', async () => (await readyz(late)).code === 200)
})

t.test('without a slot for the check, the sessions of the pool show that it serves', async (t) => {
  const api = await startUnready(t, server.url)
  t.equal((await post(api.url, newUser())).status, 201)
  await takeConnections(t, server.url)
  t.match(await readyz(api), { code: 200 })
  t.equal((await post(api.url, newUser())).status, 201)
})

t.test('a server that falls silent: an answer within its bound, and ready again over a new session', async (t) => {
  const proxy = await tcpProxy(t, server.url)
  const api = await startApi(t, proxy.url)
  proxy.silence()
  const { code, status, took_ms } = await readyz(api)
  t.match({ code, status }, { code: 503, status: 'database unavailable' })
  t.ok(took_ms < 1900, `after ${Math.round(took_ms)} ms`)
  await until('ready', async () => (await readyz(api)).code === 200)
})

t.test('many probes at once share one look and one session', async (t) => {
  const url = await createDatabase('probed', SCHEMA)
  const api = await startApi(t, url)
  const [{ count: before }] = await rows(server.url, TRANSACTIONS)
  const startedAt_ms = performance.now()
  for (let round = 0; round < 5; round++) {
    const verdicts = await Promise.all(Array.from({ length: 200 }, () => readyz(api)))
    t.ok(verdicts.every(({ code }) => code === 200))
  }
  const seconds = (performance.now() - startedAt_ms) / 1000
  const sessions = await rows(server.url, "SELECT application_name FROM pg_stat_activity WHERE datname = 'probed'")
  t.strictSame(
    sessions.map(({ application_name }) => application_name),
    ['redline-api-readiness'],
    'and take none from the pool',
  )
  await until('statistics', async () => (await rows(server.url, TRANSACTIONS))[0].count > before)
  const [{ count: after }] = await rows(server.url, TRANSACTIONS)
  t.ok(after - before <= 4 * seconds + 2, `${after - before} looks in ${seconds.toFixed(1)} s for 1000 probes`)
  t.equal(await metric(api, 'redline_pool_total'), 0)
})

const TRANSACTIONS = "SELECT (xact_commit + xact_rollback)::int AS count FROM pg_stat_database WHERE datname = 'probed'"

t.test('a lab that waits for its API says what /readyz says', async (t) => {
  t.match(
    (await lab).message,
    /the API was not ready within 10 s; .*; \/readyz says: the table users is missing: expected/,
  )
})

t.test('draining comes first', async (t) => {
  const api = await startApi(t, server.url)
  const release = await blockTable(t, server.url)
  const answer = post(api.url, newUser())
  await until('a request in flight', async () => (await metric(api, 'redline_in_flight_requests')) === 1)
  process.kill(Number(api.pid), 'SIGTERM')
  await logged(api.logFile, /draining/)
  t.match(await readyz(api), { code: 503, status: 'draining' })
  await release()
  t.equal((await answer).status, 201)
})

/** Takes what connections are left, until the test ends. @param {any} t @param {string} url */
async function takeConnections(t, url) {
  /** @type {pg.Client[]} */
  const taken = []
  t.teardown(() => Promise.all(taken.map((client) => client.end())))
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    try {
      await client.connect()
      taken.push(client)
    } catch {
      return taken
    }
  }
}
