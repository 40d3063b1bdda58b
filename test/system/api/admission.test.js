import { once } from 'node:events'
import http from 'node:http'
import t from 'tap'
import { logLines, metric, newUser, post, startApi, untilMetric } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { blockTable, rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { answers, connect, rawPost } from '../../support/socket.js'
import { until, within } from '../../support/until.js'

const database = await newDatabase(t)

const AT_LOCK = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

for (const mode of ['single', 'pipelined', 'batched']) {
  t.test(`${mode}: who would wait too long gets a 503 at once on the same connection, and is counted`, async (t) => {
    const settings = { INSERT_MODE: mode, POOL_MAX: '1', PIPELINE_CONNECTIONS: '1', BATCH_SLOTS: '1' }
    const api = await startHere(t, database.url, { ...settings, MAX_QUEUE_REQUESTS: '5' })
    t.equal((await post(api.url, newUser())).status, 201)
    const release = await blockTable(t, database.url)
    // The first by itself: a batch that takes a second one along would leave only four to wait.
    const first = post(api.url, newUser())
    await until('a statement at the lock', async () => (await rows(database.url, AT_LOCK)).length > 0)
    const held = [first, ...Array.from({ length: 5 }, () => post(api.url, newUser()))]
    await untilMetric(api, 'redline_waiting_requests', 5)
    const socket = await connect(api.url)
    for (let i = 1; i <= 3; i++) {
      socket.write(rawPost(JSON.stringify(newUser())))
      t.strictSame(await answers(socket, i), Array(i).fill(503), 'one connection, an answer to each')
    }
    socket.destroy()
    const answer = await post(api.url, newUser())
    t.equal(answer.headers.get('retry-after'), '1')
    t.match(await answer.json(), { code: 'overloaded' })
    t.equal(await metric(api, 'redline_shed_total{limit="queue_requests"}'), 4)
    t.equal(await metric(api, 'redline_problems_total{code="overloaded"}'), 4)
    await release()
    const statuses = (await Promise.all(held)).map(({ status }) => status)
    t.strictSame(statuses, Array(6).fill(201), 'who was let in is served')
    t.equal((await post(api.url, newUser())).status, 201, 'and so is everybody, again')
  })
}

t.test('passwords that wait to be hashed count, requests that never get to the database do not', async (t) => {
  const settings = { PASSWORD_STORAGE: 'scrypt', MAX_QUEUE_REQUESTS: '1', UV_THREADPOOL_SIZE: '1' }
  const api = await startApi(t, database.url, settings)
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(api.url, newUser())))
  const count = (/** @type {number} */ wanted) => answers.filter(({ status }) => status === wanted).length
  t.ok(count(201) >= 2, `${count(201)} were let in: the one that a thread hashes, and one that waits`)
  t.ok(count(503) > 0, `${count(503)} were refused`)
  t.equal(count(201) + count(503), 20, 'and there are no other answers')
  t.equal(await metric(api, 'redline_shed_total{limit="queue_requests"}'), count(503))
  t.equal(await metric(api, 'redline_waiting_requests'), 0)
  t.equal(await metric(api, 'redline_hashing_passwords'), 0)
  t.equal(await metric(api, 'redline_hashing_threads'), 1)
})

t.test('connections beyond the limit are closed and counted, the others served', async (t) => {
  const api = await startHere(t, database.url, { MAX_CONNECTIONS: '3' })
  /** @type {Awaited<ReturnType<typeof connect>>[]} */
  const kept = []
  let refused = 0
  for (let i = 0; i < 5; i++) {
    const socket = await connect(api.url)
    t.teardown(() => socket.destroy())
    socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n')
    if ((await answers(socket, 1)).length === 1) kept.push(socket)
    else refused++
  }
  t.equal(kept.length, 3)
  t.equal(refused, 2)
  t.equal(await metric(api, 'redline_dropped_connections_total{limit="connections"}'), 2)
  kept[0].end()
  await within('the end of a connection', once(kept[0], 'close'))
  await untilMetric(api, 'redline_connections', 2)
  t.equal((await post(api.url, newUser())).status, 201)
})

t.test('a connection that cannot be accepted is logged, and the service goes on', async (t) => {
  const created = t.capture(http, 'createServer', http.createServer)
  const api = await startHere(t, database.url)
  const [{ returned: server }] = /** @type {any} */ (created())
  const error = Object.assign(new Error('accept ENFILE'), { code: 'ENFILE' })
  for (let i = 0; i < 3; i++) server.emit('error', error)
  const lines = logLines(api).filter(({ level }) => level >= 50)
  t.equal(lines.length, 1, 'one line')
  t.match(lines[0], { err: { code: 'ENFILE' }, msg: /^cannot accept a connection/ })
  t.equal((await post(api.url, newUser())).status, 201)
})
