import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { DRIVERS } from '../../../load/drivers/index.js'
import { loadOnce } from '../../support/load.js'
import { created, httpServer, refusingUrl, tcpServer } from '../../support/servers.js'
import { without, withoutDriver } from '../../support/skip.js'

const DRIVE = fileURLToPath(new URL('../../support/drive.js', import.meta.url))
const ANSWER = 'HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n'

/** Outside programs that tell less of what they do have tests of their own. */
const OUTSIDE = ['wrk', 'locust']

/**
 * A test for every driver.
 *
 * @param {string} name
 * @param {(t: any, driver: string, loop: string) => Promise<void>} body
 */
function eachDriver(name, body) {
  for (const { name: driver, loop } of Object.values(DRIVERS).filter((one) => !OUTSIDE.includes(one.name))) {
    t.test(`${driver}: ${name}`, { skip: withoutDriver(driver) }, (t) => body(t, driver, loop))
  }
}

eachDriver('a server that takes 50 ms reads 50 ms', async (t, driver) => {
  const url = await httpServer(t, (req, res) => setTimeout(created, 50, req, res))
  const { latency_ms, success_ratio, status } = await loadOnce(driver, url)
  // Node's timers may be early by less than 1 ms.
  t.ok(latency_ms.min >= 49, `min ${latency_ms.min} ms is at least 50 ms, less the timer's error`)
  t.ok(latency_ms.p50 < 60, `p50 ${latency_ms.p50} ms is 50 ms and little more`)
  t.equal(success_ratio, 1)
  t.ok(status[201] > 0)
})

eachDriver('a stall of 1 s shows in the p99 of an open loop, and hides in a closed one', async (t, driver, loop) => {
  let stallUntil_ms = Number.POSITIVE_INFINITY
  const url = await httpServer(t, (req, res) => {
    if (stallUntil_ms === Number.POSITIVE_INFINITY) stallUntil_ms = performance.now() + 1000
    setTimeout(created, Math.max(0, stallUntil_ms - performance.now()), req, res)
  })
  const { latency_ms } = await loadOnce(driver, url, { duration_s: 3, rate_rps: 200, connections: 4 })
  if (loop === 'open') {
    t.ok(latency_ms.p99 > 800, `p99 ${latency_ms.p99} ms: the requests that were due in the stall waited`)
    t.ok(latency_ms.p75 > 100, `p75 ${latency_ms.p75} ms: a third of all`)
  } else {
    t.ok(latency_ms.p99 < 500, `p99 ${latency_ms.p99} ms: four connections sent nothing while they waited`)
    t.ok(latency_ms.max > 800, `max ${latency_ms.max} ms`)
  }
})

eachDriver('every request of a run is counted once, and its email is its own', async (t, driver, loop) => {
  /** @type {string[]} */
  const emails = []
  const url = await httpServer(t, async (req, res) => {
    const chunks = await req.toArray()
    emails.push(JSON.parse(Buffer.concat(chunks).toString()).email)
    res.writeHead(201, { 'Content-Length': 0 }).end()
  })
  const traffic = await loadOnce(driver, url, { duration_s: 1, rate_rps: 500 })
  t.equal(traffic.sent, emails.length, 'what was sent is what arrived')
  t.equal(traffic.completed, emails.length, 'and all of it was answered')
  t.equal(new Set(emails).size, emails.length, 'no email twice')
  if (loop === 'open') t.equal(traffic.sent, 500, 'the schedule is kept to the last request')
})

eachDriver('other answers are counted by status, and are no success', async (t, driver) => {
  let requests = 0
  const url = await httpServer(t, (req, res) => {
    req.resume()
    res.writeHead(requests++ % 2 === 0 ? 503 : 201, { 'Content-Length': 0 }).end()
  })
  const traffic = await loadOnce(driver, url, { rate_rps: 100 })
  const { status, goodput_rps, achieved_rps, completed } = traffic
  t.ok(Math.abs(status[503] - status[201]) <= 1)
  t.equal(status[503] + status[201], completed)
  t.ok(goodput_rps < achieved_rps)
  if (driver === 'client') {
    const bucketed = Object.values(traffic.buckets).reduce((sum, number) => sum + Number(number), 0)
    t.equal(bucketed, status[201], 'the latency of a refusal is no latency')
  }
})

eachDriver('nobody listens: server:refused', async (t, driver) => {
  const { errors, completed } = await loadOnce(driver, await refusingUrl(t), { duration_s: 0.3 })
  t.strictSame(Object.keys(errors), ['server:refused'])
  t.equal(completed, 0)
})

eachDriver('the server resets: server:reset', async (t, driver) => {
  const url = await tcpServer(t, (socket) => socket.on('data', () => socket.resetAndDestroy()))
  const { errors } = await loadOnce(driver, url, { duration_s: 0.3 })
  t.ok(errors['server:reset'] > 0, JSON.stringify(errors))
  t.notOk(Object.keys(errors).some((key) => /^(client|unknown):/.test(key)))
})

eachDriver('the server closes without an answer: server:closed', async (t, driver) => {
  const url = await tcpServer(t, (socket) => socket.on('data', () => socket.end()))
  const { errors } = await loadOnce(driver, url, { duration_s: 0.3 })
  t.ok(errors['server:closed'] > 0, JSON.stringify(errors))
})

eachDriver('the server closes a connection that had served: server:closed-idle', async (t, driver) => {
  const url = await tcpServer(t, (socket) => {
    let requests = 0
    socket.on('data', () => (requests++ === 0 ? socket.write(ANSWER) : socket.end()))
  })
  // POST is not sent again by Go's client on its own, so that the error comes to light.
  const { errors, status } = await loadOnce(driver, url, { duration_s: 0.5, connections: 1 })
  t.ok(status[201] > 0)
  t.ok(errors['server:closed-idle'] > 0 || errors['server:closed'] > 0, JSON.stringify(errors))
  if (driver !== 'vegeta') t.ok(errors['server:closed-idle'] > 0, JSON.stringify(errors))
})

eachDriver('no answer within the timeout: client:timeout, with the wait in the latencies', async (t, driver) => {
  const url = await httpServer(t, () => {})
  const { errors, latency_ms } = await loadOnce(driver, url, {
    duration_s: 0.5,
    timeout_s: 1,
    connections: 4,
    rate_rps: 8,
  })
  t.ok(errors['client:timeout'] > 0, JSON.stringify(errors))
  t.ok(latency_ms.max >= 990, `max ${latency_ms.max} ms`)
})

eachDriver('the generator has no descriptor left: client:nofile', async (t, driver) => {
  if (without('prlimit', '--version')) return t.skip('needs prlimit (util-linux)')
  const url = await httpServer(t, (req, res) => setTimeout(created, 500, req, res))
  const limits = ['prlimit', '--nofile=60:60', process.execPath, DRIVE]
  const { errors } = await drive([...limits, driver, url], { connections: 100, rate_rps: 200 })
  t.ok(errors['client:nofile'] > 0, JSON.stringify(errors))
  t.notOk(Object.keys(errors).some((key) => /^(server|unknown):/.test(key)))
})

eachDriver('the generator has no port left: client:ports', async (t, driver) => {
  const reason = without('unshare', '-rn', 'ip', 'link', 'set', 'lo', 'up')
  if (reason) return t.skip(reason)
  const script = 'ip link set lo up; echo 50000 50009 > /proc/sys/net/ipv4/ip_local_port_range; exec "$0" "$@"'
  const inside = ['unshare', '-rn', 'sh', '-c', script, process.execPath, DRIVE]
  const { errors, status } = await drive([...inside, driver, 'here'], { connections: 40, rate_rps: 400 })
  t.ok(errors['client:ports'] > 0, JSON.stringify(errors))
  t.notOk(Object.keys(errors).some((key) => /^unknown:/.test(key)))
  t.ok(status[201] > 0, 'the connections that had a port went on')
})

eachDriver('an abort ends the load within a second', async (t, driver) => {
  const url = await httpServer(t, created)
  const controller = new AbortController()
  const load = loadOnce(driver, url, { duration_s: 30, signal: controller.signal })
  setTimeout(() => controller.abort(new Error('stopped by the test')), 500)
  const abortedAt_ms = performance.now() + 500
  await t.rejects(load, { message: 'stopped by the test' })
  t.ok(performance.now() - abortedAt_ms < 1000)
})

t.test(
  'paced: HEAD, chunked answers, 100 Continue and answers that end with the connection are understood',
  async (t) => {
    const answers = {
      chunked: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      continued: `HTTP/1.1 100 Continue\r\n\r\n${ANSWER}`,
      split: ANSWER,
    }
    for (const [name, answer] of Object.entries(answers)) {
      const url = await tcpServer(t, (socket) => {
        socket.on('data', () => {
          socket.write(answer.slice(0, 11))
          setImmediate(() => socket.write(answer.slice(11)))
        })
      })
      t.match(
        await loadOnce('paced', url, { rate_rps: 50, duration_s: 0.4 }),
        { success_ratio: 1, errors: {}, completed: 20 },
        name,
      )
    }
    const closing = await tcpServer(t, (socket) => {
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end'))
    })
    t.match(
      await loadOnce('paced', closing, { rate_rps: 50 }),
      { success_ratio: 1, completed: 50 },
      'ends with the connection',
    )
    const url = await httpServer(t, (_req, res) => res.writeHead(200, { 'Content-Length': 99 }).end())
    t.match(
      await loadOnce('paced', url, { rate_rps: 50, duration_s: 0.4, method: 'HEAD' }),
      { success_ratio: 1, completed: 20 },
      'HEAD',
    )
  },
)

eachDriver('a server that closes after every answer is asked again, and blamed for nothing', async (t, driver) => {
  const url = await httpServer(t, (req, res) => {
    req.resume()
    res.writeHead(201, { Connection: 'close', 'Content-Length': 0 }).end()
  })
  const { errors, status, sent } = await loadOnce(driver, url, { rate_rps: 50, connections: 2, duration_s: 0.5 })
  t.strictSame(errors, {})
  t.equal(sent, status[201])
  t.ok(sent >= 20)
})

t.test('paced: a server that takes connections and never shakes hands is timed out', async (t) => {
  const url = (await tcpServer(t, () => {})).replace('http:', 'https:')
  const { errors } = await loadOnce('paced', url, { rate_rps: 10, connections: 2, duration_s: 0.3, timeout_s: 0.5 })
  t.ok(errors['client:timeout'] > 0, JSON.stringify(errors))
})

t.test('paced: an answer that is no HTTP is the server’s error', async (t) => {
  const url = await tcpServer(t, (socket) => socket.on('data', () => socket.write('SSH-2.0-nonsense\r\n\r\n')))
  const { errors } = await loadOnce('paced', url, { rate_rps: 20 })
  t.strictSame(errors, { 'server:protocol': 20 })
})

t.test('paced: what no connection was free for within the timeout was never sent', async (t) => {
  const url = await httpServer(t, () => {})
  const traffic = await loadOnce('paced', url, { connections: 1, rate_rps: 20, duration_s: 0.5, timeout_s: 1 })
  t.equal(traffic.sent + (traffic.errors['client:unsent'] ?? 0), 10)
  t.ok(traffic.errors['client:unsent'] > 0)
})

t.test('autocannon: refuses https, whose certificates it would not check, and HEAD', async (t) => {
  t.throws(() => DRIVERS.autocannon.check?.({ url: 'https://localhost', method: 'POST' }), {
    message: /does not check certificates/,
  })
  t.throws(() => DRIVERS.autocannon.check?.({ url: 'http://localhost', method: 'HEAD' }), { message: /cannot do HEAD/ })
})

/** @param {string[]} command @param {object} options */
async function drive([program, ...args], options) {
  const child = spawn(program, [...args, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  return JSON.parse(Buffer.concat(await child.stdout.toArray()).toString())
}
