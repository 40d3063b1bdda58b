import fs from 'node:fs'
import t from 'tap'
import { upkeepIn } from '../../../load/run/trial.js'
import { timeUpkeep_s } from '../../../sql/database.js'
import { blockTable, rows } from '../../support/database.js'
import {
  databaseWithUsers,
  emails,
  labRows,
  refusal,
  startSweep,
  sweep,
  untilLabRows,
  withSearchPath,
} from '../../support/given-database.js'
import { readRun, readTrials } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { until } from '../../support/until.js'

/** What whole runs do to a database that is given; what is refused, and why, is in given-database.test.js. */
const LAB = "pg_stat_activity WHERE application_name = 'redline-lab' AND datname = current_database()"

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
  t.match(
    await refusal(url),
    /redline_lab\.users holds {"rows":"81".* left {"rows":"80".*DROP TABLE redline_lab\.users/s,
  )
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
  t.match(
    await refusal(url),
    /rows that no load of run \S+ is known to have made \(1\).*DROP TABLE redline_lab\.users/s,
  )
  t.equal(await labRows(url), left + 1, 'nothing was emptied')
  await rows(url, "DELETE FROM redline_lab.users WHERE email = 'mine'")
  t.equal(await refusal(url), null)
  t.equal(await labRows(url), 0)
})

t.test('Ctrl-C ends a run that waits for a locked table', async (t) => {
  const url = await databaseWithUsers(t)
  const lab = startSweep(t, ['--timeout', '1s', '--slo-p99', '1s', '--database-url', url, '--warmup', '2s'], {
    SHUTDOWN_TIMEOUT_MS: '1000',
  })
  await untilLabRows(url, 50)
  await blockTable(t, withSearchPath(url, 'redline_lab'))
  const waits = `SELECT FROM ${LAB} AND wait_event_type = 'Lock'`
  await until('the lab to wait', async () => (await rows(url, waits)).length > 0, 60_000)
  lab.child.kill('SIGINT')
  t.equal((await lab.ended).code, 130)
})

t.test('a CHECKPOINT beside a load is made and timed, and who may not make one learns why', async (t) => {
  const { url } = await newDatabase(t)
  const { signal } = new AbortController()
  const asked = (/** @type {string} */ as) =>
    /** @type {any} */ ({
      upkeep_s: (/** @type {'checkpoint' | 'vacuum'} */ kind, /** @type {AbortSignal} */ ending) =>
        timeUpkeep_s(as, kind, ending),
    })
  const lsn = async () => (await rows(url, 'SELECT checkpoint_lsn FROM pg_control_checkpoint()'))[0].checkpoint_lsn
  const before = await lsn()
  const { checkpoint_s } = await upkeepIn(asked(url), { checkpoint: true }, 0.01, signal)
  t.ok(Number(checkpoint_s) > 0, String(checkpoint_s))
  t.not(await lsn(), before)

  await rows(url, "CREATE ROLE bystander LOGIN PASSWORD 'x'")
  const bystander = Object.assign(new URL(url), { username: 'bystander', password: 'x' })
  const { checkpoint_problem } = await upkeepIn(asked(String(bystander)), { checkpoint: true }, 0, signal)
  t.match(checkpoint_problem, /permission denied|must be superuser/)
  t.strictSame(await upkeepIn(null, { checkpoint: true }, 0, signal), {}, 'a target whose database is not ours')
  t.strictSame(await upkeepIn(asked(url), {}, 0, signal), {}, 'a load without either')
})

t.test('a VACUUM beside a load is made and timed', async (t) => {
  const { url } = await newDatabase(t)
  await rows(url, "INSERT INTO users (email, password) VALUES ('ada@redline.test', 'x')")
  const upkeep_s = (/** @type {'checkpoint' | 'vacuum'} */ kind, /** @type {AbortSignal} */ ending) =>
    timeUpkeep_s(url, kind, ending)
  const { vacuum_s } = await upkeepIn(
    /** @type {any} */ ({ upkeep_s }),
    { vacuum: true },
    0,
    new AbortController().signal,
  )
  t.ok(Number(vacuum_s) > 0, String(vacuum_s))
  const [{ visible }] = await rows(
    url,
    "SELECT relallvisible::int AS visible FROM pg_class WHERE oid = 'users'::regclass",
  )
  t.equal(visible, 1, 'the page of the row is known to be visible to all')
})
