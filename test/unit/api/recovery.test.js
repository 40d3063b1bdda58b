import t from 'tap'
import { simulated } from '../../support/simulation/simulated.js'

/** @import { Settings } from '../../support/simulation/service.js' */

/** The two kinds of connections: those that a statement has to itself, and those that statements share. */
const MODES = ['prepared', 'pipelined']
const STATEMENT_TIMEOUT_MS = 1000
const SILENCE_MS = STATEMENT_TIMEOUT_MS + 1000
const SMOOTH = { fault: 'none', execute_ms: 1, commit_ms: 1, split: 0 }

/** @param {any} t @param {Partial<Settings>} settings */
function start(t, settings) {
  const simulation = simulated(t, { settings: { statementTimeoutMs: STATEMENT_TIMEOUT_MS, ...settings } })
  const { service, until } = simulation
  let users = 0
  const send = () =>
    service.request('POST', '/user', { body: { email: `ada-${users++}@simulated`, password: 'secret' } }).answers
  return {
    ...simulation,
    send,

    /** Requests at once. @param {number} count @returns {Promise<(number | string)[]>} statuses, or codes of problems */
    async post(count) {
      const all = Array.from({ length: count }, send)
      await until('answers', () => all.every((answers) => answers.length > 0))
      return all.map(([{ status, code }]) => code || status)
    },
  }
}

for (const insertMode of MODES) {
  const settings = { insertMode, poolMax: 2, pipelineConnections: 2 }

  t.test(
    `${insertMode}: one request finds out that the server is silent, and every connection is replaced`,
    async (t) => {
      const { clock, postgres, post } = start(t, settings)
      await post(3)
      t.equal(postgres.open(), 2)
      postgres.storm('silence')
      const start_ms = clock.now_ms
      t.strictSame(await post(1), ['outcome_unknown'])
      t.equal(clock.now_ms - start_ms, SILENCE_MS)
      t.strictSame(await post(3), [201, 201, 201])
    },
  )

  t.test(
    `${insertMode}: one request finds out that the server is read-only, and every connection is replaced`,
    async (t) => {
      const { postgres, post, service } = start(t, settings)
      await post(3)
      postgres.storm('demote')
      t.strictSame(await post(1), ['database_unavailable'])
      t.equal(service.pool.generation(), 1)
      t.strictSame(await post(3), [201, 201, 201])
    },
  )

  t.test(`${insertMode}: a server that stays read-only is not flooded with logins`, async (t) => {
    const { clock, postgres, post } = start(t, settings)
    const demoted = async () => {
      postgres.storm('demote')
      return post(1)
    }
    await post(1)
    await demoted()
    t.strictSame(await post(1), [201])
    const { length } = postgres.sessions
    for (let i = 0; i < 20; i++) t.strictSame(await demoted(), ['database_unavailable'])
    t.ok(postgres.sessions.length <= length + 1, `${postgres.sessions.length - length} logins`)
    await clock.run(() => false, 1000)
    t.strictSame(await demoted(), ['database_unavailable'])
    t.strictSame(await post(1), [201])
  })

  t.test(`${insertMode}: the log says once that the database is away, and once that it is back`, async (t) => {
    const { clock, plan, post, postgres, service } = start(t, settings)
    plan.logins.push(...Array(4).fill({ fault: 'connection refused', execute_ms: 1, commit_ms: 1, split: 0 }))
    t.strictSame(await post(2), ['database_unavailable', 'database_unavailable'])
    t.strictSame(await post(1), ['database_unavailable'])
    postgres.calm()
    await post(2)
    t.strictSame(await post(2), [201, 201])
    t.equal(service.lines.length, 1, 'not before it has served for a second')
    await clock.run(() => false, 1000)
    await post(1)
    t.strictSame(service.lines, [
      { level: 'warn', message: 'database connections fail: answering 503 to the requests affected' },
      { level: 'info', message: 'database connections work again' },
    ])
  })

  t.test(`${insertMode}: logins that fail while other connections serve fail no request, and are few`, async (t) => {
    const { clock, plan, post, postgres, service } = start(t, { ...settings, poolMax: 3, pipelineConnections: 3 })
    plan.logins.push(SMOOTH, ...Array(100).fill({ ...SMOOTH, fault: 'too many sessions' }))
    t.strictSame(await post(1), [201])
    const start_ms = clock.now_ms
    for (let i = 0; i < 200; i++) t.strictSame(await post(3), [201, 201, 201])
    const seconds = (clock.now_ms - start_ms) / 1000
    const logins = postgres.sessions.length - 1
    // Two connections may be missing at once.
    t.ok(logins <= 2 * (1 + seconds), `${logins} logins failed in ${seconds} s`)
    t.strictSame(service.lines, [
      { level: 'error', message: 'a login to the database fails, but other connections serve' },
    ])
    postgres.calm()
    await clock.run(() => false, 1000)
    await post(3)
    await post(3)
    t.ok(postgres.open() > 1, 'and once logins succeed, there are more connections')
  })

  t.test(`${insertMode}: a statement that fails on its own does not count as a failure of the database`, async (t) => {
    const { plan, post, service } = start(t, settings)
    plan.statements.push(SMOOTH, { ...SMOOTH, fault: 'deadlock' })
    t.strictSame([...(await post(1)), ...(await post(1)), ...(await post(1))], [201, 'database_unavailable', 201])
    t.strictSame(service.lines, [
      { level: 'error', message: 'the database failed a statement that may be repeated: answering 503' },
    ])
  })

  t.test(`${insertMode}: a login that was under way when every connection was replaced is replaced, too`, async (t) => {
    const { clock, plan, post, postgres, send, until } = start(t, settings)
    plan.logins.push(SMOOTH, { ...SMOOTH, commit_ms: 50 })
    await post(1)
    postgres.storm('demote')
    const answers = [send(), send()]
    await until('the first refusal', () => answers.some(([answer]) => answer))
    t.equal(postgres.sessions.length, 2, 'the second login is under way')
    await clock.run(() => false, 100)
    await until('the second answer', () => answers.every(([answer]) => answer))
    t.strictSame(await post(1), [201])
    t.ok(postgres.sessions[1].socket.destroyed || postgres.sessions[1].socket.writableEnded)
  })
}

t.test('prepared: an idle connection whose server never says farewell is cut', async (t) => {
  const { clock, post, postgres, until } = start(t, { insertMode: 'prepared', poolIdleTimeoutMs: 5000 })
  await post(1)
  const [{ socket }] = postgres.sessions
  postgres.storm('silence')
  await until('the goodbye', () => socket.writableEnded)
  t.notOk(socket.destroyed)
  const start_ms = clock.now_ms
  await until('the end of the connection', () => socket.destroyed, 2 * SILENCE_MS)
  t.equal(clock.now_ms - start_ms, SILENCE_MS)
})

t.test('pipelined: requests of one read are spread over all connections', async (t) => {
  const { clock, post, postgres, send, until } = start(t, { insertMode: 'pipelined', pipelineConnections: 2 })
  await post(2)
  await post(2)
  const answers = Array.from({ length: 10 }, send)
  await clock.run(() => false, 0)
  t.strictSame(
    postgres.sessions.map(({ unanswered }) => unanswered.length),
    [5, 5],
  )
  await until('answers', () => answers.every(([answer]) => answer))
})

t.test('pipelined: a goodbye that is not answered has every connection replaced', async (t) => {
  const { postgres, post, service, until } = start(t, { insertMode: 'pipelined', poolMaxLifetimeMs: 5000 })
  await post(1)
  postgres.storm('silence')
  await until('the goodbye', () => postgres.sessions[0].socket.writableEnded)
  t.equal(service.pool.generation(), 0)
  await until('the end of the connection', () => postgres.sessions[0].socket.destroyed, SILENCE_MS)
  t.equal(service.pool.generation(), 1)
})

t.test('batched: a shared statement without an answer holds up the next one for a second at most', async (t) => {
  const { clock, plan, post, send, until } = start(t, { insertMode: 'batched', batchSlots: 2, batchMaxRows: 10 })
  plan.statements.push({ fault: 'silence before', execute_ms: 1, commit_ms: 1, split: 0 })
  const lost = [send(), send()]
  await clock.run(() => false, 10)
  t.strictSame(await post(2), [201, 201])
  t.ok(clock.now_ms > 1000 && clock.now_ms < 1050, `at ${clock.now_ms} ms`)
  await until('the others', () => lost.every((answers) => answers.length > 0))
  t.strictSame(
    lost.map(([{ code }]) => code),
    ['outcome_unknown', 'outcome_unknown'],
  )
})

t.test('batched: rows of a refused statement do not starve each other of connections', async (t) => {
  const limits = { poolMax: 2, batchSlots: 1, batchMaxRows: 30, poolConnectTimeoutMs: 500 }
  const { plan, post } = start(t, { insertMode: 'batched', ...limits })
  plan.statements.push({ ...SMOOTH, fault: 'too long' }, ...Array(30).fill({ ...SMOOTH, execute_ms: 100 }))
  t.strictSame(await post(30), Array(30).fill(201))
})
