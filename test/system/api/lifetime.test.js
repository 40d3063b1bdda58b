import t from 'tap'
import { metric, newUser, post, startApi } from '../../support/api.js'
import { blockTable, rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { until } from '../../support/until.js'

const database = await newDatabase(t)

/** @returns {Promise<number[]>} the API's backends, the readiness check's left out */
async function sessions() {
  const found = await rows(
    database.url,
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'redline-api'",
  )
  return found.map(({ pid }) => pid)
}

/** @param {number[]} some @param {number[]} others */
const shareNone = (some, others) => !some.some((pid) => others.includes(pid))

// The two kinds of connections: those of the pool, taken by one statement at a time, and those that statements share.
for (const mode of ['prepared', 'pipelined']) {
  t.test(
    `${mode}: under load, connections are replaced at the end of their lifetime, and no request fails`,
    async (t) => {
      await rows(database.url, 'TRUNCATE users')
      const limits = { POOL_MAX: '2', PIPELINE_CONNECTIONS: '2' }
      const api = await startApi(t, database.url, { INSERT_MODE: mode, POOL_MAX_LIFETIME_MS: '150', ...limits })
      const statuses = new Map()
      let most = 0
      let isOver = false
      const client = async () => {
        while (!isOver) {
          const { status } = await post(api.url, newUser())
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
      }
      const clients = Array.from({ length: 8 }, client)
      t.teardown(() => {
        isOver = true
      })
      for (let replaced = 0; replaced < 4; replaced++) {
        await until('sessions', async () => (await sessions()).length > 0)
        const before = await sessions()
        await until('other sessions', async () => {
          most = Math.max(most, await metric(api, 'redline_pool_total'))
          return shareNone(await sessions(), before)
        })
      }
      isOver = true
      await Promise.all(clients)
      t.strictSame([...statuses.keys()], [201])
      const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users')
      t.equal(count, statuses.get(201), 'rows and 201s')
      t.ok(most <= 2, `${most} connections at most`)
    },
  )

  t.test(`${mode}: an idle connection is closed at the end of its lifetime`, async (t) => {
    const settings = { INSERT_MODE: mode, POOL_MAX_LIFETIME_MS: '300', POOL_IDLE_TIMEOUT_MS: '0' }
    const api = await startApi(t, database.url, settings)
    t.equal((await post(api.url, newUser())).status, 201)
    const before = await sessions()
    await until('its end', async () => shareNone(await sessions(), before))
    t.equal((await post(api.url, newUser())).status, 201)
  })

  t.test(`${mode}: a lifetime that ends while a statement is in flight leaves it its answer`, async (t) => {
    const settings = { INSERT_MODE: mode, POOL_MAX_LIFETIME_MS: '200', PIPELINE_CONNECTIONS: '1', POOL_MAX: '1' }
    const api = await startApi(t, database.url, settings)
    const release = await blockTable(t, database.url)
    const answers = [post(api.url, newUser()), post(api.url, newUser())]
    const age = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'redline-api'
      AND state = 'active' AND now() - backend_start > '400ms'`
    await until('a statement on a connection past its lifetime', async () => (await rows(database.url, age)).length > 0)
    await release()
    for (const answer of answers) t.equal((await answer).status, 201)
  })
}

t.test('pipelined: a retired connection whose server never says farewell is cut', async (t) => {
  const settings = { INSERT_MODE: 'pipelined', PIPELINE_CONNECTIONS: '1', STATEMENT_TIMEOUT_MS: '200' }
  const api = await startApi(t, database.url, { ...settings, POOL_MAX_LIFETIME_MS: '300' })
  t.equal((await post(api.url, newUser())).status, 201)
  const [pid] = await sessions()
  // The kernel keeps the connection of a stopped process open.
  process.kill(pid, 'SIGSTOP')
  t.teardown(() => process.kill(pid, 'SIGCONT'))
  await until('a 201 over another connection', async () => (await post(api.url, newUser())).status === 201)
  t.notOk((await sessions()).every((session) => session === pid))
})

t.test('a lifetime shorter than a login: ready, and requests are served', async (t) => {
  const api = await startApi(t, database.url, { POOL_MAX_LIFETIME_MS: '1' })
  t.equal((await post(api.url, newUser())).status, 201)
  t.equal((await fetch(`${api.adminUrl}/readyz`)).status, 200)
  const check =
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'redline-api-readiness'"
  await until(
    'the end of the session of the readiness check',
    async () => (await rows(database.url, check)).length === 0,
  )
})

t.test('a lifetime of 0 never ends', async (t) => {
  const api = await startApi(t, database.url, { POOL_MAX_LIFETIME_MS: '0', INSERT_MODE: 'prepared' })
  t.equal((await post(api.url, newUser())).status, 201)
  const before = await sessions()
  for (let i = 0; i < 20; i++) t.equal((await post(api.url, newUser())).status, 201)
  t.strictSame(await sessions(), before)
})
