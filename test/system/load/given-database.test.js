import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readEnvironment } from '../../../load/environment.js'
import { runPreflight } from '../../../load/preflight/run.js'
import { lookAtDatabase, openDatabase } from '../../../sql/database.js'
import { newUser, post, startApi } from '../../support/api.js'
import { blockTable, rows } from '../../support/database.js'
import { runHere } from '../../support/in-process.js'
import { readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { until } from '../../support/until.js'

const QUICK = ['--rates', '200', '--duration', '300ms', '--warmup', '100ms', '--slo-p99', '9s', '--seed', '7']
const PATIENT = { MAX_QUEUE_MS: '0', MAX_LOOP_DELAY_MS: '0', POOL_CONNECT_TIMEOUT_MS: '30000' }
const LAB = "pg_stat_activity WHERE application_name = 'redline-lab' AND datname = current_database()"

/** A database with three users, as `npm run database` and an API make it. @param {any} t */
async function databaseWithUsers(t) {
  const { url } = await newDatabase(t)
  await rows(url, "INSERT INTO users (email, password) VALUES ('ada', 'x'), ('bob', 'x'), ('eve', 'x')")
  return url
}

/** @param {string} url */
async function emails(url) {
  return (await rows(url, 'SELECT email FROM public.users ORDER BY id')).map(({ email }) => email)
}

/** @param {string} url @param {string} path */
function withSearchPath(url, path) {
  const named = new URL(url)
  named.searchParams.set('options', `-c search_path=${path}`)
  return named.href
}

/**
 * @param {any} t
 * @param {string[]} argv
 * @param {Parameters<typeof runHere>[1] & { dotenv?: string }} [options]
 */
async function sweep(t, argv, { dotenv, env, ...options } = {}) {
  const folder = temporaryFolder(t)
  const [dotenvFile, out] = ['.env', 'out'].map((name) => path.join(folder, name))
  if (dotenv) fs.writeFileSync(dotenvFile, dotenv)
  const given = { dotenvFile, env: { ...PATIENT, ...env }, ...options }
  return { ...(await runHere(['sweep', ...QUICK, '--out', out, ...argv], given)), out }
}

/** The same as a program. @param {any} t @param {string[]} argv @param {Record<string, string>} [env] @param {string} [dotenv] */
function startSweep(t, argv, env = {}, dotenv = '') {
  const cwd = temporaryFolder(t)
  fs.writeFileSync(path.join(cwd, '.env'), dotenv)
  const out = path.join(cwd, 'out')
  const lab = startLab(['sweep', ...QUICK, '--out', out, ...argv], { ...PATIENT, ...env }, { cwd })
  return { ...lab, out }
}

/** @param {string} url */
function labRows(url) {
  return rows(url, 'SELECT count(*)::int AS rows FROM redline_lab.users').then(([found]) => found.rows)
}

/** While a program makes the table and puts load on it. @param {string} url @param {number} least */
function untilLabRows(url, least) {
  const stored = () => labRows(url).catch(() => 0)
  return until(`${least} rows of the load`, async () => (await stored()) >= least, 60_000)
}

/** What the next lab says of a database; null: it takes it. @param {string} url @param {Parameters<typeof openDatabase>[1]} [options] */
async function refusal(url, options) {
  try {
    const database = await openDatabase(url, { run: 'next', own: ['user-next-%'], ...options })
    await database.close()
    return null
  } catch (error) {
    return /** @type {Error} */ (error).message
  }
}

t.test('a DATABASE_URL from .env is not enough to empty a table: exit 2, and the users are still there', async (t) => {
  const url = await databaseWithUsers(t)
  const { ended, out } = startSweep(t, [], {}, `DATABASE_URL=${url}\n`)
  const { code, stderr } = await ended
  t.equal(code, 2, stderr)
  t.match(stderr, /\.env.*--database-url embedded.*--database-url URL/s)
  t.strictSame(await emails(url), ['ada', 'bob', 'eve'])
  t.strictSame(await rows(url, "SELECT nspname FROM pg_namespace WHERE nspname = 'redline_lab'"), [])
  t.notOk(fs.existsSync(out), 'no folder is left either')
})

t.test('--database-url embedded means the embedded Postgres although .env names a database', async (t) => {
  const dotenv = 'DATABASE_URL=postgres://nobody@127.0.0.1:1/none\nPGOPTIONS=-c search_path=elsewhere\n'
  /** @type {import('../../../load/environment.js').GivenDatabase | undefined} */
  let opened
  const lab = {
    openBench: async (/** @type {any} */ _plan, /** @type {any} */ _results, /** @type {any} */ { environment }) => {
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

t.test('a database that is named: users stay, the lab works in a schema of its own, again and again', async (t) => {
  const url = await databaseWithUsers(t)
  const { code, stderr, out } = await sweep(t, [], { env: { DATABASE_URL: url } })
  t.equal(code, 0, stderr)
  const [{ traffic }] = readTrials(out)
  t.equal(traffic.rows_stored, traffic.status[201])
  t.equal(await labRows(url), 80)
  const [{ mark }] = await rows(url, "SELECT obj_description('redline_lab.users'::regclass, 'pg_class') AS mark")
  t.match(mark, `redline: made by run ${readRun(out).run_id}`)
  t.strictSame(await emails(url), ['ada', 'bob', 'eve'])
  t.strictSame(await rows(url, "SELECT obj_description('public.users'::regclass, 'pg_class') AS mark"), [
    { mark: null },
  ])

  await rows(url, "INSERT INTO redline_lab.users (email, password) VALUES ('mine', 'x')")
  t.match(await refusal(url), /redline_lab\.users.*81 rows.*80.*DROP TABLE redline_lab\.users/s)
  t.equal(await labRows(url), 81)
  t.strictSame(await rows(url, "SELECT email FROM redline_lab.users WHERE email = 'mine'"), [{ email: 'mine' }])

  await rows(url, "DELETE FROM redline_lab.users WHERE email = 'mine'")
  t.equal(await refusal(url), null, 'what the run left is the lab’s')
  t.equal(await labRows(url), 0)
  t.strictSame(await emails(url), ['ada', 'bob', 'eve'])
})

t.test('after kill -9 the next run takes its rows for the lab’s, and no others', async (t) => {
  const url = await databaseWithUsers(t)
  const lab = startSweep(t, ['--duration', '60s', '--database-url', url])
  await untilLabRows(url, 50)
  lab.child.kill('SIGKILL')
  await lab.ended
  const sessions = "pg_stat_activity WHERE application_name LIKE 'redline-%' AND datname = current_database()"
  await until('its sessions to end', async () => (await rows(url, `SELECT FROM ${sessions}`)).length === 0)
  const left = await labRows(url)
  t.ok(left >= 50)
  await rows(url, "INSERT INTO redline_lab.users (email, password) VALUES ('mine', 'x')")
  t.match(await refusal(url), /1 row that no load of run \S+ made.*DROP TABLE redline_lab\.users/s)
  t.equal(await labRows(url), left + 1, 'nothing was emptied')
  await rows(url, "DELETE FROM redline_lab.users WHERE email = 'mine'")
  t.equal(await refusal(url), null)
  t.equal(await labRows(url), 0)
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
  t.match(stderr, /1 row that no load of run \S+ made/)
  t.notOk(fs.existsSync(path.join(out, 'trials.ndjson')))
  t.strictSame(await rows(url, 'SELECT email FROM redline_lab.users'), [{ email: 'mine' }])
  t.match(await refusal(url), /1 row that no load of run \S+ made/, 'and the next run does not empty it either')
  t.strictSame(await rows(url, 'SELECT email FROM redline_lab.users'), [{ email: 'mine' }])
})

t.test('Ctrl-C ends a run that waits for a locked table', async (t) => {
  const url = await databaseWithUsers(t)
  const lab = startSweep(t, ['--timeout', '1s', '--database-url', url, '--warmup', '2s'])
  await untilLabRows(url, 50)
  await blockTable(t, withSearchPath(url, 'redline_lab'))
  const waits = `SELECT FROM ${LAB} AND wait_event_type = 'Lock'`
  await until('the lab to wait', async () => (await rows(url, waits)).length > 0, 60_000)
  lab.child.kill('SIGINT')
  t.equal((await lab.ended).code, 130)
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
  const api = await startApi(t, database.url)
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
  const api = await startApi(t, shared)
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
    ...{ connections: 10, pool_max: 20, processes: 1, rate_rps: 100, backlog: 511, fresh_connections: false },
    timeout_s: 10,
  }
  const signal = new AbortController().signal
  const { findings } = await runPreflight({ plan: planned, database, cores: null, measuresCeiling: false, signal })
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
