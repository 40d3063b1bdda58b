import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readEnvironment } from '../../../load/command/environment.js'
import { preflight } from '../../../load/verdict/preflight/preflight.js'
import { factsHere } from '../../../load/verdict/spoilers.js'
import { lookAtDatabase, openDatabase } from '../../../sql/database.js'
import { newUser, post, startApi } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { rows } from '../../support/database.js'
import { databaseWithUsers, labRows, refusal, startSweep, sweep, withSearchPath } from '../../support/given-database.js'
import { readRun, readTrials } from '../../support/lab.js'

/** @import { GivenDatabase } from '../../../load/command/environment.js' */

t.test('--database-url embedded means the embedded Postgres although .env names a database', async (t) => {
  const dotenv = 'DATABASE_URL=postgres://nobody@127.0.0.1:1/none\nPGOPTIONS=-c search_path=elsewhere\n'
  /** @type {GivenDatabase | undefined} */
  let opened
  const lab = {
    openSite: async (/** @type {any} */ _plan, /** @type {any} */ _results, /** @type {any} */ { environment }) => {
      opened = environment.database
      throw Object.assign(new Error('seen'), { code: 'ESEEN' })
    },
  }
  const { stderr } = await sweep(t, ['--database-url', 'embedded'], { dotenv, lab })
  t.equal(stderr, 'redline: seen\n')
  t.equal(opened?.url, undefined)
  t.equal(opened?.isNamed, true, 'and it may be emptied')
  t.notOk(opened?.pg.PGOPTIONS)
})

t.test('rows that come in from elsewhere during a run stop it, and stay', async (t) => {
  const url = await databaseWithUsers(t)
  const mine = "INSERT INTO redline_lab.users (email, password) VALUES ('mine', 'x')"
  const target = /** @type {any} */ ({
    ...{ kind: 'local', url: 'http://127.0.0.1:9/user', countsRows: true, settings: {}, pid: null, cores: null },
    ...{ died: new Promise(() => {}), stop: async () => {} },
  })
  const lab = { openTarget: async () => target, spoilers: async () => rows(url, mine).then(() => []) }
  const { code, stderr, out } = await sweep(t, ['--database-url', url], { lab })
  t.equal(code, 1, stderr)
  t.match(stderr, /rows that no load of run \S+ is known to have made \(1\)/)
  t.notOk(fs.existsSync(path.join(out, 'trials.ndjson')))
  t.strictSame(await rows(url, 'SELECT email FROM redline_lab.users'), [{ email: 'mine' }])
  t.match(
    await refusal(url),
    /rows that no load of run \S+ is known to have made \(1\)/,
    'and the next run does not empty it either',
  )
  t.strictSame(await rows(url, 'SELECT email FROM redline_lab.users'), [{ email: 'mine' }])
})

t.test('a search path in the URL is respected, and its table refused unless the lab made it', async (t) => {
  const url = await databaseWithUsers(t)
  for (const statement of [
    'SELECT 1',
    "COMMENT ON TABLE users IS 'redline: emptied before every trial'",
    'TRUNCATE users',
  ]) {
    await rows(url, statement)
    t.match(
      await refusal(withSearchPath(url, 'public')),
      /public\.users.*was not made by the lab.*search_path/s,
      statement,
    )
  }
  const byVariable = { pg: readEnvironment({ DATABASE_URL: url, PGOPTIONS: '-c search_path=public' }).database.pg }
  t.match(await refusal(url, byVariable), /public\.users.*was not made by the lab/s)

  await rows(url, 'CREATE SCHEMA theirs')
  const database = await openDatabase(withSearchPath(url, 'theirs'))
  t.equal(database.schema, 'theirs')
  const api = await startHere(t, database.url)
  t.equal((await post(api.url, newUser())).status, 201)
  t.equal(await database.countRows(), 1, 'the API stores where the lab counts')
  t.strictSame(await rows(url, 'SELECT count(*)::int FROM theirs.users'), [{ count: 1 }])
  await database.close()
})

t.test('a table that sessions of others use is refused', async (t) => {
  const url = await databaseWithUsers(t)
  await rows(url, 'CREATE SCHEMA shared')
  const shared = withSearchPath(url, 'shared')
  t.equal(await refusal(shared), null)
  const api = await startHere(t, shared)
  t.equal((await post(api.url, newUser())).status, 201)
  t.match(await refusal(shared), /shared\.users.*in use by.*redline-api.*leave out/s)
  t.strictSame(await rows(url, 'SELECT count(*)::int FROM shared.users'), [{ count: 1 }])
})

/** A role that can log in, until the test ends. @param {any} t @param {string} url @param {string} name */
async function roleIn(t, url, name) {
  const role = `${name}_${process.pid}`
  await rows(url, `CREATE ROLE ${role} LOGIN PASSWORD 'x'`)
  t.teardown(() => rows(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`))
  const database = new URL(url).pathname.slice(1)
  return { role, database, url: Object.assign(new URL(url), { username: role, password: 'x' }).href }
}

t.test('a table some of whose rows are hidden is refused', async (t) => {
  const url = await databaseWithUsers(t)
  const careful = await roleIn(t, url, 'careful')
  await rows(url, `GRANT CREATE ON DATABASE ${careful.database} TO ${careful.role}`)
  t.equal(await refusal(careful.url), null)
  await rows(
    url,
    `INSERT INTO redline_lab.users (email, password) VALUES ('mine', 'x');
     ALTER TABLE redline_lab.users ENABLE ROW LEVEL SECURITY; ALTER TABLE redline_lab.users FORCE ROW LEVEL SECURITY;
     CREATE POLICY p ON redline_lab.users USING (email <> 'mine')`,
  )
  t.match(await refusal(careful.url), /row-level security/)
  t.equal(await labRows(url), 1)
})

t.test('a role that may not create the schema: the error names the privilege it needs', async (t) => {
  const url = await databaseWithUsers(t)
  const { role, database, url: poor } = await roleIn(t, url, 'poor')
  t.match(await refusal(poor), `GRANT CREATE ON DATABASE "${database}" TO "${role}"`)
  const readOnly = new URL(url)
  readOnly.searchParams.set('options', '-c default_transaction_read_only=on')
  t.match(await refusal(readOnly.href), /read-only/)
})

t.test('doctor changes nothing in a database', async (t) => {
  const url = await databaseWithUsers(t)
  const state = () =>
    rows(
      url,
      `SELECT (SELECT array_agg(nspname::text ORDER BY nspname) FROM pg_namespace) AS schemas,
         (SELECT array_agg(oid::text ORDER BY oid) FROM pg_class) AS relations,
         (SELECT array_agg(email ORDER BY id) FROM users) AS emails,
         (SELECT count(*)::int FROM pg_description) AS comments`,
    )
  const before = await state()
  const database = await lookAtDatabase(url)
  await t.rejects(database.query("INSERT INTO public.users (email, password) VALUES ('doctor', 'x')"), {
    code: '25006',
  })
  const planned = {
    ...{ connections: 10, pool_max: 20, rate_rps: 100, backlog: 511, fresh_connections: false },
    timeout_s: 10,
  }
  const signal = new AbortController().signal
  const asked = { database, cores: null, measuresCeiling: false, signal, note: () => {} }
  const findings = preflight(await factsHere(asked), planned)
  await database.close()
  t.equal(findings.find(({ check }) => check === 'pool')?.level, 'ok', 'it has looked')
  t.strictSame(await state(), before)
  await t.rejects(lookAtDatabase('postgres://nobody@127.0.0.1:1/none'), {
    message: /^DATABASE_URL: expected a Postgres that answers/,
  })
})

t.test('PG variables, wherever they stand, do not part the lab from the load', async (t) => {
  const url = await databaseWithUsers(t)
  await rows(url, 'CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.users (LIKE public.users INCLUDING ALL)')
  const { hostname, port, username, password, pathname } = new URL(url)
  const foreign = { PGHOST: '203.0.113.1', PGPORT: '1', PGDATABASE: 'other', PGUSER: 'nobody', PGPASSWORD: 'wrong' }
  const others = 'SELECT (SELECT count(*)::int FROM elsewhere.users) + (SELECT count(*)::int FROM public.users) AS rows'

  await t.test('in .env and in the environment, against the URL', async (t) => {
    const dotenv = Object.entries({ ...foreign, PGAPPNAME: 'x', PGOPTIONS: "'-c search_path=elsewhere'" })
    const text = dotenv.map((entry) => `${entry.join('=')}\n`).join('')
    const { ended, out } = startSweep(t, ['--database-url', url], { ...foreign, PGDATABASE: 'postgres' }, text)
    const { code, stderr } = await ended
    t.equal(code, 0, stderr)
    const [{ traffic }] = readTrials(out)
    t.equal(traffic.rows_stored, traffic.status[201])
    t.equal(await labRows(url), 80)
    t.strictSame(await rows(url, others), [{ rows: 3 }])
  })

  await t.test('completing a URL without host, or whose host is a parameter', async (t) => {
    const ours = { PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password, PGSSLMODE: 'disable' }
    const dotenvFile = path.join(t.testdir({ env: 'PGHOST=203.0.113.1\nPGPORT=1\n' }), 'env')
    const opened = async (/** @type {string} */ given, variables = {}) => {
      const { url, pg } = readEnvironment({ DATABASE_URL: given, ...ours, ...variables }, dotenvFile).database
      return openDatabase(url, { pg })
    }
    const byParameter = await opened(`postgres://${pathname}?host=${hostname}`, { PGHOST: 'x' })
    await byParameter.close()
    const database = await opened(`postgres://${pathname}`)
    t.teardown(database.close)
    t.equal(byParameter.url, database.url)
    const api = await startApi(t, database.url, { ...ours, PGPORT: '1' })
    t.equal((await post(api.url, newUser())).status, 201)
    t.equal(await database.countRows(), 1)
    t.equal(await labRows(url), 1)
    t.strictSame(await rows(url, others), [{ rows: 3 }])
  })
})

t.test('every report states how durable the commits are', async (t) => {
  const url = await databaseWithUsers(t)
  t.equal(await refusal(url), null)
  await rows(url, 'ALTER TABLE redline_lab.users SET UNLOGGED')
  await rows(url, `ALTER ROLE redline IN DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`)
  const { code, stdout, stderr, out } = await sweep(t, ['--database-url', url])
  t.equal(code, 0, stderr)
  const { database, warnings } = readRun(out)
  const [settings] = await rows(url, "SELECT current_setting('wal_sync_method') AS wal_sync_method")
  t.match(database, { kind: 'given', schema: 'redline_lab', synchronous_commit: 'off', unlogged: true, ...settings })
  t.match(
    fs.readFileSync(`${out}/report.md`, 'utf8'),
    new RegExp(`synchronous_commit off.*wal_sync_method ${settings.wal_sync_method}.*data on \\w+`),
  )
  for (const weakness of [/UNLOGGED/, /synchronous_commit = off/]) {
    t.match(stdout, weakness, 'on the first screen')
    t.match(warnings.join('\n'), weakness)
  }
})
