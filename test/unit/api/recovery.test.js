import t from 'tap'
import { simulated } from '../../support/simulation/simulated.js'

/** @import { Settings } from '../../support/simulation/service.js' */

/** The two kinds of connections: those that a statement has to itself, and those that statements share. */
const MODES = ['prepared', 'pipelined']
const STATEMENT_TIMEOUT_MS = 1000
const SILENCE_MS = STATEMENT_TIMEOUT_MS + 1000

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
    const { plan, post, postgres, service } = start(t, settings)
    plan.logins.push(...Array(4).fill({ fault: 'connection refused', execute_ms: 1, commit_ms: 1, split: 0 }))
    t.strictSame(await post(2), ['database_unavailable', 'database_unavailable'])
    t.strictSame(await post(1), ['database_unavailable'])
    postgres.calm()
    await post(2)
    t.strictSame(await post(2), [201, 201])
    t.strictSame(
      service.lines.map(({ level, message }) => [level, message]),
      [
        ['warn', 'database unavailable: answering 503 until it is back'],
        ['info', 'database available again'],
      ],
    )
  })
}

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
