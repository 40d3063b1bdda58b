import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import t from 'tap'
import { freePorts, isListening } from '../../../load/system/ports.js'
import { leashed } from '../../../sql/leash.js'
import {
  logged,
  logLines,
  metric,
  newUser,
  post,
  readyz,
  SERVER,
  settingsFor,
  startApi,
  startUnready,
  untilMetric,
  untilReadyz,
} from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { blockTable, rows, untilAtLock } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { tcpProxy } from '../../support/servers.js'
import { answers, connect, ended, rawPost } from '../../support/socket.js'
import { until, within } from '../../support/until.js'

const database = await newDatabase(t)
/** A statement times out after this, and no other takes nearly as long; where a server is silent, the API waits a second longer. */
const STATEMENT_TIMEOUT_MS = '4000'
const proxies = {
  prepared: await tcpProxy(t, database.url),
  pipelined: await tcpProxy(t, database.url),
  batched: await tcpProxy(t, database.url),
}
const apis = Object.fromEntries(
  await Promise.all(
    Object.entries(proxies).map(async ([mode, { url }]) => {
      const settings = { INSERT_MODE: mode, STATEMENT_TIMEOUT_MS, POOL_MAX: '1', PIPELINE_CONNECTIONS: '3' }
      return [mode, await startHere(t, `${url}&application_name=${mode}`, settings)]
    }),
  ),
)

const userText = () => JSON.stringify(newUser())

/** The API answers what comes this soon after the signal on a connection that is open; a client may be slower. */
const GRACE_MS = 250

t.test('SIGTERM under load: what was sent is answered, every 201 is a row, and it exits', async (t) => {
  const { url } = await newDatabase(t)
  const api = await startApi(t, url)
  let signalled_ms = Number.POSITIVE_INFINITY
  const count = { created: 0, lost: 0, other: 0 }
  // Each has a request in flight all the time, until it is told to close its connection.
  const client = async () => {
    const socket = await connect(api.url)
    for (let sent = 1; !/^Connection: close\r$/m.test(socket.text()); sent++) {
      const written_ms = performance.now()
      socket.write(rawPost(userText()))
      const statuses = await answers(socket, sent)
      if (statuses.length === sent && statuses.at(-1) === 201) count.created++
      else if (statuses.length === sent) count.other++
      else if (written_ms < signalled_ms + GRACE_MS) count.lost++
      if (statuses.length < sent) break
    }
    await ended(socket)
    socket.destroy()
  }
  const clients = Promise.all(Array.from({ length: 16 }, client))
  await until('200 answers', () => count.created >= 200)
  signalled_ms = performance.now()
  process.kill(api.pid, 'SIGTERM')
  await clients
  t.match(count, { lost: 0, other: 0 })
  t.strictSame(await api.exited(), { code: 0, signal: null })
  t.equal((await rows(url, 'SELECT count(*)::int FROM users'))[0].count, count.created, 'rows and 201s')
  t.strictSame(
    logLines(api).map(({ msg }) => msg.replace(/[ =:].*/, '')),
    ['PASSWORD_STORAGE', 'listening', 'draining', 'stopped'],
    'nothing is logged for a request',
  )
  await t.rejects(connect(api.url), { code: 'ECONNREFUSED' })
})

t.test('what has arrived when a drain begins is answered; a silent connection holds nothing up', async (t) => {
  const api = await startHere(t, database.url)
  const release = await blockTable(t, database.url)
  const [silent, alone, pipelined] = await Promise.all([connect(api.url), connect(api.url), connect(api.url)])
  alone.write(rawPost(userText()))
  pipelined.write(rawPost(userText()) + rawPost(userText()) + rawPost(userText()))
  await untilMetric(api, 'redline_in_flight_requests', 4)
  const drained = api.drain()
  t.match(await untilReadyz(api, 'draining'), { code: 503 })
  await ended(silent)
  await release()
  t.strictSame(await answers(alone, 1), [201])
  t.match(alone.text(), /^Connection: close\r$/m)
  t.strictSame(await answers(pipelined, 3), [201, 201, 201])
  await Promise.all([ended(alone), ended(pipelined)])
  for (const socket of [silent, alone, pipelined]) socket.destroy()
  t.strictSame(await within('the end of the drain', drained), { isComplete: true, dropped: 0 })
})

t.test('what comes after the last answer of a drain is not stored, since nobody would hear of it', async (t) => {
  const api = await startHere(t, database.url)
  const release = await blockTable(t, database.url)
  const socket = await connect(api.url)
  socket.write(rawPost(userText()))
  await untilMetric(api, 'redline_in_flight_requests', 1)
  const drained = api.drain()
  await untilReadyz(api, 'draining')
  socket.write(rawPost('{}'))
  const refused = () => metric(api, 'redline_problems_total{code="invalid_user"}').catch(() => 0)
  await until('the second to be refused', async () => (await refused()) === 1)
  const late = newUser()
  socket.write(rawPost(JSON.stringify(late)))
  // By then, the API has read what was written before.
  for (let i = 0; i < 3; i++) await metric(api, 'redline_in_flight_requests')
  await release()
  t.strictSame(await answers(socket, 3), [201, 400])
  await ended(socket)
  socket.destroy()
  t.strictSame(await within('the end of the drain', drained), { isComplete: true, dropped: 0 })
  t.equal((await rows(database.url, 'SELECT FROM users WHERE email = $1', [late.email])).length, 0)
})

t.test('a shutdown that takes longer than its bound says how many requests it dropped, and exits 1', async (t) => {
  const api = await startApi(t, database.url, { SHUTDOWN_TIMEOUT_MS: '500' })
  await blockTable(t, database.url)
  const socket = await connect(api.url)
  socket.write(Array.from({ length: 3 }, () => rawPost(userText())).join(''))
  await untilMetric(api, 'redline_in_flight_requests', 3)
  process.kill(api.pid, 'SIGTERM')
  t.strictSame(await api.exited(), { code: 1, signal: null }, 'although the statements are not over')
  t.match(api.log(), /"dropped_requests":3,"msg":"shutdown took too long/)
  socket.destroy()
})

t.test('a second signal ends it at once', async (t) => {
  const api = await startApi(t, database.url)
  await blockTable(t, database.url)
  const socket = await connect(api.url)
  socket.write(rawPost(userText()))
  await untilMetric(api, 'redline_in_flight_requests', 1)
  process.kill(api.pid, 'SIGINT')
  await untilReadyz(api, 'draining')
  // Another one: the same, if it comes at once, is one that npm passes on.
  process.kill(api.pid, 'SIGTERM')
  t.strictSame(await api.exited(), { code: 143, signal: null })
  t.notMatch(api.log(), /"stopped"/)
  socket.destroy()
})

t.test('no connection free in time: 503 with Retry-After, and 201 when one is', async (t) => {
  const api = await startHere(t, database.url, { POOL_MAX: '1', POOL_CONNECT_TIMEOUT_MS: '500' })
  await until('an open connection', async () => (await post(api.url, newUser())).status === 201)
  const release = await blockTable(t, database.url)
  const first = post(api.url, newUser())
  await untilAtLock(database.url)
  const second = await post(api.url, newUser())
  t.equal(second.status, 503)
  t.equal(second.headers.get('retry-after'), '1')
  t.match(await second.json(), { code: 'no_database_slot' })
  await release()
  t.equal((await first).status, 201)
  t.equal((await post(api.url, newUser())).status, 201)
})

/** The sessions of one of these; that of the readiness check bears the name in the URL, too. @param {string} mode */
function sessionsOf(mode) {
  return `FROM pg_stat_activity WHERE datname = current_database() AND application_name = '${mode}'
    AND query NOT LIKE '%server_encoding%'`
}

t.test('a statement that hangs is bounded: 503, and the connection is used again', async (t) => {
  const api = apis.batched
  t.equal((await post(api.url, newUser())).status, 201)
  const before = await rows(database.url, `SELECT pid ${sessionsOf('batched')}`)
  t.equal(before.length, 1)
  const release = await blockTable(t, database.url)
  const answer = await post(api.url, newUser())
  t.equal(answer.status, 503)
  t.match(await answer.json(), { code: 'database_unavailable' })
  await release()
  t.equal((await post(api.url, newUser())).status, 201)
  t.strictSame(await rows(database.url, `SELECT pid ${sessionsOf('batched')}`), before)
})

t.test('a connection that breaks under its statement is a 504, not the end of the process', async (t) => {
  const proxy = await tcpProxy(t, database.url)
  const api = await startHere(t, proxy.url)
  const release = await blockTable(t, database.url)
  const answer = post(api.url, newUser())
  await untilAtLock(database.url)
  proxy.reset()
  t.equal((await answer).status, 504)
  await release()
  t.equal((await post(api.url, newUser())).status, 201)
})

t.test('a server that falls silent is a 504 in time, and does not hold up the others', async (t) => {
  await Promise.all(
    Object.entries(proxies).map(async ([mode, proxy]) => {
      const { url } = apis[mode]
      t.equal((await post(url, newUser())).status, 201, mode)
      // A look at the round trip may still hold the connection, and the next statement would take a new one.
      await until('an idle pool', async () => {
        return (await metric(apis[mode], 'redline_pool_idle')) === (await metric(apis[mode], 'redline_pool_total'))
      })
      proxy.silence()
      t.equal((await post(url, newUser())).status, 504, mode)
      t.equal((await post(url, newUser())).status, 201, mode)
    }),
  )
})

t.test('pipelined: a connection that cannot be had again leaves the work to the others', async (t) => {
  const api = apis.pipelined
  const lanes = sessionsOf('pipelined')
  await until('three connections', async () => {
    await Promise.all(Array.from({ length: 30 }, () => post(api.url, newUser())))
    return (
      (await metric(api, 'redline_pool_total')) === 3 && (await rows(database.url, `SELECT pid ${lanes}`)).length === 3
    )
  })
  proxies.pipelined.refuse()
  await rows(
    database.url,
    `SELECT pg_terminate_backend(pid) FROM (SELECT pid ${lanes} ORDER BY backend_start LIMIT 2) AS two`,
  )
  await untilMetric(api, 'redline_pool_total', 1)
  for (let i = 0; i < 20; i++) t.equal((await post(api.url, newUser())).status, 201)
})

t.test('pipelined: behind statements that time out, who is served gets a 201 and nobody else a row', async (t) => {
  const { url } = await newDatabase(t)
  const settings = { INSERT_MODE: 'pipelined', PIPELINE_CONNECTIONS: '1', STATEMENT_TIMEOUT_MS: '2000' }
  const api = await startHere(t, url, settings)
  await until('an open connection', async () => (await post(api.url, newUser())).status === 201)
  await rows(url, 'TRUNCATE users')
  const release = await blockTable(t, url)
  let answered = 0
  const send = async () => {
    const { status } = await post(api.url, newUser())
    answered++
    return status
  }
  const sent = Array.from({ length: 12 }, send)
  await until('two that timed out', () => answered >= 2)
  await release()
  const statuses = await Promise.all(sent)
  const stored = statuses.filter((status) => status === 201).length
  const refused = statuses.filter((status) => status === 503).length
  t.equal(stored + refused, 12, 'and no other answers')
  t.ok(stored > 0, `${stored} came late enough`)
  t.ok(refused >= 2, `${refused} timed out`)
  t.equal((await rows(url, 'SELECT count(*)::int FROM users'))[0].count, stored, 'rows and 201s')
})

t.test('an unforeseen error is logged without the row that Postgres quotes', async (t) => {
  await rows(database.url, "ALTER TABLE users ADD CONSTRAINT no_ada CHECK (email NOT LIKE 'ada%')")
  t.teardown(() => rows(database.url, 'ALTER TABLE users DROP CONSTRAINT no_ada'))
  const api = apis.batched
  t.equal((await post(api.url, { email: 'ada@example.com', password: 'hunter2' })).status, 500)
  await logged(api, /no_ada.*\n/)
  t.notMatch(api.log(), /hunter2/)
})

t.test('started without its database, it answers 503 until the database is there', async (t) => {
  const api = await startUnready(t, 'postgres://nobody@127.0.0.1:1/none')
  t.equal((await post(api.url, newUser())).status, 503)
  t.match(await readyz(api), { code: 503 })
  process.kill(api.pid, 'SIGTERM')
  t.strictSame(await api.exited(), { code: 0, signal: null })
})

t.test('a configuration that is wrong stops the start with one line and exit code 2', async (t) => {
  await t.rejects(startUnready(t, database.url, { POOL_MAX: '0' }), {
    exitCode: 2,
    message: 'redline: POOL_MAX: expected a whole number from 1 to 10000 (connections), got "0"\n',
  })
})

t.test('a port that is taken stops the start with one line and exit code 2', async (t) => {
  const { port } = new URL(apis.batched.url)
  await t.rejects(startUnready(t, database.url, { PORT: port, LOG_LEVEL: 'silent' }), {
    exitCode: 2,
    message: /^redline: cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE.*\n$/,
  })
})

t.test(
  'a log on a full disk loses lines; requests are answered, and SIGTERM ends it',
  { skip: noFullDisk() },
  async (t) => {
    const [port, adminPort] = await freePorts(2)
    const full = fs.openSync('/dev/full', 'w')
    const [program, ...args] = leashed([process.execPath, SERVER], { signal: 'KILL' })
    const env = settingsFor(database.url, { PORT: String(port), ADMIN_PORT: String(adminPort) })
    const child = spawn(program, args, { cwd: '/', env, stdio: ['ignore', full, 'ignore'] })
    fs.closeSync(full)
    const exited = once(child, 'exit')
    t.teardown(() => child.kill('SIGKILL'))
    await until('the API to listen', () => isListening(adminPort))
    await untilReadyz({ adminUrl: `http://127.0.0.1:${adminPort}` }, 'ready')
    t.equal((await post(`http://127.0.0.1:${port}/user`, newUser())).status, 201)
    child.kill('SIGTERM')
    t.strictSame(await within('the end of the API', exited), [0, null])
  },
)

function noFullDisk() {
  return fs.existsSync('/dev/full') ? undefined : 'this needs /dev/full'
}
