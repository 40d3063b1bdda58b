import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { newUser, post, startApi } from '../../support/api.js'
import { blockTable, rows } from '../../support/database.js'
import { readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { startServer } from '../../support/postgres.js'
import { until } from '../../support/until.js'

const QUICK = ['--rates', '200', '--duration', '300ms', '--warmup', '100ms', '--slo-p99', '5s', '--seed', '7']
const PATIENT = { MAX_QUEUE_MS: '0', MAX_LOOP_DELAY_MS: '0', POOL_CONNECT_TIMEOUT_MS: '30000' }
const LAB_WAITS = "SELECT FROM pg_stat_activity WHERE application_name = 'redline-lab' AND wait_event_type = 'Lock'"
const SCHEMA = fs.readFileSync('sql/schema.sql', 'utf8')

const server = await startServer()
t.teardown(() => server.halt('SIGQUIT').then(server.stop))

/**
 * A database with three users, as `npm run database` and an API make it.
 *
 * @param {string} name
 */
async function databaseWithUsers(name) {
  await rows(server.url, `CREATE DATABASE ${name}`)
  const url = Object.assign(new URL(server.url), { pathname: `/${name}` }).href
  await rows(url, SCHEMA)
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
 * @param {Record<string, string | undefined>} [env]
 * @param {string} [dotenv]
 */
function sweep(t, argv, env = {}, dotenv) {
  const cwd = temporaryFolder(t)
  if (dotenv) fs.writeFileSync(path.join(cwd, '.env'), dotenv)
  const out = path.join(cwd, 'out')
  const lab = startLab(['sweep', ...QUICK, '--out', out, ...argv], { ...PATIENT, ...env }, { cwd })
  return { ...lab, out }
}

/** @param {string} url */
function labRows(url) {
  return rows(url, 'SELECT count(*)::int AS rows FROM redline_lab.users').then(([found]) => found.rows)
}

t.test('a DATABASE_URL from .env is not enough to empty a table: exit 2, and the users are still there', async (t) => {
  const url = await databaseWithUsers('dotenv')
  const api = await startApi(t, url)
  t.equal((await post(api.url, newUser())).status, 201)
  const { ended, out } = sweep(t, [], {}, `DATABASE_URL=${url}\n`)
  const { code, stderr } = await ended
  t.equal(code, 2, stderr)
  t.match(stderr, /\.env.*--database-url embedded.*--database-url URL/s)
  t.equal((await emails(url)).length, 4)
  t.strictSame(await rows(url, "SELECT nspname FROM pg_namespace WHERE nspname = 'redline_lab'"), [])
  t.notOk(fs.existsSync(out), 'no folder is left either')
})

t.test('--database-url embedded measures although .env names a database', async (t) => {
  const url = await databaseWithUsers('dotenv_embedded')
  const { ended, out } = sweep(t, ['--database-url', 'embedded'], {}, `DATABASE_URL=${url}\n`)
  const { code, stderr } = await ended
  t.equal(code, 0, stderr)
  t.equal(readRun(out).database.kind, 'embedded')
  t.strictSame(await emails(url), ['ada', 'bob', 'eve'])
})

t.test('a database that is named: users stay, the lab works in a schema of its own, again and again', async (t) => {
  const url = await databaseWithUsers('named')
  const api = await startApi(t, url)
  t.equal((await post(api.url, newUser())).status, 201)
  for (const env of [{ DATABASE_URL: url }, { DATABASE_URL: url }]) {
    const { ended, out } = sweep(t, [], env)
    const { code, stderr } = await ended
    t.equal(code, 0, stderr)
    const [{ traffic }] = readTrials(out)
    t.equal(traffic.rows_stored, traffic.status[201])
    t.equal(await labRows(url), 80)
    const [{ mark }] = await rows(url, "SELECT obj_description('redline_lab.users'::regclass, 'pg_class') AS mark")
    t.match(mark, `redline: made by run ${readRun(out).run_id}`)
  }
  t.equal((await emails(url)).length, 4)
  t.strictSame(await rows(url, "SELECT obj_description('public.users'::regclass, 'pg_class') AS mark"), [
    { mark: null },
  ])

  await rows(url, "INSERT INTO redline_lab.users (email, password) VALUES ('mine', 'x')")
  const refused = await sweep(t, ['--database-url', url]).ended
  t.equal(refused.code, 2)
  t.match(refused.stderr, /redline_lab\.users.*81 rows.*80.*DROP TABLE redline_lab\.users/s)
  t.equal(await labRows(url), 81)
  t.strictSame(await rows(url, "SELECT email FROM redline_lab.users WHERE email = 'mine'"), [{ email: 'mine' }])
})

t.test('after kill -9 the next run takes its rows for the lab’s, and no others', async (t) => {
  const url = await databaseWithUsers('killed')
  const kill = async () => {
    const lab = sweep(t, ['--rates', '200,200', '--duration', '2s', '--database-url', url])
    await lab.stderrHas('trial 1:')
    while ((await labRows(url)) < 100) await new Promise((resolve) => setTimeout(resolve, 20))
    lab.child.kill('SIGKILL')
    await lab.ended
  }
  await kill()
  const next = await sweep(t, ['--database-url', url]).ended
  t.equal(next.code, 0, next.stderr)
  await kill()
  await rows(url, "INSERT INTO redline_lab.users (email, password) VALUES ('mine', 'x')")
  const refused = await sweep(t, ['--database-url', url]).ended
  t.equal(refused.code, 2)
  t.match(refused.stderr, /1 row that no load of run .* made.*DROP TABLE redline_lab\.users/s)
  t.ok((await labRows(url)) > 100, 'nothing was emptied')
})

t.test('rows that come in from elsewhere during a run stop it, and stay', async (t) => {
  const url = await databaseWithUsers('during')
  const lab = sweep(t, ['--rates', '200,200,200', '--database-url', url])
  await lab.stderrHas('trial 1:')
  await rows(url, "INSERT INTO redline_lab.users (email, password) VALUES ('mine', 'x')")
  const { code, stderr } = await lab.ended
  t.equal(code, 1, stderr)
  t.match(stderr, /1 row that no load of run .* made/)
  t.strictSame(await rows(url, "SELECT email FROM redline_lab.users WHERE email = 'mine'"), [{ email: 'mine' }])
  const next = await sweep(t, ['--database-url', url]).ended
  t.equal(next.code, 2, 'and the next run does not empty it either')
})

t.test('Ctrl-C ends a run that waits for a locked table', async (t) => {
  const url = await databaseWithUsers('locked')
  const lab = sweep(t, ['--rates', '100', '--duration', '2s', '--timeout', '1s', '--database-url', url])
  t.teardown(() => lab.child.kill('SIGKILL'))
  await until('rows of the load', () => {
    return labRows(url).then(
      (stored) => stored > 100,
      () => false,
    )
  })
  await blockTable(t, withSearchPath(url, 'redline_lab'))
  await until('the lab to wait', async () => (await rows(url, LAB_WAITS)).length > 0)
  lab.child.kill('SIGINT')
  // The API has 12 s to end.
  const late = new Promise((resolve) => setTimeout(resolve, 18_000, 'still on after 18 s').unref())
  t.match(await Promise.race([lab.ended, late]), { code: 130 })
})

t.test('a search path in the URL is respected, and its table refused unless the lab made it', async (t) => {
  const url = await databaseWithUsers('search_path')
  for (const statement of [
    'SELECT 1',
    "COMMENT ON TABLE users IS 'redline: emptied before every trial'",
    'TRUNCATE users',
  ]) {
    await rows(url, statement)
    const { code, stderr } = await sweep(t, ['--database-url', withSearchPath(url, 'public')]).ended
    t.equal(code, 2, statement)
    t.match(stderr, /public\.users.*was not made by the lab.*search_path/s)
  }
  const byVariable = await sweep(t, ['--database-url', url], { PGOPTIONS: '-c search_path=public' }).ended
  t.match(byVariable, { code: 2, stderr: /public\.users.*was not made by the lab/s })

  await rows(url, 'CREATE SCHEMA theirs')
  const { ended, out } = sweep(t, ['--database-url', withSearchPath(url, 'theirs')])
  const { code, stderr } = await ended
  t.equal(code, 0, stderr)
  t.equal(readRun(out).database.schema, 'theirs')
  t.strictSame(await rows(url, 'SELECT count(*)::int FROM theirs.users'), [{ count: 80 }])
})

t.test('a table that sessions of others use is refused', async (t) => {
  const url = await databaseWithUsers('sessions')
  await rows(url, 'CREATE SCHEMA shared')
  const shared = withSearchPath(url, 'shared')
  t.equal((await sweep(t, ['--database-url', shared]).ended).code, 0)
  await startApi(t, shared)
  const { code, stderr } = await sweep(t, ['--database-url', shared]).ended
  t.equal(code, 2, stderr)
  t.match(stderr, /shared\.users.*in use by.*redline-api.*(stop|leave out)/is)
  t.strictSame(await rows(url, 'SELECT count(*)::int FROM shared.users'), [{ count: 80 }])
})

t.test('a table some of whose rows are hidden is refused', async (t) => {
  const url = await databaseWithUsers('hidden')
  await rows(url, "CREATE ROLE careful LOGIN PASSWORD 'x'; GRANT CREATE ON DATABASE hidden TO careful")
  const careful = Object.assign(new URL(url), { username: 'careful', password: 'x' }).href
  t.equal((await sweep(t, ['--database-url', careful]).ended).code, 0)
  await rows(
    url,
    `ALTER TABLE redline_lab.users ENABLE ROW LEVEL SECURITY; ALTER TABLE redline_lab.users FORCE ROW LEVEL SECURITY;
     CREATE POLICY p ON redline_lab.users USING (email <> 'mine')`,
  )
  const { code, stderr } = await sweep(t, ['--database-url', careful]).ended
  t.equal(code, 2, stderr)
  t.match(stderr, /row-level security/)
  t.equal(await labRows(url), 80)
})

t.test('a role that may not create the schema: the error names the privilege it needs', async (t) => {
  const url = await databaseWithUsers('poor')
  await rows(url, "CREATE ROLE poor LOGIN PASSWORD 'x'")
  const poor = Object.assign(new URL(url), { username: 'poor', password: 'x' }).href
  const { code, stderr } = await sweep(t, ['--database-url', poor]).ended
  t.equal(code, 2)
  t.match(stderr, /GRANT CREATE ON DATABASE "poor" TO "poor"/)
  const readOnly = new URL(url)
  readOnly.searchParams.set('options', '-c default_transaction_read_only=on')
  const second = await sweep(t, ['--database-url', readOnly.href]).ended
  t.match(second, { code: 2, stderr: /read-only/ })
})

t.test('doctor changes nothing in a database', async (t) => {
  const url = await databaseWithUsers('looked_at')
  await rows(url, 'TRUNCATE users; COMMENT ON TABLE users IS NULL')
  const state = () =>
    rows(
      url,
      `SELECT (SELECT array_agg(nspname::text ORDER BY nspname) FROM pg_namespace) AS schemas,
         (SELECT array_agg(oid::text ORDER BY oid) FROM pg_class) AS relations,
         (SELECT count(*)::int FROM pg_description) AS comments, txid_current_if_assigned() AS written`,
    )
  const before = await state()
  const cwd = temporaryFolder(t)
  fs.writeFileSync(path.join(cwd, '.env'), `DATABASE_URL=${url}\n`)
  const { code, stderr } = await startLab(['doctor', '--rate', '100'], {}, { cwd }).ended
  t.not(code, 2, stderr)
  t.strictSame(await state(), before)
})

t.test('PG variables, wherever they stand, do not part the lab from the load', async (t) => {
  const url = await databaseWithUsers('one')
  await rows(url, 'CREATE SCHEMA elsewhere; CREATE TABLE elsewhere.users (LIKE public.users INCLUDING ALL)')
  await rows(server.url, 'CREATE DATABASE other TEMPLATE one')
  const { hostname, port, username, password } = new URL(url)
  const foreign = 'PGHOST=203.0.113.1\nPGPORT=1\nPGDATABASE=other\nPGUSER=nobody\nPGPASSWORD=wrong\nPGAPPNAME=x\n'
  const variables = { PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password, PGSSLMODE: 'disable' }
  /** @type {[string, string[], Record<string, string>, string][]} */
  const cases = [
    ['.env alone', ['--database-url', url], {}, `${foreign}PGOPTIONS='-c search_path=elsewhere'\n`],
    ['environment, against the URL', ['--database-url', url], { PGDATABASE: 'other', PGPORT: '1', PGHOST: 'x' }, ''],
    ['a URL without host, completed by the environment', ['--database-url', 'postgres:///one'], variables, foreign],
    ['host as a parameter', ['--database-url', `postgres:///one?host=${hostname}`], { ...variables, PGHOST: 'x' }, ''],
  ]
  for (const [name, argv, env, dotenv] of cases) {
    const { ended, out } = sweep(t, argv, env, dotenv)
    const { code, stderr } = await ended
    t.equal(code, 0, `${name}: ${stderr}`)
    const [{ traffic }] = readTrials(out)
    t.equal(traffic.rows_stored, traffic.status[201], name)
    t.equal(await labRows(url), 80, name)
    const others =
      'SELECT (SELECT count(*)::int FROM elsewhere.users) + (SELECT count(*)::int FROM public.users) AS rows'
    t.strictSame(await rows(url, others), [{ rows: 3 }], name)
    await rows(url, 'DROP SCHEMA redline_lab CASCADE')
  }
})

t.test('every report states how durable the commits are', async (t) => {
  const url = await databaseWithUsers('durable')
  const first = sweep(t, ['--database-url', url])
  t.equal((await first.ended).code, 0)
  t.match(readRun(first.out).database, {
    kind: 'given',
    schema: 'redline_lab',
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    wal_sync_method: /sync/,
    unlogged: false,
  })
  t.match(
    fs.readFileSync(`${first.out}/report.md`, 'utf8'),
    /synchronous_commit on.*wal_sync_method \w*sync.*data on \w+/,
  )
  await rows(url, 'ALTER TABLE redline_lab.users SET UNLOGGED')
  await rows(url, 'ALTER ROLE redline IN DATABASE durable SET synchronous_commit = off')
  const second = sweep(t, ['--database-url', url])
  const { code, stdout, stderr } = await second.ended
  t.equal(code, 0, stderr)
  t.match(readRun(second.out).database, { synchronous_commit: 'off', unlogged: true })
  for (const weakness of [/UNLOGGED/, /synchronous_commit = off/]) {
    t.match(stdout, weakness, 'on the first screen')
    t.match(readRun(second.out).warnings.join('\n'), weakness)
  }
})
