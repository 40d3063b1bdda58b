import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { logged, metric, newUser, post, startApi, startUnready } from '../../support/api.js'
import { blockTable, rows } from '../../support/database.js'
import { loadOnce } from '../../support/load.js'
import { newServer } from '../../support/postgres.js'
import { tcpProxy } from '../../support/servers.js'
import { answers, connect, rawPost } from '../../support/socket.js'

const database = await newServer(t)

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** @param {() => boolean | Promise<boolean>} isSo */
async function until(isSo) {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

t.test('SIGTERM under load: what was sent is answered, every 201 is a row, and it exits', async (t) => {
  await rows(database.url, 'TRUNCATE users')
  const api = await startApi(t, database.url)
  const load = loadOnce('paced', api.url, { rate_rps: 2000, duration_s: 2, connections: 32 })
  setTimeout(() => process.kill(Number(api.pid), 'SIGTERM'), 1000)
  const { status, errors } = await load
  const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users')
  t.equal(count, status[201], 'rows and 201s')
  t.strictSame(Object.keys(status), ['201'])
  t.strictSame(Object.keys(errors), ['server:refused'], 'refused once it had stopped listening; none lost')
  await until(() => !isAlive(Number(api.pid)))
  t.match(readFileSync(api.logFile, 'utf8').trim().split('\n').at(-1), '"stopped"')
})

t.test('a request in flight at SIGTERM gets its answer, with Connection: close', async (t) => {
  const api = await startApi(t, database.url)
  const release = await blockTable(t, database.url)
  const socket = await connect(api.url)
  socket.write(rawPost(JSON.stringify(newUser())))
  await until(async () => (await metric(api, 'redline_in_flight_requests')) === 1)
  process.kill(Number(api.pid), 'SIGTERM')
  await until(async () => (await fetch(`${api.adminUrl}/readyz`)).status === 503)
  await release()
  t.strictSame(await answers(socket, 1), [201])
  t.match(socket.text(), /^Connection: close\r$/m)
  t.equal(await exitCode(api), 0)
})

t.test(
  'pipelined requests that have arrived at SIGTERM are all answered; a silent connection holds nothing up',
  async (t) => {
    const api = await startApi(t, database.url)
    const release = await blockTable(t, database.url)
    await connect(api.url)
    const socket = await connect(api.url)
    socket.write(Array.from({ length: 3 }, () => rawPost(JSON.stringify(newUser()))).join(''))
    await until(async () => (await metric(api, 'redline_in_flight_requests')) === 3)
    process.kill(Number(api.pid), 'SIGTERM')
    await until(async () => (await fetch(`${api.adminUrl}/readyz`)).status === 503)
    await release()
    t.strictSame(await answers(socket, 3), [201, 201, 201])
    await until(() => !isAlive(Number(api.pid)))
    t.notMatch(readFileSync(api.logFile, 'utf8'), /shutdown took too long/)
  },
)

/** @param {{ died: Promise<never> }} api @returns {Promise<number | null>} its exit code */
const exitCode = ({ died }) => died.catch(({ code }) => code)

t.test('a shutdown that takes longer than its bound says how many requests it dropped, and exits 1', async (t) => {
  const api = await startApi(t, database.url, { SHUTDOWN_TIMEOUT_MS: '500' })
  await blockTable(t, database.url)
  const socket = await connect(api.url)
  socket.write(Array.from({ length: 3 }, () => rawPost(JSON.stringify(newUser()))).join(''))
  await until(async () => (await metric(api, 'redline_in_flight_requests')) === 3)
  const signalledAt_ms = performance.now()
  process.kill(Number(api.pid), 'SIGTERM')
  t.equal(await exitCode(api), 1)
  t.ok(performance.now() - signalledAt_ms < 2500, 'within the bound and some slack for a busy machine')
  t.match(readFileSync(api.logFile, 'utf8'), /"dropped_requests":3,"msg":"shutdown took too long/)
})

t.test('a second signal ends it at once', async (t) => {
  const api = await startApi(t, database.url)
  await blockTable(t, database.url)
  const socket = await connect(api.url)
  socket.write(rawPost(JSON.stringify(newUser())))
  await until(async () => (await metric(api, 'redline_in_flight_requests')) === 1)
  process.kill(Number(api.pid), 'SIGINT')
  await until(async () => (await fetch(`${api.adminUrl}/readyz`)).status === 503)
  process.kill(Number(api.pid), 'SIGINT')
  await until(() => !isAlive(Number(api.pid)))
  t.notMatch(readFileSync(api.logFile, 'utf8'), /"stopped"/)
})

t.test('no connection free in time: 503 with Retry-After, and 201 when one is', async (t) => {
  const api = await startApi(t, database.url, { POOL_MAX: '1', POOL_CONNECT_TIMEOUT_MS: '200' })
  const release = await blockTable(t, database.url)
  const first = post(api.url, newUser())
  await until(async () => (await metric(api, 'redline_pool_total')) === 1)
  const second = await post(api.url, newUser())
  t.equal(second.status, 503)
  t.equal(second.headers.get('retry-after'), '1')
  t.match(await second.json(), { code: 'no_database_slot' })
  await release()
  t.equal((await first).status, 201)
  t.equal((await post(api.url, newUser())).status, 201)
})

t.test('a statement that hangs is bounded: 503, and the connection is used again', async (t) => {
  const api = await startApi(t, database.url, { POOL_MAX: '1', STATEMENT_TIMEOUT_MS: '200' })
  const release = await blockTable(t, database.url)
  const answer = await post(api.url, newUser())
  t.equal(answer.status, 503)
  t.match(await answer.json(), { code: 'database_unavailable' })
  await release()
  t.equal((await post(api.url, newUser())).status, 201)
})

for (const signal of /** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGKILL'])) {
  t.test(`Postgres gone by ${signal} and back: 503s meanwhile, then 201s, by itself`, async (t) => {
    const api = await startApi(t, database.url)
    t.equal((await post(api.url, newUser())).status, 201)
    await database.halt(signal)
    for (let i = 0; i < 10; i++) {
      const answer = await post(api.url, newUser())
      t.equal(answer.status, 503)
      t.equal(answer.headers.get('retry-after'), '1')
      t.match(await answer.json(), { code: 'database_unavailable' })
    }
    t.equal((await fetch(`${api.adminUrl}/readyz`)).status, 503)
    t.equal((await fetch(`${api.adminUrl}/healthz`)).status, 200)
    await database.start()
    await until(async () => (await post(api.url, newUser())).status === 201)
    t.equal((await fetch(`${api.adminUrl}/readyz`)).status, 200)
    const lines = readFileSync(api.logFile, 'utf8')
    t.equal(lines.match(/"database unavailable/g)?.length, 1, 'said once, not once a request')
    t.equal(lines.match(/"database available again"/g)?.length, 1)
  })
}

const WAITING_FOR_A_LOCK = `
  SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'redline-api'`

t.test('a connection that breaks under its statement is a 504, not the end of the process', async (t) => {
  const proxy = await tcpProxy(t, database.url)
  const api = await startApi(t, proxy.url)
  const release = await blockTable(t, database.url)
  const answer = post(api.url, newUser())
  await until(async () => (await rows(database.url, WAITING_FOR_A_LOCK))[0].count === 1)
  proxy.reset()
  t.equal((await answer).status, 504)
  await release()
  t.equal((await post(api.url, newUser())).status, 201)
})

for (const mode of ['prepared', 'pipelined', 'batched']) {
  t.test(`${mode}: a server that falls silent is a 504 in time, and does not hold up the others`, async (t) => {
    const proxy = await tcpProxy(t, database.url)
    const api = await startApi(t, proxy.url, { INSERT_MODE: mode, STATEMENT_TIMEOUT_MS: '200', POOL_MAX: '1' })
    t.equal((await post(api.url, newUser())).status, 201)
    proxy.silence()
    t.equal((await post(api.url, newUser())).status, 504)
    t.equal((await post(api.url, newUser())).status, 201)
  })
}

t.test('pipelined: behind statements that time out, who is served gets a 201 and nobody else a row', async (t) => {
  await rows(database.url, 'TRUNCATE users')
  const settings = {
    INSERT_MODE: 'pipelined',
    PIPELINE_CONNECTIONS: '1',
    STATEMENT_TIMEOUT_MS: '500',
    MAX_QUEUE_MS: '0',
  }
  const api = await startApi(t, database.url, settings)
  t.equal((await post(api.url, newUser())).status, 201)
  const release = await blockTable(t, database.url)
  setTimeout(release, 2200)
  const answers = await Promise.all(Array.from({ length: 12 }, () => post(api.url, newUser())))
  const stored = answers.filter(({ status }) => status === 201).length
  t.ok(
    answers.every(({ status }) => status === 201 || status === 503),
    'and no other answers',
  )
  t.ok(stored > 0 && stored < 12, `${stored} of 12 came late enough`)
  const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users')
  t.equal(count, stored + 1, 'rows and 201s')
})

t.test('pipelined: a connection that cannot be had again leaves the work to the others', async (t) => {
  const proxy = await tcpProxy(t, database.url)
  const url = `${proxy.url}&application_name=lanes`
  const api = await startApi(t, url, { INSERT_MODE: 'pipelined', PIPELINE_CONNECTIONS: '3' })
  const total = () => metric(api, 'redline_pool_total')
  // The session of the readiness check bears the name in the URL, too.
  const sessions = "FROM pg_stat_activity WHERE application_name = 'lanes' AND query NOT LIKE '%server_encoding%'"
  const lanes = async () => (await rows(database.url, `SELECT count(*)::int ${sessions}`))[0].count
  await until(async () => {
    await Promise.all(Array.from({ length: 30 }, () => post(api.url, newUser())))
    return (await total()) === 3 && (await lanes()) === 3
  })
  proxy.refuse()
  await rows(
    database.url,
    `SELECT pg_terminate_backend(pid) FROM (
       SELECT pid ${sessions} ORDER BY backend_start LIMIT 2) AS two`,
  )
  await until(async () => (await total()) === 1)
  for (let i = 0; i < 20; i++) t.equal((await post(api.url, newUser())).status, 201)
})

t.test('an unforeseen error is logged without the row that Postgres quotes', async (t) => {
  await rows(database.url, "ALTER TABLE users ADD CONSTRAINT no_ada CHECK (email NOT LIKE 'ada%')")
  t.teardown(() => rows(database.url, 'ALTER TABLE users DROP CONSTRAINT no_ada'))
  const api = await startApi(t, database.url)
  t.equal((await post(api.url, { email: 'ada@example.com', password: 'hunter2' })).status, 500)
  await logged(api.logFile, /no_ada.*\n/)
  t.notMatch(readFileSync(api.logFile, 'utf8'), /hunter2/)
})

t.test('started without its database, it answers 503 until the database is there', async (t) => {
  const { url, child } = await startUnready(t, 'postgres://nobody@127.0.0.1:1/none')
  t.equal((await post(url, newUser())).status, 503)
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  t.equal(code, 0)
})

t.test('a configuration that is wrong stops the start with one line and exit code 2', async (t) => {
  const child = spawn(process.execPath, ['api/server.js'], { env: { ...process.env, POOL_MAX: '0' } })
  const [output, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'exit')])
  t.equal(code, 2)
  t.equal(
    Buffer.concat(output).toString(),
    'redline: POOL_MAX: expected a whole number from 1 to 10000 (connections), got "0"\n',
  )
})

t.test('a port that is taken stops the start with one line and exit code 2', async (t) => {
  const api = await startApi(t, database.url)
  const env = { ...process.env, DATABASE_URL: database.url, PORT: new URL(api.url).port, LOG_LEVEL: 'silent' }
  const child = spawn(process.execPath, ['api/server.js'], { env })
  const [output, [code]] = await Promise.all([child.stderr.toArray(), once(child, 'exit')])
  t.equal(code, 2)
  t.match(Buffer.concat(output).toString(), /^redline: cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*\n$/)
})
