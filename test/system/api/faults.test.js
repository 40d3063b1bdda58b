import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { openCell } from '../../../tuning/knobs/open-cell.js'
import { metric, newUser, post, startApi } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { newServer } from '../../support/postgres.js'

const database = await newServer(t, { max_connections: '24' })

/** Posts until the answer is not a 201 any more. @param {string} url @param {number} atMost */
async function fill(url, atMost) {
  let stored = 0
  const password = 'x'.repeat(255)
  while (stored < atMost) {
    const answers = await Promise.all(Array.from({ length: 64 }, () => post(url, { ...newUser(), password })))
    const statuses = answers.map(({ status }) => status)
    stored += statuses.filter((status) => status === 201).length
    if (statuses.some((status) => status !== 201)) return { stored, statuses, answers }
  }
  throw new Error(`${stored} rows were stored, and the disk is not full`)
}

t.test('a database that takes no writes: 503, then 201 when it does', async (t) => {
  const api = await startApi(t, database.url)
  await rows(database.url, 'ALTER DATABASE postgres SET default_transaction_read_only = on')
  await endSessions(database.url)
  await untilAnswered(api.url, 503)
  t.match(await statusesOf(api.url, 20), [503])
  await inWritableSession(database.url, 'ALTER DATABASE postgres SET default_transaction_read_only = off')
  await endSessions(database.url)
  await untilAnswered(api.url, 201)
  t.match(await statusesOf(api.url, 20), [201])
})

t.test('a database far away: whoever would wait longer than MAX_QUEUE_MS is refused at once', async (t) => {
  const logFile = path.join(temporaryFolder(t), 'api.log')
  const place = { databaseUrl: database.url, cores: null, allCores: null, env: process.env, logFile }
  const levels = { INSERT_MODE: 'single', POOL_MAX: '1', DB_DELAY_MS: '20', MAX_QUEUE_MS: '100' }
  const api = await openCell(levels, place)
  t.teardown(api.stop)
  /** @type {number[]} */
  const refusedAfter_ms = []
  let created = 0
  const until_ms = performance.now() + 3000
  const client = async () => {
    while (performance.now() < until_ms) {
      const start_ms = performance.now()
      const answer = await post(api.url, newUser())
      await answer.text()
      if (answer.status === 201) created++
      if (answer.status !== 503) continue
      refusedAfter_ms.push(performance.now() - start_ms)
      t.match(answer.headers.get('Retry-After'), /^\d+$/)
      await sleep(50)
    }
  }
  await Promise.all(Array.from({ length: 32 }, () => client()))
  t.ok(created > 50, `${created} were served, at 20 ms each`)
  t.ok(refusedAfter_ms.length > 0, `${refusedAfter_ms.length} were refused`)
  const metrics = await (await fetch(`${api.adminUrl}/metrics`)).text()
  t.match(metrics, `redline_shed_total{limit="queue_ms"} ${refusedAfter_ms.length}`)
})

t.test('a database without a connection to spare: 503, no connection leaks, and 201 when there is one', async (t) => {
  const api = await startApi(t, database.url, { INSERT_MODE: 'prepared', POOL_MAX: '4' })
  await endSessions(database.url)
  const taken = await fillConnections(database.url)
  await untilAnswered(api.url, 503)
  t.match(await statusesOf(api.url, 20), [503])
  for (const client of taken) await client.end()
  await untilAnswered(api.url, 201)
  t.match(await statusesOf(api.url, 20), [201])
  t.ok((await metric(api, 'redline_pool_total')) <= 4, 'the pool holds no more than it may')
  const held = await rows(
    database.url,
    "SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'redline-api'",
  )
  t.ok(held[0].count <= 4, 'and Postgres says the same')
})

// The last: its table is gone with its file system.
t.test('a full disk: 503s that say so to nobody, every 201 a row, and 201s again when there is room', async (t) => {
  const makeRoom = await limitDisk(t, database)
  const api = await startApi(t, database.url)
  const { stored, statuses, answers } = await fill(api.url, 50_000)
  t.ok(
    statuses.every((status) => status === 201 || status === 503),
    statuses.join(' '),
  )
  const refused = answers.find(({ status }) => status === 503)
  t.equal(refused?.headers.get('retry-after'), '1')
  t.match(await refused?.json(), { code: 'database_unavailable' })
  const [{ count }] = await rows(database.url, 'SELECT count(*)::int FROM users')
  t.equal(count, stored, 'rows and 201s')
  await makeRoom()
  t.equal((await post(api.url, newUser())).status, 201)
})

/** Statuses of so many requests at once, each once. @param {string} url @param {number} count */
async function statusesOf(url, count) {
  const answers = await Promise.all(Array.from({ length: count }, () => post(url, newUser())))
  return [...new Set(answers.map(({ status }) => status))]
}

/** Sessions end, and connections come free, a moment after the statement that asks for it. @param {string} url @param {number} status */
async function untilAnswered(url, status) {
  while ((await post(url, newUser())).status !== status) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** Takes what connections are left. @param {string} url */
async function fillConnections(url) {
  const taken = []
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => {})
    try {
      await client.connect()
      taken.push(client)
    } catch {
      return taken
    }
  }
}

/** So that the API connects anew. @param {string} url */
function endSessions(url) {
  return rows(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'redline-api'")
}

/** @param {string} url @param {string} statement */
async function inWritableSession(url, statement) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('SET default_transaction_read_only = off')
  await client.query(statement)
  await client.end()
}

/**
 * Leaves little room for the table: a tablespace on a file system of a megabyte where this may be mounted, else a limit
 * on the size of Postgres' files.
 *
 * @param {any} t
 * @param {import('../../../sql/embedded.js').Embedded} database
 * @returns {Promise<() => Promise<unknown>>} makes room
 */
async function limitDisk(t, { url, pid }) {
  const folder = temporaryFolder(t)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=755', 'tmpfs', folder]).status !== 0) {
    await rows(url, 'TRUNCATE users')
    const limit = (/** @type {string} */ bytes) =>
      spawnSync('prlimit', ['--pid', String(pid()), `--fsize=${bytes}:unlimited`])
    limit('1000000')
    return async () => limit('unlimited')
  }
  t.teardown(() => spawnSync('umount', ['-l', folder]))
  const tablespace = path.join(folder, 'users')
  fs.mkdirSync(tablespace)
  const [, uid] = /^Uid:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid()}/status`, 'utf8')) ?? []
  fs.chownSync(tablespace, Number(uid), -1)
  await rows(url, 'TRUNCATE users')
  await rows(url, `CREATE TABLESPACE small LOCATION '${tablespace}'`)
  await rows(url, 'ALTER TABLE users SET TABLESPACE small')
  return async () => spawnSync('mount', ['-o', 'remount,size=16m', folder])
}
