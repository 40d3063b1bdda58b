import t from 'tap'
import { NotApplied } from '../../../load/command/errors.js'
import { openDatabase } from '../../../sql/database.js'
import { PATIENT } from '../../support/api.js'
import { openUnpinned, statuses } from '../../support/cells.js'
import { rows } from '../../support/database.js'
import { isOurs, processesOf } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { without } from '../../support/skip.js'
import { makeCa, newTlsServer } from '../../support/tls-server.js'
import { until } from '../../support/until.js'

const skip = without('pgbouncer', '--version') ?? false

t.test(
  'behind PgBouncer the API has as many connections as that, and is past it when it closes',
  { skip },
  async (t) => {
    const embedded = await newDatabase(t)
    const levels = { INSERT_MODE: 'single', POOL_MAX: 10, DB_DELAY_MS: 20, PGBOUNCER_POOL: 2 }
    const target = await openUnpinned(t, embedded.url, levels, { ...process.env, ...PATIENT })
    t.match(target.settings, { POOL_MAX: 10, DB_DELAY_MS: 20, PGBOUNCER_POOL: 2, PGBOUNCER: /^\d+\.\d+/ })

    const answered = statuses(target.url, 60)
    const sessions =
      'SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1'
    let most = 0
    for (let ended = false; !ended; ) {
      ended = await Promise.race([answered.then(() => true), new Promise((resolve) => setTimeout(resolve, 5, false))])
      most = Math.max(most, (await rows(embedded.url, sessions, ['redline-api']))[0].count)
    }
    t.strictSame(await answered, Array(60).fill(201))
    t.equal(most, 2, 'though the pool of the API has ten')
    await target.stop()
    await until('its sessions to end', async () => (await rows(embedded.url, sessions, ['redline-api']))[0].count === 0)
    t.strictSame(processesOf('redline-pgbouncer-').filter(isOurs), [])
  },
)

t.test('behind PgBouncer the rows go to the schema of the URL', { skip }, async (t) => {
  const embedded = await newDatabase(t)
  const database = await openDatabase(embedded.url)
  t.teardown(database.close)
  const target = await openUnpinned(t, database.url, { INSERT_MODE: 'single', PGBOUNCER_POOL: 2 })
  t.teardown(target.stop)
  t.strictSame(await statuses(target.url, 3), [201, 201, 201])
  t.equal(await database.countRows(), 3)
  t.strictSame(await rows(embedded.url, 'SELECT count(*)::int FROM public.users'), [{ count: 0 }])
})

t.test('PgBouncer presents the client certificate in the URL to a Postgres that requires one', { skip }, async (t) => {
  const { ca, cert, key } = makeCa(t.testdir({}), 'one')
  const database = await newTlsServer(t, { ca, cert, key }, { clients: ca })
  const levels = { INSERT_MODE: 'single', PGBOUNCER_POOL: 2 }
  const target = await openUnpinned(t, database.urlWith({ sslrootcert: ca, sslcert: cert, sslkey: key }), levels)
  t.teardown(target.stop)
  t.strictSame(await statuses(target.url, 3), [201, 201, 201])
  await t.rejects(openUnpinned(t, database.urlWith({ sslrootcert: ca }), levels), /certificate/)
})

t.test('what it does not pass on is not taken for set', { skip }, async (t) => {
  const embedded = await newDatabase(t)
  const levels = { INSERT_MODE: 'single', SYNCHRONOUS_COMMIT: 'off', PGBOUNCER_POOL: 2 }
  await t.rejects(
    openUnpinned(t, embedded.url, levels),
    new NotApplied('SYNCHRONOUS_COMMIT: expected off when it was read back, got on'),
  )
  t.strictSame(processesOf('redline-pgbouncer-').filter(isOurs), [])
})
