import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { logLines, metric, newUser, post, untilReadyz } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { rows, takeConnections } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { newServer } from '../../support/postgres.js'
import { tcpProxy, tcpServer } from '../../support/servers.js'
import { errorResponse, WELCOME } from '../../support/simulation/wire.js'
import { until } from '../../support/until.js'

/** @import { Embedded } from '../../../sql/embedded.js' */

const database = await newServer(t, { max_connections: '24', fsync: 'off' })
const api = await startHere(t, database.url)
const SESSIONS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'redline-api'"

t.test('a database without a connection to spare: 503, no connection leaks, and 201 when there is one', async (t) => {
  const api = await startHere(t, database.url, { INSERT_MODE: 'prepared', POOL_MAX: '4' })
  await endSessions()
  const release = await takeConnections(t, database.url)
  await untilAll(api.url, 503)
  await release()
  await untilAll(api.url, 201)
  t.equal(await metric(api, 'redline_pool_total'), 4, 'the pool holds no more than it may')
  t.equal((await rows(database.url, SESSIONS)).length, 4, 'and Postgres says the same')
})

t.test(
  'a server that dies in the same breath as it greets: 503, no connection leaks, and 201 when it is back',
  async (t) => {
    const dying = await tcpServer(t, (socket) => {
      socket.once('data', () => {
        socket.end(Buffer.concat([WELCOME, errorResponse({ severity: 'FATAL', code: '57P01' })]))
      })
    })
    for (const INSERT_MODE of ['batched', 'single']) {
      const proxy = await tcpProxy(t, database.url)
      const api = await startHere(t, proxy.url, { INSERT_MODE, POOL_MAX: '4' })
      proxy.move(dying)
      proxy.reset()
      for (let i = 0; i < 10; i++) t.equal((await post(api.url, newUser())).status, 503, INSERT_MODE)
      proxy.move(database.url)
      await untilAll(api.url, 201)
    }
  },
)

t.test('a slow database: whoever would wait longer than MAX_QUEUE_MS is refused', async (t) => {
  await rows(
    database.url,
    `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END';
     CREATE TRIGGER slow BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION slow()`,
  )
  t.teardown(() => rows(database.url, 'DROP FUNCTION slow() CASCADE'))
  const api = await startHere(t, database.url, { INSERT_MODE: 'single', POOL_MAX: '1', MAX_QUEUE_MS: '100' })
  const count = { created: 0, refused: 0 }
  const isOver = () => count.created >= 32 && count.refused > 0
  const client = async () => {
    while (!isOver()) {
      const answer = await post(api.url, newUser())
      await answer.text()
      if (answer.status === 201) count.created++
      if (answer.status === 201) continue
      t.equal(answer.status, 503)
      t.match(answer.headers.get('Retry-After'), /^\d+$/)
      count.refused++
      await sleep(100)
    }
  }
  const clients = Promise.all(Array.from({ length: 16 }, client))
  await until('32 requests served, and one refused', isOver)
  await clients
  t.equal(await metric(api, 'redline_shed_total{limit="queue_ms"}'), count.refused)
})

t.test('a database that takes no writes: 503, then 201 when it does', async (t) => {
  t.equal((await post(api.url, newUser())).status, 201)
  await rows(database.url, 'ALTER DATABASE postgres SET default_transaction_read_only = on')
  await endSessions()
  await untilAll(api.url, 503)
  const writable = new URL(database.url)
  writable.searchParams.set('options', '-c default_transaction_read_only=off')
  await rows(writable.href, 'ALTER DATABASE postgres SET default_transaction_read_only = off')
  await endSessions()
  await untilAll(api.url, 201)
})

t.test('Postgres gone and back: 503s meanwhile, then 201s, by itself', async (t) => {
  const api = await startHere(t, database.url)
  for (const [i, signal] of /** @type {NodeJS.Signals[]} */ (['SIGINT', 'SIGKILL']).entries()) {
    t.equal((await post(api.url, newUser())).status, 201)
    await database.halt(signal)
    await until('a 503', async () => (await post(api.url, newUser())).status === 503)
    for (let i = 0; i < 10; i++) {
      const answer = await post(api.url, newUser())
      t.equal(answer.status, 503)
      t.equal(answer.headers.get('retry-after'), '1')
      t.match(await answer.json(), { code: 'database_unavailable' })
    }
    t.match(await untilReadyz(api, 'database unavailable'), { code: 503 })
    t.equal((await fetch(`${api.adminUrl}/healthz`)).status, 200)
    await database.start()
    await until('a 201', async () => (await post(api.url, newUser())).status === 201)
    t.match(await untilReadyz(api, 'ready'), { code: 200 })
    const times = (/** @type {RegExp} */ pattern) => logLines(api).filter(({ msg }) => pattern.test(msg)).length
    await until(`${signal} in the log`, async () => {
      await post(api.url, newUser())
      return times(/^database connections work again/) === i + 1
    })
    t.equal(times(/^database connections fail/), i + 1, `after ${signal}: said once, not once a request`)
  }
})

t.test('pipelined: a retired connection whose server never says farewell is cut', async (t) => {
  const settings = { INSERT_MODE: 'pipelined', PIPELINE_CONNECTIONS: '1', STATEMENT_TIMEOUT_MS: '1000' }
  const api = await startHere(t, database.url, { ...settings, POOL_MAX_LIFETIME_MS: '1000' })
  const own = "SELECT pid FROM pg_stat_activity WHERE application_name = 'redline-api' AND query LIKE '%INTO users%'"
  let pid = 0
  await until('a session', async () => {
    await post(api.url, newUser())
    pid = (await rows(database.url, own))[0]?.pid
    return pid
  })
  // The kernel keeps the connection of a stopped process open.
  process.kill(pid, 'SIGSTOP')
  t.teardown(() => process.kill(pid, 'SIGCONT'))
  await until('a 201 over another connection', async () => (await post(api.url, newUser())).status === 201)
  t.not((await rows(database.url, `${own} ORDER BY backend_start DESC`))[0].pid, pid)
})

// The last: its table is gone with its file system.
t.test('a full disk: 503s that say so to nobody, every 201 a row, and 201s again when there is room', async (t) => {
  await rows(database.url, 'TRUNCATE users')
  const makeRoom = await limitDisk(t, database)
  const { stored, answers } = await fill(api.url, 50_000)
  t.ok(answers.length > 0)
  for (const answer of answers) {
    if (answer.status === 201) continue
    t.equal(answer.status, 503)
    t.equal(answer.headers.get('retry-after'), '1')
    const problem = /** @type {any} */ (await answer.json())
    t.strictSame([problem.code, problem.detail], ['database_unavailable', undefined])
  }
  // A session that an earlier test held may store its row only now.
  const [{ count }] = await rows(database.url, "SELECT count(*)::int FROM users WHERE email LIKE 'full-%'")
  t.equal(count, stored, 'rows and 201s')
  await makeRoom()
  await untilAll(api.url, 201)
})

/** Posts until the answer is not a 201 any more. @param {string} url @param {number} atMost */
async function fill(url, atMost) {
  let stored = 0
  const password = 'x'.repeat(255)
  while (stored < atMost) {
    const users = Array.from({ length: 64 }, newUser).map(({ email }) => ({ email: `full-${email}`, password }))
    const answers = await Promise.all(users.map((user) => post(url, user)))
    const created = answers.filter(({ status }) => status === 201).length
    stored += created
    if (created < answers.length) return { stored, answers }
  }
  throw new Error(`${stored} rows were stored, and the disk is not full`)
}

/** Waits until all of 20 requests at once are answered so. @param {string} url @param {number} status */
async function untilAll(url, status) {
  await until(`20 times ${status}`, async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(url, newUser())))
    return answers.every((answer) => answer.status === status)
  })
}

/** So that the API connects anew: sessions end a moment after the statement that asks for it. */
async function endSessions() {
  const pids = (await rows(database.url, SESSIONS)).map(({ pid }) => pid)
  const alive = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ANY($1)'
  await until('the end of the sessions', async () => (await rows(database.url, alive, [pids])).length === 0)
}

/**
 * Leaves little room for the table: a tablespace on a file system of its own where this may be mounted, else a limit on
 * the size of Postgres' files, above that of its write-ahead log's.
 * @param {any} t
 * @param {Embedded} database
 * @returns {Promise<() => Promise<unknown>>} makes room
 */
async function limitDisk(t, { url, pid }) {
  const folder = temporaryFolder(t)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400k,mode=755', 'tmpfs', folder]).status !== 0) {
    const filler = "SELECT 'filler@redline.test', repeat('x', 255) FROM generate_series(1, 60000)"
    await rows(url, `INSERT INTO users (email, password) ${filler}`)
    const [{ size }] = await rows(url, "SELECT pg_relation_size('users')::int AS size")
    const limit = async (/** @type {string} */ bytes) => {
      const sessions = (await rows(url, 'SELECT pid FROM pg_stat_activity')).map(({ pid }) => pid)
      // Those of other sessions have their parent's limit.
      for (const one of [pid(), ...sessions])
        spawnSync('prlimit', ['--pid', one, `--fsize=${bytes}:unlimited`].map(String))
    }
    await limit(String(size + 200_000))
    return () => limit('unlimited')
  }
  t.teardown(() => spawnSync('umount', ['-l', folder]))
  const tablespace = path.join(folder, 'users')
  fs.mkdirSync(tablespace)
  const [, uid] = /^Uid:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid()}/status`, 'utf8')) ?? []
  fs.chownSync(tablespace, Number(uid), -1)
  await rows(url, `CREATE TABLESPACE small LOCATION '${tablespace}'`)
  await rows(url, 'ALTER TABLE users SET TABLESPACE small')
  return async () => spawnSync('mount', ['-o', 'remount,size=16m', folder])
}
