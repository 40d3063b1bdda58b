import { once } from 'node:events'
import t from 'tap'
import { readConfig } from '../../../api/config.js'
import { createLog } from '../../../api/log.js'
import { createReadiness } from '../../../api/readiness.js'
import { metric, newUser, post, untilMetric, untilReadyz } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { blockTable, rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { tcpServer } from '../../support/servers.js'
import { WELCOME } from '../../support/simulation/wire.js'
import { until, within } from '../../support/until.js'

const database = await newDatabase(t)

/** The API's backends, the readiness check's left out. @param {string} mode @returns {Promise<number[]>} */
async function sessions(mode) {
  const found = await rows(
    database.url,
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = '${mode}'
       AND query NOT LIKE '%server_encoding%'`,
  )
  return found.map(({ pid }) => pid)
}

/** @param {number[]} some @param {number[]} others */
const shareNone = (some, others) => !some.some((pid) => others.includes(pid))

/** @param {any} t @param {string} mode @param {Record<string, string>} settings */
function start(t, mode, settings) {
  return startHere(t, `${database.url}&application_name=${mode}`, { INSERT_MODE: mode, ...settings })
}

// The two kinds of connections: those of the pool, taken by one statement at a time, and those that statements share.
const LIMITS = { POOL_MAX_LIFETIME_MS: '200', POOL_MAX: '2', PIPELINE_CONNECTIONS: '2', POOL_IDLE_TIMEOUT_MS: '0' }
const apis = await Promise.all(
  ['prepared', 'pipelined'].map(async (mode) => ({ mode, api: await start(t, mode, LIMITS) })),
)

for (const { mode, api } of apis) {
  t.test(
    `${mode}: under load, connections are replaced at the end of their lifetime, and no request fails`,
    async (t) => {
      await rows(database.url, 'TRUNCATE users')
      const statuses = new Map()
      let most = 0
      let isOver = false
      t.teardown(() => {
        isOver = true
      })
      const client = async () => {
        while (!isOver) {
          const { status } = await post(api.url, newUser())
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
      }
      const clients = Promise.all(Array.from({ length: 4 }, client))
      for (let replaced = 0; replaced < 3; replaced++) {
        /** @type {number[]} */
        let before = []
        await until('sessions', async () => {
          before = await sessions(mode)
          return before.length > 0
        })
        await until('other sessions', async () => {
          most = Math.max(most, await metric(api, 'redline_pool_total'))
          const now = await sessions(mode)
          return now.length > 0 && shareNone(now, before)
        })
      }
      isOver = true
      await clients
      t.strictSame([...statuses.keys()], [201])
      const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users')
      t.equal(count, statuses.get(201), 'rows and 201s')
      t.ok(most === 1 || most === 2, `${most} connections at most`)
    },
  )

  t.test(`${mode}: an idle connection is closed at the end of its lifetime`, async (t) => {
    t.equal((await post(api.url, newUser())).status, 201)
    await until('no connection', async () => (await sessions(mode)).length === 0)
    await untilMetric(api, 'redline_pool_total', 0)
    t.equal((await post(api.url, newUser())).status, 201)
  })

  t.test(`${mode}: a lifetime that ends while a statement is in flight leaves it its answer`, async (t) => {
    const release = await blockTable(t, database.url)
    const answers = [post(api.url, newUser()), post(api.url, newUser())]
    const past = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = '${mode}'
      AND wait_event_type = 'Lock' AND now() - backend_start > '400ms'`
    await until(
      'a statement on a connection past its lifetime',
      async () => (await rows(database.url, past)).length > 0,
    )
    await release()
    for (const answer of answers) t.equal((await answer).status, 201)
  })
}

t.test('a lifetime shorter than a login: ready, and requests are served', async (t) => {
  const api = await startHere(t, database.url, { POOL_MAX_LIFETIME_MS: '1' })
  t.equal((await post(api.url, newUser())).status, 201)
  await untilReadyz(api, 'ready')
  const check =
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'redline-api-readiness'"
  await until(
    'the end of the session of the readiness check',
    async () => (await rows(database.url, check)).length === 0,
  )
})

t.test('a lifetime of 0 never ends', async (t) => {
  const api = await start(t, 'single', { POOL_MAX_LIFETIME_MS: '0' })
  t.equal((await post(api.url, newUser())).status, 201)
  const before = await sessions('single')
  t.equal(before.length, 1)
  for (let i = 0; i < 20; i++) t.equal((await post(api.url, newUser())).status, 201)
  t.strictSame(await sessions('single'), before)
})

t.test('a readiness check whose login ends after the service closes its session, and logs nothing', async (t) => {
  /** @type {import('node:net').Socket[]} */
  const logins = []
  const server = await tcpServer(t, (socket) => void socket.once('data', () => logins.push(socket)))
  const config = readConfig({ DATABASE_URL: server.replace('http', 'postgres') }, 'no .env')
  const pool = /** @type {any} */ ({ generation: () => 0, served_ms: () => 0, stats: () => ({ idle: 0 }) })
  /** @type {string[]} */
  const lines = []
  let isDraining = false
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const readiness = createReadiness(config, { pool, log, isDraining: () => isDraining })
  const verdict = readiness.check()
  await until('a login', () => logins.length === 1)
  isDraining = true
  readiness.end()
  logins[0].write(WELCOME)
  await within('the end of the session', once(logins[0], 'close'))
  t.match(await verdict, { status: /^(draining|database unavailable)$/ })
  t.strictSame(lines, [])
})
