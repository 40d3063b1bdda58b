import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { NotApplied } from '../../../load/not-applied.js'
import { applySchema, openDatabase } from '../../../sql/database.js'
import { levelsOf } from '../../../tuning/design.js'
import { openCell } from '../../../tuning/knobs/open-cell.js'
import { asksForTls, findPgbouncer, pgbouncerConfig } from '../../../tuning/knobs/pgbouncer.js'
import { arithmeticTable, pgbouncerTable } from '../../../tuning/more-cores.js'
import { PRESETS } from '../../../tuning/tune/presets.js'
import { newUser, post } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { openHosts, withoutHosts } from '../../support/hosts.js'
import { processesOf, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { newCertificate, startPostgres } from '../../support/postgres-host.js'
import { without } from '../../support/skip.js'

const skip = without('pgbouncer', '--version') ?? false

/** @param {any} t @param {string} databaseUrl @param {Record<string, string>} levels */
function open(t, databaseUrl, levels, env = process.env) {
  const logFile = path.join(temporaryFolder(t), 'api.log')
  return openCell(levels, { databaseUrl, cores: null, allCores: null, env, logFile })
}

/** @param {string} url @param {number} requests all at once */
async function statuses(url, requests) {
  const answers = await Promise.all(Array.from({ length: requests }, () => post(url, newUser())))
  return answers.map(({ status }) => status)
}

t.test(
  'behind PgBouncer the API has as many connections as that, and is past it when it closes',
  { skip },
  async (t) => {
    const embedded = await newDatabase(t)
    const levels = { INSERT_MODE: 'single', POOL_MAX: '10', DB_DELAY_MS: '20', PGBOUNCER_POOL: '2' }
    const target = await open(t, embedded.url, levels)
    t.match(target.settings, { POOL_MAX: 10, DB_DELAY_MS: 20, PGBOUNCER_POOL: 2, PGBOUNCER: /^\d+\.\d+/ })

    const answered = statuses(target.url, 60)
    const sessions = 'SELECT count(*)::int FROM pg_stat_activity WHERE application_name = $1'
    let most = 0
    for (let ended = false; !ended; ) {
      ended = await Promise.race([answered.then(() => true), new Promise((resolve) => setTimeout(resolve, 5, false))])
      most = Math.max(most, (await rows(embedded.url, sessions, ['redline-api']))[0].count)
    }
    t.ok((await answered).every((status) => status === 201))
    t.equal(most, 2, 'though the pool of the API has ten')
    await target.stop()
    t.equal((await rows(embedded.url, sessions, ['redline-api']))[0].count, 0)
    t.strictSame(processesOf('redline-pgbouncer-'), [])
  },
)

t.test('behind PgBouncer the rows go to the schema of the URL', { skip }, async (t) => {
  const embedded = await newDatabase(t)
  const database = await openDatabase(embedded.url)
  t.teardown(database.close)
  const target = await open(t, database.url, { INSERT_MODE: 'single', PGBOUNCER_POOL: '2' })
  t.teardown(target.stop)
  t.strictSame(await statuses(target.url, 3), [201, 201, 201])
  t.equal(await database.countRows(), 3)
  t.strictSame(await rows(embedded.url, 'SELECT count(*)::int FROM public.users'), [{ count: 0 }])
})

t.test('what it does not pass on is not taken for set', { skip }, async (t) => {
  const embedded = await newDatabase(t)
  const levels = { INSERT_MODE: 'single', SYNCHRONOUS_COMMIT: 'off', PGBOUNCER_POOL: '2' }
  await t.rejects(
    open(t, embedded.url, levels),
    new NotApplied('SYNCHRONOUS_COMMIT: expected off when it was read back, got on'),
  )
  t.strictSame(processesOf('redline-pgbouncer-'), [])
})

t.test(
  'to Postgres on another host it speaks TLS, and checks who answers',
  { skip: skip || (withoutHosts() ?? false) },
  async (t) => {
    const { database } = await openHosts(t, ['database'])
    const { url } = await startPostgres(database)
    await applySchema(url)
    const levels = { INSERT_MODE: 'single', PGBOUNCER_POOL: '2' }
    const target = await open(t, url, levels)
    t.strictSame(await statuses(target.url, 3), [201, 201, 201])
    await target.stop()

    const folder = path.join('/var/tmp', `redline-test-${randomBytes(6).toString('hex')}`)
    mkdirSync(folder, { mode: 0o755 })
    t.teardown(() => rmSync(folder, { recursive: true }))
    const wrong = new URL(url)
    wrong.searchParams.set('sslrootcert', (await newCertificate(folder, database.address)).caFile)
    await t.rejects(open(t, wrong.href, levels), /expected PgBouncer to reach Postgres, got: .*/)
  },
)

t.test('without PgBouncer the cell is not applied, and says how to get it', async (t) => {
  const message = 'expected pgbouncer on PATH, found none; sudo apt-get install pgbouncer installs it'
  t.throws(() => findPgbouncer(['/nowhere/pgbouncer']), new NotApplied(message))
})

t.test('statements with a name are followed since 1.21', async (t) => {
  const server = { host: '10.0.0.1', port: 5432, user: 'redline', isVerified: true, hasCa: true }
  const config = (/** @type {string} */ version) => {
    return pgbouncerConfig({ server, folder: '/f', port: 6432, pool_size: 7, version })
  }
  t.notMatch(config('1.18.0'), 'max_prepared_statements')
  t.match(config('1.21.0'), 'max_prepared_statements = 200')
  t.match(config('2.0.0'), 'max_prepared_statements = 200')
  t.match(config('1.18.0'), /server_tls_sslmode = verify-full\nserver_tls_ca_file = \/f\/ca.pem/)
  t.match(config('1.18.0'), /listen_addr = 127.0.0.1.*default_pool_size = 7/s)
})

t.test('TLS that the environment asks for is not left out behind it', async (t) => {
  const env = { PGSSLMODE: 'verify-full' }
  t.equal(asksForTls('postgres://u:p@10.0.0.1/db', env), true)
  t.equal(asksForTls('postgres://u:p@10.0.0.1/db?sslmode=disable', env), false, 'the URL counts first, as with pg')
  t.equal(asksForTls('postgres://u:p@10.0.0.1/db', {}), false)
  t.equal(asksForTls('postgres://u:p@10.0.0.1/db?sslmode=verify-full', {}), true)
})

t.test('the preset: pools against each other, and every mode where PgBouncer has the fewer connections', async (t) => {
  const { cells, knobs } = PRESETS.pgbouncer()
  t.equal(new Set(cells).size, 9)
  t.match(levelsOf(cells[0]), { INSERT_MODE: 'single', POOL_MAX: '20', PGBOUNCER_POOL: '0' }, 'the anchor is without')
  const others = cells.map(levelsOf).filter(({ INSERT_MODE }) => INSERT_MODE !== 'single')
  t.ok(others.every(({ POOL_MAX, PGBOUNCER_POOL }) => POOL_MAX === '20' && PGBOUNCER_POOL === '4'))
  for (const cell of cells)
    t.strictSame(
      Object.keys(levelsOf(cell)),
      knobs.map(({ name }) => name),
      'in the order of the knobs',
    )
})

t.test('the tables', async (t) => {
  const { cells } = PRESETS.pgbouncer()
  const run = {
    plan: { cells: cells.slice(0, 3), anchor: cells[0] },
    not_applied: [{ cell: cells[2], because: 'no PgBouncer' }],
  }
  const trial = (/** @type {string} */ cell, /** @type {string} */ kind, /** @type {number} */ goodput_rps) => ({
    cell,
    experiment: `block/0/0/${kind}`,
    outcome: { verdict: 'pass' },
    traffic: { goodput_rps, success_ratio: 0.5, ok_latency_ms: { p99: 12 } },
    probes: { api: { cpu_us_per_request: 70 } },
    settings: { PGBOUNCER: '1.18.0' },
  })
  const records = cells
    .slice(0, 2)
    .flatMap((cell, i) => ['below', 'at', 'above'].map((kind) => trial(cell, kind, 1000 / (i + 1))))
  const text = pgbouncerTable(run, /** @type {any} */ (records))
  t.match(text, /PgBouncer 1.18.0 in transaction mode, a database 5 ms away/)
  t.match(text, /single +\| +20 +\| +none +\| +50.00 % +\| +12.0 ms +\| +1,000\/s +\| +1 \| +70.0/)
  t.match(text, /single +\| +20 +\| +4 +\|.*500\/s.*0.50x/)
  t.match(text, /Not applied: .*PGBOUNCER_POOL=20: no PgBouncer/)

  const swept = JSON.parse(readFileSync('tuning/evidence/sweep-batched/run.json', 'utf8'))
  const lines = readFileSync('tuning/evidence/sweep-batched/trials.ndjson', 'utf8').trim().split('\n')
  const arithmetic = arithmeticTable(
    swept,
    lines.map((line) => JSON.parse(line)),
  )
  t.match(arithmetic, /^Arithmetic, not a measurement/)
  const [one, two] = [...arithmetic.matchAll(/^\| *([\d,]+)\/s/gm)].map(([, rate]) => Number(rate.replaceAll(',', '')))
  t.equal(two, 2 * one)
  t.ok(one <= swept.capacity.low_rps)
})
