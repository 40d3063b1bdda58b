import t from 'tap'
import { ENDLESS, sendEndless } from '../../support/hostile.js'
import { loadOnce } from '../../support/load.js'
import { total } from '../../support/mixed.js'
import { created, httpServer, refusingUrl, slowServer, tcpServer } from '../../support/servers.js'
import { withoutDriver } from '../../support/skip.js'

/** What servers do to drivers that are programs of their own; test/system has the same for those that Node runs. */
const ANSWER = 'HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n'

/** @param {string} driver @param {string} name @param {(t: any) => Promise<void>} body */
function testOf(driver, name, body) {
  t.test(`${driver}: ${name}`, { skip: withoutDriver(driver) }, body)
}

for (const driver of ['vegeta', 'wrk', 'locust']) {
  testOf(driver, 'nobody listens: server:refused', async (t) => {
    const { errors, planned, completed } = await loadOnce(driver, await refusingUrl(t), { duration_s: 0.3 })
    t.strictSame(errors, { 'server:refused': planned })
    t.ok(planned > 0)
    t.equal(completed, 0)
  })

  testOf(driver, 'a latency is the time that the server took', async (t) => {
    const { url, taken_ms } = await slowServer(t, 50)
    const start_ms = performance.now()
    const { latency_ms, completed } = await loadOnce(driver, url, { duration_s: 0.5, connections: 4, rate_rps: 20 })
    const elapsed_ms = performance.now() - start_ms
    t.ok(completed > 0 && taken_ms.length >= completed, `${completed} answers to ${taken_ms.length} requests`)
    t.ok(
      latency_ms.min >= Math.min(...taken_ms) - ROUNDING_MS,
      `${latency_ms.min} ms, at least ${Math.min(...taken_ms)}`,
    )
    t.ok(latency_ms.max <= elapsed_ms, `${latency_ms.max} ms of ${elapsed_ms}`)
  })

  testOf(driver, 'endless responses: no success, and an end', async (t) => {
    const endless = {
      ...ENDLESS,
      body: (/** @type {string} */ line) => ({ first: `${line}\r\n`, again: 'x'.repeat(1000) }),
    }
    for (const [name, response] of Object.entries(endless)) {
      const url = await tcpServer(t, (socket) => {
        socket.once('data', () => sendEndless(socket, response('HTTP/1.1 201 Created\r\n')))
      })
      const load = {
        duration_s: 0.5,
        rate_rps: 20,
        connections: 2,
        timeout_s: 0.5,
        signal: AbortSignal.timeout(DEADLINE_MS),
      }
      const { success_ratio, errors } = await loadOnce(driver, url, load)
      t.equal(success_ratio, 0, name)
      const others = Object.keys(errors).filter((error) => !OF_THE_TARGET.includes(error))
      t.strictSame(others, [], name)
      t.ok(total(errors) > 0, name)
    }
  })

  testOf(driver, 'other answers are counted by status, and are no success', async (t) => {
    const seen = { 201: 0, 503: 0 }
    const url = await httpServer(t, (req, res) => {
      req.resume()
      const status = seen[503] === seen[201] ? 503 : 201
      seen[status]++
      res.writeHead(status, { 'Content-Length': 0 }).end()
    })
    const { status, completed, success_ratio } = await loadOnce(driver, url, { duration_s: 0.5, connections: 4 })
    t.strictSame(Object.keys(status), ['201', '503'])
    t.equal(total(status), completed)
    t.equal(success_ratio, status[201] / completed)
    const lost = total(seen) - completed
    t.ok(lost >= 0 && lost <= (driver === 'vegeta' ? 0 : 4), `${lost} that its end cut off`)
    t.ok(status[201] <= seen[201] && status[503] <= seen[503])
  })
}

/** A request that waits behind endless ones for its connection is not sent. */
const OF_THE_TARGET = ['server:protocol', 'server:closed', 'client:timeout', 'client:unsent']

/** Beyond it a load hangs. */
const DEADLINE_MS = 30_000

/** wrk and locust count whole microseconds and more. */
const ROUNDING_MS = 1

testOf('vegeta', 'the wait behind a stall counts from the time at which a request was due', async (t) => {
  let stallUntil_ms = Number.POSITIVE_INFINITY
  const url = await httpServer(t, (req, res) => {
    if (stallUntil_ms === Number.POSITIVE_INFINITY) stallUntil_ms = performance.now() + 400
    setTimeout(created, Math.max(0, stallUntil_ms - performance.now()), req, res)
  })
  const { latency_ms } = await loadOnce('vegeta', url, { duration_s: 0.8, rate_rps: 100, connections: 4 })
  t.ok(latency_ms.max >= 399, `max ${latency_ms.max} ms`)
  // Of 80 requests 40 were due in the stall, one every 10 ms: the 21st is the 60th from below.
  t.ok(latency_ms.p75 >= 199, `p75 ${latency_ms.p75} ms`)
})

testOf('vegeta', 'what a server does to it has a name', async (t) => {
  const load = { duration_s: 0.2, connections: 2, rate_rps: 50 }
  const resetting = await tcpServer(t, (socket) => socket.on('data', () => socket.resetAndDestroy()))
  t.strictSame((await loadOnce('vegeta', resetting, load)).errors, { 'server:reset': 10 })
  const closing = await tcpServer(t, (socket) => socket.on('data', () => socket.end()))
  t.strictSame((await loadOnce('vegeta', closing, load)).errors, { 'server:closed': 10 })
  const silent = await httpServer(t, () => {})
  const { errors, latency_ms } = await loadOnce('vegeta', silent, { ...load, connections: 10, timeout_s: 0.5 })
  t.strictSame(errors, { 'client:timeout': 10 })
  t.ok(latency_ms.min >= 499, `min ${latency_ms.min} ms`)
})

testOf(
  'vegeta',
  'a connection that had served and is closed is the server’s doing; one after each answer is none',
  async (t) => {
    const fickle = await tcpServer(t, (socket) => {
      let requests = 0
      socket.on('data', () => (requests++ === 0 ? socket.write(ANSWER) : socket.end()))
    })
    // Go's client does not send a POST again by itself, so that the error comes to light.
    const { errors, status, planned } = await loadOnce('vegeta', fickle, { duration_s: 0.5, connections: 1 })
    t.ok(status[201] > 0)
    const named = (errors['server:closed-idle'] ?? 0) + (errors['server:closed'] ?? 0)
    t.ok(named > 0)
    t.equal(named + status[201], planned)
    const closing = await httpServer(t, (req, res) => {
      req.resume()
      res.writeHead(201, { Connection: 'close', 'Content-Length': 0 }).end()
    })
    const closed = await loadOnce('vegeta', closing, { rate_rps: 50, connections: 2, duration_s: 0.5 })
    t.strictSame([closed.errors, closed.status], [{}, { 201: 25 }])
  },
)

testOf('wrk', 'requests without an answer are errors', async (t) => {
  const load = { duration_s: 1, timeout_s: 0.5, connections: 2 }
  const silent = await loadOnce('wrk', await httpServer(t, () => {}), load)
  const { completed, planned, success_ratio, errors } = silent
  t.strictSame(
    { completed, planned, success_ratio, errors },
    { completed: 0, planned: 2, success_ratio: 0, errors: { 'client:timeout': 2 } },
  )
  const closing = await tcpServer(t, (socket) => socket.on('data', () => socket.end()))
  const lost = await loadOnce('wrk', closing, { duration_s: 0.3, connections: 2 })
  t.strictSame(lost.errors, { 'server:closed': lost.planned })
  t.ok(lost.planned > 0 && lost.planned >= lost.sent - 2)
})

testOf('locust', 'what a server does to it has a name', async (t) => {
  let connections = 0
  const url = await tcpServer(t, (socket) => {
    const resets = connections++ % 2 === 0
    socket.on('data', () => resets && socket.resetAndDestroy())
  })
  const load = { duration_s: 0.3, timeout_s: 0.5, connections: 2 }
  const { errors, sent, planned, latency_ms } = await loadOnce('locust', url, load)
  t.strictSame(Object.keys(errors).sort(), ['client:timeout', 'server:reset'])
  t.equal(total(errors), sent)
  t.equal(planned, sent)
  t.ok(latency_ms.max >= 490, 'the wait is a latency')
})

for (const driver of ['vegeta', 'wrk', 'locust']) {
  testOf(driver, 'a response that is cut off is no success, whatever its status', async (t) => {
    const url = await tcpServer(t, (socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nab'))
    })
    const { errors, status, sent } = await loadOnce(driver, url, { duration_s: 0.3, rate_rps: 50, connections: 2 })
    t.ok(sent > 0)
    t.strictSame(status, {})
    const others = Object.keys(errors).filter((error) => !OF_THE_TARGET.includes(error))
    t.strictSame(others, [])
    t.ok(total(errors) > 0)
  })
}
