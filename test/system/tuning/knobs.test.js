import path from 'node:path'
import t from 'tap'
import { NotApplied, UsageError } from '../../../load/command/errors.js'
import { readMetrics } from '../../../load/probes/metrics.js'
import { overload } from '../../../tuning/experiments/overload/overload.js'
import { openFilled } from '../../../tuning/experiments/tune/open.js'
import { KNOBS } from '../../../tuning/knobs/knobs.js'
import { loadOf } from '../../../tuning/knobs/means.js'
import { openCell } from '../../../tuning/knobs/open-cell.js'
import { newUser, post } from '../../support/api.js'
import { blockTable, rows } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { until } from '../../support/until.js'

const embedded = await newDatabase(t)

/** @param {any} t @param {Record<string, string | number>} levels */
function open(t, levels) {
  return openCell(levels, placeOf(t))
}

/** @param {any} t */
function placeOf(t) {
  const logFile = path.join(temporaryFolder(t), 'api.log')
  return { databaseUrl: embedded.url, cores: null, allCores: null, env: process.env, logFile }
}

t.test('knobs are turned by all means, and read back from what runs', async (t) => {
  const levels = {
    INSERT_MODE: 'prepared',
    POOL_MAX: 3,
    BODY_LIMIT_BYTES: 20_000,
    NOFILE: 300,
    SEMI_SPACE_MB: 8,
    DB_DELAY_MS: 20,
    DB_RTT_MS: 10,
    SYNCHRONOUS_COMMIT: 'off',
    NODE: Number(process.versions.node.split('.')[0]),
    CONNECTIONS: 'fresh',
  }
  const target = await open(t, levels)
  const { NODE, ...others } = target.settings
  t.match(others, {
    INSERT_MODE: 'prepared',
    POOL_MAX: 3,
    BODY_LIMIT_BYTES: 20_000,
    NOFILE: 300,
    SEMI_SPACE_MB: 8,
    DB_DELAY_MS: 20,
    DB_RTT_MS: 10,
    SYNCHRONOUS_COMMIT: 'off',
  })
  t.equal(NODE, levels.NODE)
  t.strictSame(loadOf(levels), { fresh_connections: true })
  await post(target.url, newUser())
  const start_ms = performance.now()
  t.equal((await post(target.url, newUser())).status, 201)
  t.ok(performance.now() - start_ms >= 30, 'the database is far away, and slow')
  t.equal(others.DB_RTT_MS, 10)
  await target.stop()
  const triggers = await rows(embedded.url, "SELECT 1 FROM pg_trigger WHERE tgname = 'redline_delay'", [])
  t.equal(triggers.length, 0, 'and near again when the cell is closed')
})

t.test('a table grows before a trial, has more indexes, and has neither afterwards', async (t) => {
  await rows(embedded.url, 'TRUNCATE users')
  const target = await open(t, { TABLE_ROWS: 1000, INDEXES: 4 })
  t.match(target.settings, { TABLE_ROWS: 1000, INDEXES: 4 })
  await target.fill?.(new AbortController().signal)
  const numberOf = async (/** @type {string} */ what) =>
    (await rows(embedded.url, `SELECT count(*)::int AS number FROM ${what}`))[0].number
  t.equal(await numberOf('users'), 1000)
  const [user, other] = [newUser(), newUser()]
  const statuses = [user, user, other].map(async (one) => (await post(target.url, one)).status)
  t.strictSame((await Promise.all(statuses)).sort(), [201, 201, 409], 'the first of them is unique')
  await target.stop()
  t.equal(await numberOf("pg_indexes WHERE tablename = 'users'"), 1)
  await rows(embedded.url, 'TRUNCATE users')
})

t.test('Ctrl-C cancels the filling of a table, in Postgres too', async (t) => {
  const target = await open(t, { TABLE_ROWS: 1000 })
  t.teardown(target.stop)
  const release = await blockTable(t, embedded.url)
  const controller = new AbortController()
  const filling = t.rejects(
    Promise.resolve(target.fill?.(controller.signal)),
    /canceling statement due to user request/,
  )
  const inserts = () => {
    const active =
      "datname = current_database() AND state = 'active' AND query LIKE 'INSERT INTO users%generate_series%'"
    return rows(
      embedded.url,
      `SELECT wait_event_type FROM pg_stat_activity WHERE ${active} AND pid <> pg_backend_pid()`,
    )
  }
  await until('the INSERT to wait for the table', async () => (await inserts())[0]?.wait_event_type === 'Lock')
  controller.abort(new Error('SIGINT'))
  await filling
  await release()
  t.strictSame(await inserts(), [])
  t.strictSame(await rows(embedded.url, 'SELECT count(*)::int AS number FROM users'), [{ number: 0 }])
})

t.test('the first level of a knob is what the API has when nobody turns it', async (t) => {
  const target = await open(t, {})
  t.teardown(target.stop)
  for (const [name, { by, levels }] of Object.entries(KNOBS)) {
    if (by === 'environment' || by === 'prlimit') t.equal(target.settings[name], levels[0], name)
  }
})

t.test('what cannot be set is not applied, and leaves nothing', async (t) => {
  const tooMany = open(t, { DB_DELAY_MS: 5, DB_RTT_MS: 1, NOFILE: 2000000000 })
  await t.rejects(tooMany, new NotApplied())
  await t.rejects(tooMany, /prlimit|NOFILE/)
  const rewritten = open(t, { BODY_LIMIT_BYTES: '020000' })
  await t.rejects(rewritten, /BODY_LIMIT_BYTES: expected 020000 when it was read back, got 20000/)
  const triggers = await rows(embedded.url, "SELECT 1 FROM pg_trigger WHERE tgname = 'redline_delay'", [])
  t.equal(triggers.length, 0)
})

t.test('a longer way needs a database on this side, and without a certificate', async (t) => {
  const place = { databaseUrl: embedded.url, cores: null, allCores: null, env: {}, logFile: '/dev/null' }
  const tls = { ...place, databaseUrl: embedded.url.replace('sslmode=disable', 'sslmode=verify-full') }
  await t.rejects(openCell({ DB_RTT_MS: 1 }, tls), /expected a Postgres without TLS/)
  const elsewhere = { ...place, host: /** @type {any} */ ({}) }
  await t.rejects(openCell({ DB_RTT_MS: 1 }, elsewhere), /got --ssh/)
})

t.test("a row of the article's table has its whole pool open before its trial", async (t) => {
  const { metricsUrl, stop } = await openFilled({ INSERT_MODE: 'single', POOL_MAX: 12 }, placeOf(t))
  t.teardown(stop)
  const metrics = await readMetrics(String(metricsUrl), ['redline_pool_total'], 2000)
  t.equal(metrics.sum('redline_pool_total'), 12)
})

t.test('overload --db-delay is turned as a knob, or refused', async (t) => {
  const openWith = /** @type {any} */ (overload).open
  const plan = { url: null }
  const far = await openWith({ DB_DELAY_MS: 20 }, placeOf(t), plan)
  const start_ms = performance.now()
  t.equal((await post(far.url, newUser())).status, 201)
  t.ok(performance.now() - start_ms >= 20)
  await far.stop()
  const near = await openWith(null, placeOf(t), plan)
  t.notOk('DB_DELAY_MS' in near.settings)
  await near.stop()
  // There is no measurement without it.
  await t.rejects(openWith({ DB_DELAY_MS: 5, NOFILE: 2000000000 }, placeOf(t), plan), new UsageError())
  const given = (/** @type {string} */ text) => overload.flags['db-delay'].parse?.(text)
  t.strictSame(['5ms', '1s', '1001ms', '0.5ms', 'far'].map(given), [5, 1000, undefined, undefined, undefined])
})
