import t from 'tap'
import { logged, logLines, metric, newUser, post, startUnready } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { inOneBatch, newUsers } from '../../support/batch.js'
import { rows } from '../../support/database.js'
import { newServer } from '../../support/postgres.js'
import { until } from '../../support/until.js'

/** @import { ApiHere } from '../../support/api-here.js' */

const REQUESTS = 16
// The server's own log counts the statements that fail, each by its SQLSTATE.
const database = await newServer(t, { logging_collector: 'on', log_line_prefix: '<%e>', fsync: 'off' })

/** @param {string} statement */
const sql = (statement) => rows(database.url, statement)

/** The API as a user who owns nothing, so that privileges count. @param {any} t @param {Record<string, string>} env */
async function startGuest(t, env) {
  const url = new URL(database.url)
  url.username = 'guest'
  url.password = 'guest'
  const api = await startHere(t, String(url), env)
  await Promise.all(newUsers(REQUESTS).map((user) => post(api.url, user)))
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

/** What is logged at level error. @param {ApiHere} api */
const errorLines = (api) => logLines(api).filter(({ level }) => level >= 50)

// One statement at a time, so that requests share it.
const api = await startGuest(t, { BATCH_SLOTS: '1' })

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
    const stored = async () => (await sql('SELECT count(*)::int FROM users'))[0].count
    const before = { stored: await stored(), failed: await failures(code), lines: errorLines(api).length }
    const answers = await inOneBatch(api, database.url, newUsers(REQUESTS), spoil)
    await mend()
    t.equal(answers.length, REQUESTS)
    for (const answer of answers) {
      t.equal(answer.status, 500)
      t.equal(answer.headers.get('retry-after'), null)
      t.match(await answer.json(), { code: 'database_refused' })
    }
    await logged(api, new RegExp(`"code":"${code}".*\n`))
    await until('a 201 once it is mended', async () => (await post(api.url, newUser())).status === 201)
    t.equal(await stored(), before.stored + 1, 'and nothing was stored meanwhile')
    const lines = errorLines(api).slice(before.lines)
    t.equal(lines.length, 1, 'one line in the log')
    t.match(lines[0], { err: { code }, msg: /refuses a statement/ })
    // The first request alone, and all others together. Postgres' log is written a moment later.
    await until('two failed statements', async () => (await failures(code)) >= before.failed + 2)
    t.equal(await failures(code), before.failed + 2)
  })
}

t.test('a bad row in a batch fails alone: its neighbours are stored exactly once', async (t) => {
  await sql("ALTER TABLE users ADD CONSTRAINT no_bad CHECK (email NOT LIKE 'bad%')")
  t.teardown(() => sql('ALTER TABLE users DROP CONSTRAINT no_bad'))
  const before = { failed: await failures('23514'), lines: errorLines(api).length }
  const users = newUsers(REQUESTS).map((user, i) => (i === 11 ? { ...user, email: 'bad@x' } : user))
  const answers = await inOneBatch(api, database.url, users)
  t.strictSame(
    answers.map(({ status }) => status),
    users.map(({ email }) => (email === 'bad@x' ? 500 : 201)),
  )
  t.match(await answers[11].json(), { code: 'row_refused' })
  await logged(api, /forbids a user.*\n/)
  t.equal(errorLines(api).length, before.lines + 1, 'one line in the log')
  const emails = users.map(({ email }) => email)
  const stored = await rows(database.url, 'SELECT email FROM users WHERE email = ANY($1)', [emails])
  t.strictSame(stored.map(({ email }) => email).sort(), emails.filter((email) => email !== 'bad@x').sort())
  await until('two failed statements', async () => (await failures('23514')) >= before.failed + 2)
  t.equal(await failures('23514'), before.failed + 2, 'the batch, and the row itself')
})

t.test('a row that a policy refuses fails alone, although its code is that of a missing privilege', async (t) => {
  await sql('ALTER TABLE users ENABLE ROW LEVEL SECURITY')
  await sql('CREATE POLICY everyone ON users FOR SELECT USING (true)')
  await sql("CREATE POLICY good ON users FOR INSERT WITH CHECK (email NOT LIKE 'bad%')")
  t.teardown(() => sql('DROP POLICY everyone ON users; DROP POLICY good ON users'))
  t.teardown(() => sql('ALTER TABLE users DISABLE ROW LEVEL SECURITY'))
  const users = newUsers(REQUESTS).map((user, i) => (i === 11 ? { ...user, email: 'bad@x' } : user))
  const answers = await inOneBatch(api, database.url, users)
  t.strictSame(
    answers.map(({ status }) => status),
    users.map(({ email }) => (email === 'bad@x' ? 500 : 201)),
  )
})

t.test('a row that a trigger refuses fails alone, whatever SQLSTATE the trigger raises', async (t) => {
  for (const code of ['U0001', '42501', '38000']) {
    const raise = `IF NEW.email LIKE 'bad%' THEN RAISE EXCEPTION 'no' USING ERRCODE = '${code}'; END IF; RETURN NEW`
    await sql(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN ${raise}; END$$;
       CREATE TRIGGER refuse BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION refuse()`,
    )
    const users = newUsers(REQUESTS).map((user, i) => (i === 11 ? { ...user, email: 'bad@x' } : user))
    const answers = await inOneBatch(api, database.url, users)
    await sql('DROP FUNCTION refuse() CASCADE')
    const statuses = answers.map(({ status }) => status)
    const expected = users.map(({ email }) => (email === 'bad@x' ? 500 : 201))
    t.strictSame(statuses, expected, code)
    t.match(await answers[11].json(), { code: 'row_refused' })
  }
})

t.test('a login that fails on this side leaves no socket', async (t) => {
  const url = new URL(database.url)
  url.password = ''
  const api = await startUnready(t, String(url))
  const openFiles = () => metric(api, 'process_open_fds')
  t.equal((await post(api.url, newUser())).status, 503)
  const before = await openFiles()
  for (let i = 0; i < 20; i++) t.equal((await post(api.url, newUser())).status, 503)
  await until('the sockets closed', async () => (await openFiles()) < before + 10)
})

// A connection of the pool, and one that statements share.
for (const mode of ['prepared', 'pipelined']) {
  t.test(mode, async (t) => {
    const api = await startGuest(t, { INSERT_MODE: mode, POOL_MAX: '1', PIPELINE_CONNECTIONS: '1' })

    await t.test('a missing table is logged once, and every request answered 500', async (t) => {
      await sql('ALTER TABLE users RENAME TO gone')
      const answers = await Promise.all(newUsers(REQUESTS).map((user) => post(api.url, user)))
      await sql('ALTER TABLE gone RENAME TO users')
      t.strictSame([...new Set(answers.map(({ status }) => status))], [500])
      await until('a 201 once it is mended', async () => (await post(api.url, newUser())).status === 201)
      t.equal(errorLines(api).length, 1)
    })

    await t.test('a session that lost its prepared statements is replaced', async (t) => {
      t.equal((await post(api.url, newUser())).status, 201)
      await sql(
        `CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN EXECUTE ''DEALLOCATE ALL''; RETURN NEW; END';
         CREATE TRIGGER forget BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION forget()`,
      )
      await post(api.url, newUser())
      await sql('DROP FUNCTION forget() CASCADE')
      await until('a 201', async () => (await post(api.url, newUser())).status === 201)
    })
  })
}
