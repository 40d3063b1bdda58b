import http from 'node:http'
import t from 'tap'
import { drain } from '../../../api/drain.js'
import { simulated } from '../../support/simulation/simulated.js'

const GRACE_MS = 250
const TIMEOUT_MS = 3000

/**
 * A service that is drained, with client connections that are nothing but a count: Node's server closes once none is left.
 * @param {any} t
 * @param {number} execute_ms how long the first statement takes
 */
function start(t, execute_ms) {
  const plan = { logins: [], statements: [{ fault: 'none', execute_ms, commit_ms: 1, split: 0 }] }
  const settings = { insertMode: 'prepared', statementTimeoutMs: 60_000 }
  const simulation = simulated(t, { settings, plan })
  const { clock, service } = simulation
  const server = /** @type {any} */ (http.createServer())
  let lookedAt_ms = 0
  server.closeIdleConnections = () => {
    lookedAt_ms ||= clock.now_ms
  }
  /** @type {Set<any>} */
  const sockets = new Set()
  const open = (/** @type {number} */ bytesRead) => {
    server._connections++
    const socket = {
      bytesRead,
      isDestroyed: false,
      destroy() {
        socket.isDestroyed = true
        sockets.delete(socket)
        server._connections--
        server._emitCloseIfDrained()
      },
    }
    sockets.add(socket)
    return socket
  }
  return {
    ...simulation,
    open,
    server,
    sockets,
    lookedAt_ms: () => lookedAt_ms,
    post: () => service.request('POST', '/user', { body: { email: 'ada@simulated', password: 'secret' } }).answers,

    /** @returns {Promise<{ isComplete: boolean, dropped: number, waitedFor?: string, after_ms: number }>} */
    drain() {
      const start_ms = clock.now_ms
      const parts = { server, sockets, app: service.app, pool: service.pool, timeoutMs: TIMEOUT_MS }
      return drain(parts).then((result) => ({ ...result, after_ms: clock.now_ms - start_ms }))
    },

    /** @template T @param {Promise<T>} work @returns {Promise<T | undefined>} */
    async endOf(work) {
      /** @type {T | undefined} */
      let result
      work.then((value) => {
        result = value
      })
      await simulation.until('its end', () => result !== undefined)
      return result
    },
  }
}

t.test('without a connection, a drain ends at once', async (t) => {
  const { clock, drain, endOf } = start(t, 1)
  t.strictSame(await endOf(drain()), { isComplete: true, dropped: 0, after_ms: 0 })
  t.equal(clock.timers(), 1, "no timer is left but the gate's")
})

t.test('a request in flight gets its answer, which ends its connection, and then the pool is closed', async (t) => {
  const { clock, postgres, service, open, post, drain, endOf, until } = start(t, 1000)
  const socket = open(100)
  const answers = post()
  await until('its statement', () => postgres.units.length === 1)
  const end = drain()
  await until('its answer', () => answers.length === 1)
  t.equal(answers[0].status, 201)
  t.strictSame(answers[0].headers.slice(-4, -2), ['Connection', 'close'])
  t.equal(socket.isDestroyed, false)
  const next = post()
  await until('the answer to one that comes while the connection is open', () => next.length === 1)
  t.equal(next[0].status, 201)
  t.equal(postgres.open(), 1, 'the pool is open until the last connection is closed')
  socket.destroy()
  t.match(await endOf(end), { isComplete: true, dropped: 0 })
  await clock.run(() => false, 10)
  t.equal(postgres.open(), 0)
  t.equal(service.pool.stats().total, 0)
  t.equal(clock.timers(), 1, "no timer is left but the gate's")
})

t.test('connections without a request are closed after a grace, those with one are not', async (t) => {
  const { clock, open, drain, endOf, lookedAt_ms, until } = start(t, 1)
  const [silent, busy] = [open(0), open(100)]
  const end = drain()
  await clock.run(() => false, GRACE_MS - 1)
  t.strictSame([silent.isDestroyed, lookedAt_ms()], [false, 0], 'its request may be on its way')
  const late = open(0)
  await until('the end of the grace', () => silent.isDestroyed)
  t.equal(clock.now_ms, GRACE_MS)
  t.equal(lookedAt_ms(), GRACE_MS, 'as for those that had requests earlier')
  t.strictSame([late.isDestroyed, busy.isDestroyed], [true, false])
  busy.destroy()
  t.match(await endOf(end), { isComplete: true, dropped: 0 })
})

t.test('a connection whose client has not read its answers yet stays open until it has', async (t) => {
  const { clock, server, sockets, drain, endOf } = start(t, 1)
  class Socket {
    bytesRead = 100
    isDestroyed = false
    /** @param {number} writableLength */
    constructor(writableLength) {
      this.writableLength = writableLength
      server._connections++
      sockets.add(this)
    }

    destroy() {
      this.isDestroyed = true
      sockets.delete(this)
      server._connections--
      server._emitCloseIfDrained()
    }
  }
  // Node's server knows nothing of what is unsent.
  server.closeIdleConnections = () => {
    for (const socket of [...sockets]) socket.destroy()
  }
  const [slow, idle] = [new Socket(9000), new Socket(0)]
  const end = drain()
  await clock.run(() => false, GRACE_MS + 10)
  t.strictSame([slow.isDestroyed, idle.isDestroyed], [false, true])
  slow.writableLength = 0
  t.match(await endOf(end), { isComplete: true, dropped: 0, after_ms: 2 * GRACE_MS })
  t.equal(slow.isDestroyed, true)
})

t.test('a request without an answer at the timeout is dropped and counted', async (t) => {
  const { open, post, drain, endOf, postgres, until } = start(t, 50_000)
  open(100)
  const answers = post()
  await until('its statement', () => postgres.units.length === 1)
  t.strictSame(await endOf(drain()), { isComplete: false, dropped: 1, waitedFor: 'clients', after_ms: TIMEOUT_MS })
  t.strictSame(answers, [])
})

t.test('a connection whose request never arrives ends the drain at the timeout, and drops nothing', async (t) => {
  const { open, drain, endOf } = start(t, 1)
  open(20)
  t.strictSame(await endOf(drain()), { isComplete: false, dropped: 0, waitedFor: 'clients', after_ms: TIMEOUT_MS })
})

t.test('a database that gives no answer ends the drain at the timeout, and is named', async (t) => {
  const { post, drain, endOf, postgres, service, until } = start(t, 1)
  const answers = post()
  await until('its answer', () => answers.length === 1)
  postgres.storm('silence')
  // A statement of no request.
  void service.pool.roundTrip().catch(() => {})
  t.strictSame(await endOf(drain()), { isComplete: false, dropped: 0, waitedFor: 'database', after_ms: TIMEOUT_MS })
})
