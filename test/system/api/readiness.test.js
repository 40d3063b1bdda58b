import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { openLocal } from '../../../load/targets/index.js'
import {
  LATE_LOOK,
  logged,
  logLines,
  metric,
  newUser,
  post,
  readyz,
  saysReady,
  startApi,
  untilMetric,
  untilReadyz,
  untilUnavailable,
} from '../../support/api.js'
import { startHere, startUnreadyHere } from '../../support/api-here.js'
import { blockTable, rows, takeConnections } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { newServer } from '../../support/postgres.js'
import { tcpProxy } from '../../support/servers.js'
import { until, within } from '../../support/until.js'

// Roles, and connections that run out, are a whole server's.
const server = await newServer(t, { max_connections: '40', fsync: 'off', autovacuum: 'off' })
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

/**
 * @typedef {object} Condition
 * @property {string} name
 * @property {string} [options] of CREATE DATABASE
 * @property {string} statements
 * @property {string} status what /readyz says
 * @property {RegExp} [detail]
 * @property {number} [post] how a request ends there, if that is certain
 */

/** @type {Condition[]} */
const DATABASES = [
  {
    name: 'ascii',
    options: "ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0",
    statements: SCHEMA,
    status: 'the database encoding is not UTF8',
    detail: /got SQL_ASCII/,
  },
]

/** @type {Condition[]} */
const TABLES = [
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
]

const changing = await createDatabase('changing', SCHEMA)
const single = await startHere(t, changing, { INSERT_MODE: 'single', POOL_MAX: '1' })

/** Started early, since it is given up only after ten seconds. */
const lab = openLocal({
  databaseUrl: await createDatabase('empty'),
  cores: null,
  env: process.env,
  logFile: path.join(temporaryFolder(t), 'api.log'),
  start_ms: 10_000,
}).catch((error) => error)

for (const { name, statements, options, status, detail, post: answer } of DATABASES) {
  t.test(`not ready: ${name.replaceAll('_', ' ')}`, async (t) => {
    const api = await startUnreadyHere(t, await createDatabase(name, statements, options))
    const found = await untilReadyz(api, status)
    t.equal(found.code, 503)
    if (detail) t.match(found.detail, detail)
    if (answer) t.equal((await post(api.url, newUser())).status, answer, 'and that is how requests end')
    await logged(api, new RegExp(`not ready: ${status}`))
  })
}

/** Replaces all that is in the public schema, and what else a condition creates. @param {string} statements */
function inPlaceOfTheSchema(statements) {
  return rows(
    changing,
    `DROP SCHEMA IF EXISTS mine CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public; ${statements}`,
  )
}

for (const { name, statements, status, detail, post: answer } of TABLES) {
  t.test(`noticed without a restart: ${name.replaceAll('_', ' ')}`, async (t) => {
    const before = logLines(single).length
    await inPlaceOfTheSchema(statements)
    const found = await untilReadyz(single, status)
    t.equal(found.code, 503)
    if (detail) t.match(found.detail, detail)
    if (answer) t.equal((await post(single.url, newUser())).status, answer, 'and that is how requests end')
    await inPlaceOfTheSchema(SCHEMA)
    t.match(await untilReadyz(single, 'ready'), { code: 200 })
    t.equal((await post(single.url, newUser())).status, 201)
    const said = () => {
      const messages = logLines(single)
        .slice(before)
        .map(({ msg }) => msg)
      return messages.filter((msg) => msg === `not ready: ${status}` || msg === 'ready again')
    }
    await until('lines in the log', () => said().length >= 2)
    t.strictSame(said(), [`not ready: ${status}`, 'ready again'])
  })
}

t.test('ready: other types that fit, and columns that need no value', async (t) => {
  await inPlaceOfTheSchema(`CREATE DOMAIN user_id AS bigint; CREATE SEQUENCE ids;
    CREATE TABLE users (id user_id DEFAULT nextval('ids'), email text, password varchar, note text, made date NOT NULL DEFAULT now())`)
  const before = await metric(single, 'redline_statement_seconds_count')
  // Looks come at least 250 ms apart, so that the second one has seen the new table.
  for (let look = 0; look < 2; look++) await saysReady(t, single)
  t.equal((await post(single.url, newUser())).status, 201)
  t.equal(await metric(single, 'redline_statement_seconds_count'), before + 1)
})

t.test('ready while every connection of the pool is busy and requests wait', async (t) => {
  const release = await blockTable(t, changing)
  const answers = Array.from({ length: 8 }, () => post(single.url, newUser()))
  await untilMetric(single, 'redline_pool_waiting', 7)
  for (let look = 0; look < 2; look++) await saysReady(t, single)
  t.equal(await metric(single, 'redline_pool_waiting'), 7, 'it waits behind no request')
  await release()
  for (const answer of answers) t.equal((await answer).status, 201)
})

t.test('a database that is not there, then one with a role that may not store users, then one that fits', async (t) => {
  await rows(server.url, `CREATE ROLE clerk LOGIN PASSWORD '${new URL(server.url).password}'`)
  const api = await startUnreadyHere(t, urlOf('later', 'clerk'))
  await untilUnavailable(api, /database "later" does not exist/)
  const url = await createDatabase('later', `${SCHEMA} GRANT SELECT ON users TO clerk`)
  const denied = { code: 503, status: 'no permission to store users' }
  t.match(await untilReadyz(api, denied.status), denied)
  await rows(url, 'GRANT INSERT ON users TO clerk')
  t.match(await untilReadyz(api, denied.status), denied, 'the sequence is missing')
  t.equal((await post(api.url, newUser())).status, 500)
  await rows(url, 'GRANT USAGE ON users_id_seq TO clerk')
  t.match(await untilReadyz(api, 'ready'), { code: 200 })
  t.equal((await post(api.url, newUser())).status, 201)
  await logged(api, /ready again/)
})

t.test('while others take every connection that Postgres has: ready as long as ours serve', async (t) => {
  // A slot that an earlier test's API gave back only now would go to `late`.
  await lab
  await until('the end of the other APIs', async () => (await rows(server.url, OTHERS)).length === 0)
  await rows(server.url, SCHEMA)
  const late = await startUnreadyHere(t, server.url)
  t.equal((await post(single.url, newUser())).status, 201)
  const release = await takeConnections(t, server.url)
  await saysReady(t, single, 'over the session that it has')
  await untilUnavailable(late, /too many clients/)
  t.equal((await post(late.url, newUser())).status, 503, 'and that is how its requests end')
  t.equal((await post(single.url, newUser())).status, 201)
  await release()
  await until('a 201', async () => (await post(late.url, newUser())).status === 201)

  await rows(server.url, END_CHECKS)
  await until('the end of the sessions of the checks', async () => (await rows(server.url, CHECKS)).length === 0)
  await takeConnections(t, server.url)
  await saysReady(t, late, 'without a slot for the check, the pool shows it')
  t.equal((await post(late.url, newUser())).status, 201)
})

const OTHERS =
  "SELECT 1 FROM pg_stat_activity WHERE datname <> 'changing' AND (application_name LIKE 'redline%' OR datname <> 'postgres')"

const OF_CHECKS = "FROM pg_stat_activity WHERE datname = 'postgres' AND application_name = 'redline-api-readiness'"
const CHECKS = `SELECT 1 ${OF_CHECKS}`
const END_CHECKS = `SELECT pg_terminate_backend(pid) ${OF_CHECKS}`

t.test('a server that falls silent: an answer within its bound, and ready again over a new session', async (t) => {
  const proxy = await tcpProxy(t, changing)
  const api = await startHere(t, proxy.url)
  proxy.silence()
  t.match(await readyz(api), { code: 503, status: 'database unavailable', detail: LATE_LOOK })
  await untilReadyz(api, 'ready')
})

t.test('many probes at once share one look and one session', async (t) => {
  const startedAt_ms = performance.now()
  const api = await startApi(t, await createDatabase('probed', SCHEMA))
  for (let round = 0; round < 2; round++) {
    await until('a hundred probes that say 200', async () => {
      const verdicts = await Promise.all(Array.from({ length: 100 }, () => readyz(api)))
      // On a machine that stands still for a second, a look ends at its bound. Nothing else may be said.
      const wrong = verdicts.filter(({ code, detail }) => code !== 200 && detail !== LATE_LOOK)
      t.strictSame(wrong, [])
      return verdicts.every(({ code }) => code === 200)
    })
  }
  const sessions = () => rows(server.url, "SELECT application_name FROM pg_stat_activity WHERE datname = 'probed'")
  // One that was replaced, since a look was late, ends a moment later.
  await until('one session', async () => (await sessions()).length === 1)
  t.strictSame(await sessions(), [{ application_name: 'redline-api-readiness' }], 'and take none from the pool')
  t.equal(await metric(api, 'redline_pool_total'), 0)
  // Its session hands in what it has counted when it ends.
  process.kill(api.pid, 'SIGKILL')
  const seconds = (performance.now() - startedAt_ms) / 1000
  const ended = "SELECT 1 FROM pg_stat_activity WHERE datname = 'probed'"
  await until('the end of its session', async () => (await rows(server.url, ended)).length === 0)
  const [{ count }] = await rows(server.url, TRANSACTIONS)
  t.ok(count > 0, 'Postgres counts them')
  // One that creates the schema, and at most four looks a second, the first of which comes at once.
  t.ok(count <= 4 * seconds + 4, `${count} transactions in ${seconds.toFixed(1)} s for 200 probes`)
})

const TRANSACTIONS = "SELECT (xact_commit + xact_rollback)::int AS count FROM pg_stat_database WHERE datname = 'probed'"

t.test('a lab that waits for its API says what /readyz says', async (t) => {
  t.match(
    (await within('the lab to give up', lab)).message,
    /the API was not ready within 10 s; .*; \/readyz says: the table users is missing: expected/,
  )
})
