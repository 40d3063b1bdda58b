import { readFileSync } from 'node:fs'
import t from 'tap'
import { logged, newUser, post, postgres, startApi } from '../support/api.js'
import { rows } from '../support/database.js'
import { eventually } from '../support/eventually.js'

const REQUESTS = 50
// The server's own log counts the statements that fail, each by its SQLSTATE.
const database = await postgres(t, { logging_collector: 'on', log_line_prefix: '<%e>' })

/** @param {string} statement */
const sql = (statement) => rows(database.url, statement)

/**
 * The API as a user who owns nothing, so that privileges count.
 *
 * @param {any} t
 * @param {Record<string, string>} [env]
 */
async function startGuest(t, env) {
  const url = new URL(database.url)
  url.username = 'guest'
  url.password = 'guest'
  const api = await startApi(t, String(url), env)
  for (let i = 0; i < 2; i++) await Promise.all(Array.from({ length: REQUESTS }, () => post(api.url, newUser())))
  return api
}

await sql("CREATE ROLE guest LOGIN PASSWORD 'guest'")
const grant = async () => {
  await sql('GRANT SELECT, INSERT ON users TO guest')
  await sql('GRANT USAGE ON SEQUENCE users_id_seq TO guest')
}
await grant()

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

/** @type {Record<string, { spoil: () => Promise<unknown>, mend: () => Promise<unknown>, code: string }>} */
const permanent = {
  'a privilege that is revoked': {
    spoil: () => sql('REVOKE INSERT ON users FROM guest'),
    mend: grant,
    code: '42501',
  },
  'a table that is gone': {
    spoil: () => sql('ALTER TABLE users RENAME TO gone'),
    mend: () => sql('ALTER TABLE gone RENAME TO users'),
    code: '42P01',
  },
  'ids that are used up': {
    spoil: async () => {
      await sql('ALTER SEQUENCE users_id_seq NO CYCLE MAXVALUE 1000000')
      await sql("SELECT setval('users_id_seq', 1000000)")
    },
    mend: () => sql('ALTER SEQUENCE users_id_seq NO MAXVALUE'),
    code: '2200H',
  },
}

for (const [about, { spoil, mend, code }] of Object.entries(permanent)) {
  t.test(`${about}: a batch fails once, with one log line, and nobody is told to retry`, async (t) => {
    const api = await startGuest(t)
    const stored = () => sql('SELECT count(*)::int FROM users')
    const before = await stored()
    await spoil()
    const failedBefore = await failures(code)
    const answers = await Promise.all(Array.from({ length: REQUESTS }, () => post(api.url, newUser())))
    const failed = (await failures(code)) - failedBefore
    await mend()
    for (const answer of answers) {
      t.equal(answer.status, 500)
      t.equal(answer.headers.get('retry-after'), null)
      t.match(await answer.json(), { code: 'database_refused' })
    }
    t.ok(failed >= 1 && failed <= REQUESTS / 2, `${failed} statements for ${REQUESTS} requests`)
    await logged(api.logFile, new RegExp(`"code":"${code}"`))
    t.equal(errorLines(api).length, 1, 'one line in the log')
    t.match(errorLines(api)[0], { err: { code }, msg: /refuses a statement/ })
    await eventually(async () => (await post(api.url, newUser())).status === 201, 'a 201 once it is mended')
    t.equal((await stored())[0].count, before[0].count + 1, 'and nothing was stored meanwhile')
  })
}

t.test('a bad row in a batch fails alone: its neighbours are stored exactly once', async (t) => {
  await sql("ALTER TABLE users ADD CONSTRAINT no_bad CHECK (email NOT LIKE 'bad%')")
  t.teardown(() => sql('ALTER TABLE users DROP CONSTRAINT no_bad'))
  const api = await startGuest(t)
  const failedBefore = await failures('23514')
  const users = Array.from({ length: REQUESTS }, (_, i) => (i === 30 ? { ...newUser(), email: 'bad@x' } : newUser()))
  const answers = await Promise.all(users.map((user) => post(api.url, user)))
  t.strictSame(
    answers.map(({ status }) => status),
    users.map(({ email }) => (email === 'bad@x' ? 500 : 201)),
  )
  t.equal((await failures('23514')) - failedBefore, 2, 'its batch, and the row itself')
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
  const answers = await Promise.all(users.map((user) => post(api.url, user)))
  t.strictSame(
    answers.map(({ status }) => status),
    users.map(({ email }) => (email === 'bad@x' ? 500 : 201)),
  )
})

for (const mode of ['single', 'prepared', 'pipelined']) {
  t.test(`${mode}: a missing table is logged once, and every request answered 500`, async (t) => {
    const api = await startGuest(t, { INSERT_MODE: mode })
    await permanent['a table that is gone'].spoil()
    const answers = await Promise.all(Array.from({ length: REQUESTS }, () => post(api.url, newUser())))
    await permanent['a table that is gone'].mend()
    t.strictSame([...new Set(answers.map(({ status }) => status))], [500])
    t.equal(errorLines(api).length, 1)
    await eventually(async () => (await post(api.url, newUser())).status === 201, 'a 201 once it is mended')
  })
}
