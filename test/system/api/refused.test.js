import { readFileSync } from 'node:fs'
import pg from 'pg'
import t from 'tap'
import { logged, metric, newUser, post, startApi, startUnready } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { newServer } from '../../support/postgres.js'
import { until } from '../../support/until.js'

const REQUESTS = 50
// The server's own log counts the statements that fail, each by its SQLSTATE.
const database = await newServer(t, { logging_collector: 'on', log_line_prefix: '<%e>' })

/** @param {string} statement */
const sql = (statement) => rows(database.url, statement)

/**
 * The API as a user who owns nothing, so that privileges count.
 *
 * @param {any} t
 * @param {Record<string, string>} [env] by default one statement at a time, so that requests share it
 */
async function startGuest(t, env = { BATCH_SLOTS: '1' }) {
  const url = new URL(database.url)
  url.username = 'guest'
  url.password = 'guest'
  const api = await startApi(t, String(url), env)
  await Promise.all(Array.from({ length: REQUESTS }, () => post(api.url, newUser())))
  return api
}

await sql("CREATE ROLE guest LOGIN PASSWORD 'guest'")
const grant = async () => {
  await sql('GRANT SELECT, INSERT ON users TO guest')
  await sql('GRANT USAGE ON SEQUENCE users_id_seq TO guest')
}
await grant()

/**
 * Sends the first user alone and all others in one batch: both statements wait for a lock until the last request is there.
 *
 * @param {import('../../support/api.js').Api} api
 * @param {{ email: string, password: string }[]} users
 * @param {string} spoil SQL that takes effect as the lock is released
 * @returns {Promise<Response[]>}
 */
async function inOneBatch(api, users, spoil = '') {
  const inFlight = (/** @type {number} */ count) =>
    until(`${count} requests in flight`, async () => (await metric(api, 'redline_in_flight_requests')) === count)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query('BEGIN; LOCK TABLE users')
  const first = post(api.url, users[0])
  await inFlight(1)
  const others = users.slice(1).map((user) => post(api.url, user))
  await inFlight(users.length)
  await client.query(`${spoil}; COMMIT`)
  await client.end()
  return Promise.all([first, ...others])
}

/** Statements that failed with this SQLSTATE since the server started. @param {string} code */
async function failures(code) {
  const [{ text }] = await sql('SELECT pg_read_file(pg_current_logfile()) AS text')
  return text.split(`<${code}>ERROR:`).length - 1
}

/** Lines of level error in the API's log. @param {{ logFile: string }} api @returns {any[]} */
function errorLines({ logFile }) {
  const lines = readFileSync(logFile, 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50)
}

/** @type {Record<string, { spoil: string, mend: () => Promise<unknown>, code: string }>} */
const permanent = {
  'a privilege that is revoked': {
    spoil: 'REVOKE INSERT ON users FROM guest',
    mend: grant,
    code: '42501',
  },
  'a table that is gone': {
    spoil: 'ALTER TABLE users RENAME TO gone',
    mend: () => sql('ALTER TABLE gone RENAME TO users'),
    code: '42P01',
  },
  'ids that are used up': {
    spoil: "ALTER SEQUENCE users_id_seq MAXVALUE 1000000; SELECT setval('users_id_seq', 1000000)",
    mend: () => sql('ALTER SEQUENCE users_id_seq NO MAXVALUE'),
    code: '2200H',
  },
}

for (const [about, { spoil, mend, code }] of Object.entries(permanent)) {
  t.test(`${about}: a batch fails once, with one log line, and nobody is told to retry`, async (t) => {
    const api = await startGuest(t)
    const stored = () => sql('SELECT count(*)::int FROM users')
    const before = await stored()
    const failedBefore = await failures(code)
    const answers = await inOneBatch(api, Array.from({ length: REQUESTS }, newUser), spoil)
    const failed = (await failures(code)) - failedBefore
    await mend()
    for (const answer of answers) {
      t.equal(answer.status, 500)
      t.equal(answer.headers.get('retry-after'), null)
      t.match(await answer.json(), { code: 'database_refused' })
    }
    t.equal(failed, 2, 'statements: the first request alone, and all others together')
    await logged(api.logFile, new RegExp(`"code":"${code}"`))
    t.equal(errorLines(api).length, 1, 'one line in the log')
    t.match(errorLines(api)[0], { err: { code }, msg: /refuses a statement/ })
    await until('a 201 once it is mended', async () => (await post(api.url, newUser())).status === 201)
    t.equal((await stored())[0].count, before[0].count + 1, 'and nothing was stored meanwhile')
  })
}

t.test('a bad row in a batch fails alone: its neighbours are stored exactly once', async (t) => {
  await sql("ALTER TABLE users ADD CONSTRAINT no_bad CHECK (email NOT LIKE 'bad%')")
  t.teardown(() => sql('ALTER TABLE users DROP CONSTRAINT no_bad'))
  const api = await startGuest(t)
  const failedBefore = await failures('23514')
  const users = Array.from({ length: REQUESTS }, (_, i) => (i === 30 ? { ...newUser(), email: 'bad@x' } : newUser()))
  const answers = await inOneBatch(api, users)
  t.strictSame(
    answers.map(({ status }) => status),
    users.map(({ email }) => (email === 'bad@x' ? 500 : 201)),
  )
  t.equal((await failures('23514')) - failedBefore, 2, 'statements: the batch, and the row itself')
  t.match(await answers[30].json(), { code: 'row_refused' })
  await logged(api.logFile, /forbids a user/)
  t.equal(errorLines(api).length, 1, 'one line in the log')
  const emails = users.map(({ email }) => email)
  const stored = await rows(database.url, 'SELECT email FROM users WHERE email = ANY($1)', [emails])
  t.strictSame(stored.map(({ email }) => email).sort(), emails.filter((email) => email !== 'bad@x').sort())
})

t.test('a row that a policy refuses fails alone, although its code is that of a missing privilege', async (t) => {
  await sql('ALTER TABLE users ENABLE ROW LEVEL SECURITY')
  await sql('CREATE POLICY everyone ON users FOR SELECT USING (true)')
  await sql("CREATE POLICY good ON users FOR INSERT WITH CHECK (email NOT LIKE 'bad%')")
  t.teardown(() => sql('DROP POLICY everyone ON users; DROP POLICY good ON users'))
  t.teardown(() => sql('ALTER TABLE users DISABLE ROW LEVEL SECURITY'))
  const api = await startGuest(t)
  const users = Array.from({ length: REQUESTS }, (_, i) => (i === 30 ? { ...newUser(), email: 'bad@x' } : newUser()))
  const answers = await inOneBatch(api, users)
  t.strictSame(
    answers.map(({ status }) => status),
    users.map(({ email }) => (email === 'bad@x' ? 500 : 201)),
  )
})

for (const mode of ['prepared', 'pipelined']) {
  t.test(`${mode}: a session that lost its prepared statements is replaced`, async (t) => {
    const api = await startApi(t, database.url, { INSERT_MODE: mode, POOL_MAX: '1', PIPELINE_CONNECTIONS: '1' })
    t.equal((await post(api.url, newUser())).status, 201)
    await sql(
      "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN EXECUTE ''DEALLOCATE ALL''; RETURN NEW; END'",
    )
    await sql('CREATE TRIGGER forget BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION forget()')
    await post(api.url, newUser())
    await sql('DROP FUNCTION forget() CASCADE')
    await until('a 201', async () => (await post(api.url, newUser())).status === 201)
  })
}

t.test('a login that fails on this side leaves no socket', async (t) => {
  const url = new URL(database.url)
  url.password = ''
  const api = await startUnready(t, String(url))
  const openFiles = async () => {
    const page = await (await fetch(`${api.adminUrl}/metrics`)).text()
    return Number(/^process_open_fds (\d+)/m.exec(page)?.[1])
  }
  t.equal((await post(api.url, newUser())).status, 503)
  const before = await openFiles()
  for (let i = 0; i < 20; i++) await post(api.url, newUser())
  await until('the sockets closed', async () => (await openFiles()) < before + 10)
})

for (const mode of ['single', 'prepared', 'pipelined']) {
  t.test(`${mode}: a missing table is logged once, and every request answered 500`, async (t) => {
    const api = await startGuest(t, { INSERT_MODE: mode })
    await sql('ALTER TABLE users RENAME TO gone')
    const answers = await Promise.all(Array.from({ length: REQUESTS }, () => post(api.url, newUser())))
    await sql('ALTER TABLE gone RENAME TO users')
    t.strictSame([...new Set(answers.map(({ status }) => status))], [500])
    t.equal(errorLines(api).length, 1)
    await until('a 201 once it is mended', async () => (await post(api.url, newUser())).status === 201)
  })
}
