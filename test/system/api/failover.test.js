import { writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { logged, newUser, post, startApi, untilReadyz } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { rows } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { primaryAndStandby, promote } from '../../support/replicas.js'
import { tcpProxy } from '../../support/servers.js'
import { until } from '../../support/until.js'

/**
 * The kinds of connections: of the pool, and shared by many statements. Each INSERT_MODE on a server that turns read-only or
 * falls silent is simulated in test/unit/api.
 */
const MODES = ['batched', 'pipelined']

const { primary, standby } = await primaryAndStandby(t)

/**
 * The API in one INSERT_MODE, on an address that can be moved from one server to the other.
 * @param {any} t
 * @param {string} mode
 * @param {Record<string, string>} [settings]
 * @param {string} [hostname] instead of the address, which a process of its own looks up
 */
async function startClient(t, mode, settings, hostname) {
  const proxy = await tcpProxy(t, primary.url)
  const name = `api-${apis++}`
  const url = new URL(`${proxy.url}&application_name=${name}`)
  if (hostname) url.hostname = hostname
  const api = await (hostname ? startApi : startHere)(t, String(url), { INSERT_MODE: mode, ...settings })
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
  // The session of the readiness check bears the name in the URL, too.
  const own = `FROM pg_stat_activity WHERE application_name = '${name}' AND query NOT LIKE '%server_encoding%'`
  /** Its sessions on a server. @param {string} url @returns {Promise<number[]>} */
  const sessions = async (url) => (await rows(url, `SELECT pid ${own}`)).map(({ pid }) => pid)
  return { mode, api, proxy, stored, send, burst, sessions }
}

let apis = 0

/** @param {string} url @param {string[]} emails */
async function countOf(url, emails) {
  return (await rows(url, 'SELECT count(*)::int FROM users WHERE email = ANY($1)', [emails]))[0].count
}

// Stands in for DNS: the name leads to the address that the file holds.
const addressFile = path.join(temporaryFolder(t), 'address')
const hook = path.join(temporaryFolder(t), 'lookup.cjs')
writeFileSync(addressFile, '127.0.0.1')
writeFileSync(
  hook,
  `const dns = require('node:dns'), fs = require('node:fs'), { lookup } = dns
   dns.lookup = (name, ...rest) => lookup(name === 'database.test' ? fs.readFileSync(${JSON.stringify(addressFile)}, 'utf8') : name, ...rest)`,
)

const POOL_MAX = 4
/** For a server that falls silent: the API gives up on it a second later. No statement that is answered takes nearly as long. */
const IMPATIENT = { STATEMENT_TIMEOUT_MS: '4000', POOL_MAX: String(POOL_MAX) }
const [named, silenced, ...clients] = await Promise.all([
  startClient(t, 'prepared', { ...IMPATIENT, NODE_OPTIONS: `--require=${hook}` }, 'database.test'),
  startClient(t, 'pipelined', IMPATIENT),
  ...MODES.map((mode) => startClient(t, mode)),
])

for (const { mode, api, proxy, stored, send, burst, sessions } of clients) {
  t.test(`${mode}: sessions that end up on a standby are replaced once the address leads to the primary`, async (t) => {
    t.strictSame(await burst(40), [201])
    proxy.move(standby.url)
    proxy.reset()
    await until('a 503 from the standby', async () => (await send()) === 503)
    t.strictSame(await burst(40), [503])
    // Sessions live for a second there, or for one request where that takes longer: requests come while somebody looks.
    let isFound = false
    const requests = (async () => {
      const statuses = new Set()
      while (!isFound) statuses.add(await send())
      return [...statuses]
    })()
    await until('sessions on the standby', async () => {
      isFound = (await sessions(standby.url)).length > 0
      return isFound
    }).finally(() => {
      isFound = true
    })
    t.strictSame(await requests, [503])
    t.match(await untilReadyz(api, 'the server is read-only'), { code: 503 })
    proxy.move(primary.url)
    await until('a 201 from the primary', async () => (await send()) === 201)
    // One that was opened on the standby at the last moment still refuses a request before it is closed.
    await until('no session on the standby', async () => {
      await send()
      return (await sessions(standby.url)).length === 0
    })
    t.strictSame(await burst(40), [201], 'every other session is replaced, too')
    t.match(await untilReadyz(api, 'ready'), { code: 200 })
    t.equal(await countOf(primary.url, stored), stored.length, 'every 201 is a row on the primary')
    await until('no session on the standby', async () => (await sessions(standby.url)).length === 0)
  })
}

for (const { mode, proxy, send, burst, sessions } of [named, silenced]) {
  t.test(
    `${mode}: a primary that falls silent costs the requests in flight, not one for each idle session`,
    async (t) => {
      await until('several idle sessions', async () => {
        t.strictSame(await burst(40), [201])
        return (await sessions(primary.url)).length >= 3
      })
      proxy.silence()
      t.equal(await send(), 504)
      t.equal(await send(), 201)
    },
  )
}

t.test('each new session looks up the host name again', async (t) => {
  const { proxy, send } = named
  t.equal(await send(), 201)
  // 127.0.0.2 is nobody's: a name that leads there finds no server.
  writeFileSync(addressFile, '127.0.0.2')
  proxy.reset()
  await until('a 503', async () => (await send()) === 503)
  t.equal(await send(), 503, 'while the name leads to nobody')
  writeFileSync(addressFile, '127.0.0.1')
  await until('a 201', async () => (await send()) === 201)
})

t.test('while the server stays read-only, sessions are replaced at most once a second', async (t) => {
  const { api, send, burst, sessions } = named
  await readOnly(t, primary.url)
  await until('a 503', async () => (await send()) === 503)
  t.match(await untilReadyz(api, 'the server is read-only'), { code: 503 })
  await logged(api, /not ready: the server is read-only/)
  const pids = new Set()
  const startedAt_ms = performance.now()
  await until('sessions replaced twice', async () => {
    t.strictSame(await burst(20), [503])
    for (const pid of await sessions(primary.url)) pids.add(pid)
    return pids.size > 2 * POOL_MAX
  })
  const seconds = (performance.now() - startedAt_ms) / 1000
  // Those at the start, those that replaced them before a second was over, and as many each further second.
  const most = POOL_MAX * (2 + Math.floor(seconds))
  t.ok(pids.size <= most, `${pids.size} sessions for a pool of ${POOL_MAX} in ${seconds.toFixed(1)} s`)
})

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
  const setting = "SELECT setting FROM pg_settings WHERE name = 'default_transaction_read_only'"
  await until('a server that takes writes', async () => (await rows(url, setting))[0].setting === 'off')
}

// The last: the primary is none any more.
t.test('a primary that is demoted under its open sessions, and a standby that is promoted', async (t) => {
  t.equal(clients.length, 2)
  for (const { burst } of clients) t.strictSame(await burst(40), [201])
  await readOnly(t, primary.url)
  for (const { send } of clients) await until('a 503', async () => (await send()) === 503)
  await promote(primary, standby)
  for (const { proxy } of clients) proxy.move(standby.url)
  await Promise.all(clients.map(({ mode, send }) => until(`a 201 (${mode})`, async () => (await send()) === 201)))
  for (const { mode, api, stored, burst } of clients) {
    t.strictSame(await burst(40), [201], mode)
    t.equal(await countOf(standby.url, stored), stored.length, `${mode}: every 201 is a row on the new primary`)
    await untilReadyz(api, 'ready')
  }
})
