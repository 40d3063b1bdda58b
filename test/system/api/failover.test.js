import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { newUser, post, startApi } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { primaryAndStandby, promote } from '../../support/replicas.js'
import { tcpProxy } from '../../support/servers.js'
import { until } from '../../support/until.js'

const MODES = ['single', 'prepared', 'pipelined', 'batched']

/** The longest that the API may take to answer 201 again once a primary is back. */
const RECOVERY_MS = 10_000

const { primary, standby } = await primaryAndStandby(t)

/** Posts users and remembers those that were stored. @param {import('../../support/api.js').Api} api */
function client(api) {
  /** @type {string[]} */
  const stored = []
  const send = async () => {
    const user = newUser()
    const { status } = await post(api.url, user)
    if (status === 201) stored.push(user.email)
    return status
  }
  /** The statuses of so many requests at once, each listed once. @param {number} count */
  const burst = async (count) => [...new Set(await Promise.all(Array.from({ length: count }, send)))]
  return { stored, send, burst }
}

/** @param {string} url @param {string[]} emails */
async function countOf(url, emails) {
  return (await rows(url, 'SELECT count(*)::int FROM users WHERE email = ANY($1)', [emails]))[0].count
}

/** @param {string} url */
async function sessionsOn(url) {
  const sessions = "SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'redline-api'"
  return (await rows(url, sessions))[0].count
}

for (const mode of MODES) {
  t.test(`${mode}: sessions that end up on a standby are replaced once the address leads to the primary`, async (t) => {
    const proxy = await tcpProxy(t, primary.url)
    const api = await startApi(t, proxy.url, { INSERT_MODE: mode })
    const { stored, send, burst } = client(api)
    t.strictSame(await burst(40), [201])
    proxy.move(standby.url)
    proxy.reset()
    await until('a 503 from the standby', async () => (await send()) === 503)
    t.strictSame(await burst(40), [503])
    await until('sessions on the standby', async () => {
      await send()
      return (await sessionsOn(standby.url)) > 0
    })
    const readyz = await fetch(`${api.adminUrl}/readyz`)
    t.equal(readyz.status, 503)
    t.match(await readyz.json(), { status: 'the server is read-only' })
    proxy.move(primary.url)
    await until('a 201 from the primary', async () => (await send()) === 201, RECOVERY_MS)
    t.strictSame(await burst(40), [201], 'every other session is replaced, too')
    t.equal((await fetch(`${api.adminUrl}/readyz`)).status, 200)
    t.equal(await countOf(primary.url, stored), stored.length, 'every 201 is a row on the primary')
    t.equal(await sessionsOn(standby.url), 0, 'and nothing is left on the standby')
  })
}

t.test('while the server stays read-only, sessions are replaced at most once a second', async (t) => {
  const api = await startApi(t, primary.url, { INSERT_MODE: 'single', POOL_MAX: '4' })
  const { burst } = client(api)
  await readOnly(t, primary.url)
  await until('503s', async () => (await burst(20))[0] === 503)
  const pids = new Set()
  const startedAt_ms = performance.now()
  while (performance.now() - startedAt_ms < 1500) {
    t.strictSame(await burst(20), [503])
    for (const { pid } of await rows(primary.url, PIDS)) pids.add(pid)
  }
  t.ok(pids.size > 4, 'they are replaced')
  t.ok(pids.size <= 4 * 4, `${pids.size} sessions for a pool of 4 in 1.5 s`)
})

const PIDS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'redline-api'"

/** Makes a server read-only under its open sessions, until the test ends. @param {any} t @param {string} url */
async function readOnly(t, url) {
  await rows(url, 'ALTER SYSTEM SET default_transaction_read_only = on')
  await rows(url, 'SELECT pg_reload_conf()')
  t.teardown(() => writable(url))
}

/** @param {string} url */
async function writable(url) {
  const off = new URL(url)
  off.searchParams.set('options', '-c default_transaction_read_only=off')
  await rows(String(off), 'ALTER SYSTEM RESET default_transaction_read_only')
  await rows(String(off), 'SELECT pg_reload_conf()')
}

for (const mode of ['prepared', 'pipelined']) {
  t.test(
    `${mode}: a primary that falls silent costs the requests in flight, not one for each idle session`,
    async (t) => {
      const proxy = await tcpProxy(t, primary.url)
      const settings = { INSERT_MODE: mode, POOL_MAX: '8', STATEMENT_TIMEOUT_MS: '200' }
      const api = await startApi(t, proxy.url, settings)
      const { send, burst } = client(api)
      await until('several idle sessions', async () => {
        t.strictSame(await burst(40), [201])
        return (await sessionsOn(primary.url)) >= 4
      })
      proxy.silence()
      t.equal(await send(), 504)
      t.equal(await send(), 201)
    },
  )
}

t.test('each new session looks up the host name again', async (t) => {
  const proxy = await tcpProxy(t, standby.url)
  const file = path.join(temporaryFolder(t), 'address')
  const hook = path.join(temporaryFolder(t), 'lookup.cjs')
  // Stands in for DNS: the name leads to the address that the file holds.
  writeFileSync(
    hook,
    `const dns = require('node:dns'), fs = require('node:fs'), { lookup } = dns
     dns.lookup = (name, ...rest) => lookup(name === 'database.test' ? fs.readFileSync(${JSON.stringify(file)}, 'utf8') : name, ...rest)`,
  )
  // 127.0.0.2 is nobody's: a name that leads there finds no server.
  writeFileSync(file, '127.0.0.1')
  const url = new URL(proxy.url)
  url.hostname = 'database.test'
  proxy.move(primary.url)
  const api = await startApi(t, String(url), { NODE_OPTIONS: `--require=${hook}`, INSERT_MODE: 'prepared' })
  const { send } = client(api)
  t.equal(await send(), 201)
  writeFileSync(file, '127.0.0.2')
  proxy.reset()
  t.equal(await send(), 503)
  writeFileSync(file, '127.0.0.1')
  await until('a 201', async () => (await send()) === 201, RECOVERY_MS)
})

// The last: the primary is none any more.
t.test('a primary that is demoted under its open sessions, and a standby that is promoted', async (t) => {
  const proxy = await tcpProxy(t, primary.url)
  const apis = await Promise.all(MODES.map((mode) => startApi(t, proxy.url, { INSERT_MODE: mode })))
  const clients = apis.map(client)
  for (const { burst } of clients) t.strictSame(await burst(40), [201])
  await readOnly(t, primary.url)
  for (const { send } of clients) await until('a 503', async () => (await send()) === 503)
  await promote(primary, standby)
  proxy.move(standby.url)
  await Promise.all(clients.map(({ send }) => until('a 201', async () => (await send()) === 201, RECOVERY_MS)))
  for (const [i, { stored, burst }] of clients.entries()) {
    t.strictSame(await burst(40), [201], MODES[i])
    t.equal(await countOf(standby.url, stored), stored.length, `${MODES[i]}: every 201 is a row on the new primary`)
    t.equal((await fetch(`${apis[i].adminUrl}/readyz`)).status, 200)
  }
})
