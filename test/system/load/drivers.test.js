import t from 'tap'
import { Connection } from '../../../load/generators/drivers/connection.js'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { loadHere } from '../../support/load.js'
import { countingServer, ENTRIES, requestsOf, total } from '../../support/mixed.js'
import { created, httpServer, refusingUrl, slowServer, tcpServer } from '../../support/servers.js'
import { watchStalls, whileCalm } from '../../support/stalls.js'
import { until } from '../../support/until.js'

const ANSWER = 'HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n'

/** Of a server whose closed loop has to go round, but not as often as it can. */
const WORK_MS = 20

/** The drivers that Node runs, in this process; those that are programs have tests in test/lab. */
const DRIVEN = ['paced', 'workers', 'client', 'autocannon']

// Most of them wait.
t.jobs = DRIVEN.length

/** @param {string} name @param {(t: any, driver: string, loop: string) => Promise<void>} body */
function eachDriver(name, body) {
  for (const driver of DRIVEN) {
    t.test(`${driver}: ${name}`, { buffered: true }, (t) => body(t, driver, DRIVERS[driver].loop))
  }
}

eachDriver(
  'a latency is the time that the server took, and no connection was busy for longer than the run',
  async (t, driver, loop) => {
    const { url, taken_ms } = await slowServer(t, 50)
    let start_ms = 0
    const begins = () => {
      start_ms = performance.now()
      taken_ms.length = 0
    }
    const load = { duration_s: 0.3, connections: 4, rate_rps: 20, begins, isEnough: () => taken_ms.length >= 4 }
    const traffic = await loadHere(driver, url, load)
    const elapsed_ms = performance.now() - start_ms
    const { latency_ms, completed } = traffic
    t.ok(completed >= 4, `${completed} answers`)
    t.strictSame(traffic.status, { 201: taken_ms.length })
    t.ok(latency_ms.min >= Math.min(...taken_ms) - ROUNDING_MS, `${latency_ms.min} ms`)
    t.ok(latency_ms.mean >= mean(taken_ms) - ROUNDING_MS, `${latency_ms.mean} ms, the server took ${mean(taken_ms)} ms`)
    if (loop === 'closed') t.ok(latency_ms.mean * completed <= 4 * elapsed_ms, 'one request per connection at a time')
    else t.ok(latency_ms.max <= elapsed_ms, `${latency_ms.max} ms`)
  },
)

/** Latencies have three digits. */
const ROUNDING_MS = 0.002

eachDriver(
  'an open loop counts the wait behind a stall, a closed one sends nothing in the meantime',
  async (t, driver, loop) => {
    let stalling = true
    let arrived = 0
    /** @type {(() => void)[]} */
    const held = []
    const url = await httpServer(t, (req, res) => {
      if (!stalling) return created(req, res)
      held.push(() => created(req, res))
      // Its requests arrive one by one in an open loop, and a stalled test must not end the stall before it has read them.
      if (held.length !== 4) return
      setTimeout(() => {
        stalling = false
        arrived = held.length
        for (const answer of held) answer()
      }, 400)
    })
    const { latency_ms } = await loadHere(driver, url, { duration_s: 0.8, rate_rps: 100, connections: 4 })
    t.equal(arrived, 4, 'as many as there are connections')
    t.ok(latency_ms.max >= 399, `max ${latency_ms.max} ms`)
    // Of 80 requests 40 were due in the stall, one every 10 ms: the 21st is the 60th from below.
    if (loop === 'open') t.ok(latency_ms.p75 >= 199, `p75 ${latency_ms.p75} ms`)
  },
)

eachDriver(
  'a new connection for each request loses none to a server that closes without saying so',
  async (t, driver) => {
    let connections = 0
    let answered = 0
    const url = await tcpServer(t, (socket) => {
      connections++
      socket.once('data', () => {
        answered++
        socket.write(ANSWER)
        setTimeout(() => socket.end(), 5)
      })
    })
    const begins = () => {
      answered = 0
      connections = 0
    }
    const phase = { begins, isEnough: () => answered >= 10 }
    const load = { duration_s: 0.4, rate_rps: 100, connections: 2, fresh_connections: true, ...phase }
    const { sent, completed, errors, status } = await loadHere(driver, url, load)
    t.strictSame(errors, {})
    t.ok(completed >= 10, `${completed} answers`)
    t.strictSame([sent, status], [completed, { 201: completed }])
    t.ok(connections >= completed, `${connections} connections`)
  },
)

eachDriver('every request of a run is counted once, and its email is its own', async (t, driver, loop) => {
  /** @type {string[]} */
  const emails = []
  const url = await httpServer(t, async (req, res) => {
    emails.push(JSON.parse((await req.toArray()).join('')).email)
    res.writeHead(201, { 'Content-Length': 0 }).end()
  })
  const traffic = await loadHere(driver, url, { duration_s: 0.1, rate_rps: 1000 })
  t.ok(emails.length > 0)
  t.strictSame([traffic.planned, traffic.sent, traffic.completed], Array(3).fill(emails.length))
  t.equal(new Set(emails).size, emails.length, 'no email twice')
  t.strictSame(traffic.errors, {})
  if (loop === 'open') t.equal(traffic.sent, 100, 'the schedule is kept to the last request')
})

eachDriver('other answers are counted by status, and are no success', async (t, driver) => {
  const seen = { 201: 0, 503: 0 }
  const url = await httpServer(t, (req, res) => {
    req.resume()
    const status = seen[503] === seen[201] ? 503 : 201
    seen[status]++
    res.writeHead(status, { 'Content-Length': 0 }).end()
  })
  const traffic = await loadHere(driver, url, { rate_rps: 200, duration_s: 0.1 })
  t.ok(seen[201] > 0)
  t.strictSame(traffic.status, seen)
  t.equal(traffic.success_ratio, seen[201] / (seen[201] + seen[503]))
  t.ok(traffic.goodput_rps < traffic.achieved_rps)
  if (driver === 'client') t.equal(total(traffic.buckets), seen[201], 'the latency of a refusal is no latency')
})

eachDriver('nobody listens: server:refused', async (t, driver) => {
  const { errors, planned, completed } = await loadHere(driver, await refusingUrl(t), { duration_s: 0.1 })
  t.strictSame(errors, { 'server:refused': planned })
  t.ok(planned > 0)
  t.equal(completed, 0)
})

eachDriver('the server resets: server:reset', async (t, driver) => {
  const url = await tcpServer(t, (socket) => socket.on('data', () => socket.resetAndDestroy()))
  const { errors, planned, completed } = await loadHere(driver, url, { duration_s: 0.1 })
  t.strictSame([errors, completed], [{ 'server:reset': planned }, 0])
  t.ok(planned > 0)
})

eachDriver('the server closes without an answer: server:closed', async (t, driver) => {
  const url = await tcpServer(t, (socket) => socket.on('data', () => socket.end()))
  const { errors, planned, completed } = await loadHere(driver, url, { duration_s: 0.1 })
  t.strictSame([errors, completed], [{ 'server:closed': planned }, 0])
  t.ok(planned > 0)
})

eachDriver('the server closes a connection that had served: server:closed-idle', async (t, driver) => {
  let [answered, closed] = [0, 0]
  const url = await tcpServer(t, (socket) => {
    let requests = 0
    socket.on('data', () => {
      if (requests++ > 0) {
        closed++
        return socket.end()
      }
      answered++
      setTimeout(() => socket.write(ANSWER), WORK_MS)
    })
  })
  const load = {
    ...{ rate_rps: 20, connections: 1, duration_s: 0.6 },
    begins: () => {
      answered = 0
      closed = 0
    },
    isEnough: () => answered > 0 && closed > 0,
  }
  // An end that comes a second later is no race.
  const { errors, status, planned } = await whileCalm(t, 1000, () => loadHere(driver, url, load))
  t.strictSame(Object.keys(errors), ['server:closed-idle'])
  t.strictSame(status, { 201: answered })
  t.equal(answered + errors['server:closed-idle'], planned)
})

eachDriver('no answer within the timeout: client:timeout, with the wait in the latencies', async (t, driver) => {
  const url = await httpServer(t, () => {})
  const stalled_ms = watchStalls(t)
  const options = { duration_s: 0.5, timeout_s: 1, connections: 4, rate_rps: 8, begins: () => void stalled_ms() }
  const { errors, lateness_ms, latency_ms, planned, sent } = await loadHere(driver, url, options)
  t.strictSame(errorsOfSent(errors, lateness_ms, 1000), { 'client:timeout': sent })
  t.strictSame([planned, total(errors)], [4, 4])
  // A timer counts from the beginning of its turn of the event loop, and a latency from a later one, in which the connection is open.
  const turn_ms = stalled_ms()
  t.ok(latency_ms.min >= 1000 - 3 * turn_ms, `min ${latency_ms.min} ms, turns of up to ${turn_ms} ms`)
})

/**
 * The errors of what was sent. A generator that stands still for as long as the timeout does not send what was due meanwhile; any other
 * sends it.
 * @param {Record<string, number>} errors @param {{ max: number } | null} lateness_ms @param {number} timeout_ms
 */
function errorsOfSent(errors, lateness_ms, timeout_ms) {
  const { 'client:unsent': _, ...others } = errors
  // Both are rounded.
  return Number(lateness_ms?.max) > timeout_ms - 1 ? others : errors
}

eachDriver('a body that trickles without an end: client:timeout', async (t, driver) => {
  const url = await httpServer(t, (_req, res) => {
    res.writeHead(201, { 'Content-Length': 1e9 })
    const trickling = setInterval(() => res.write('x'), 20)
    res.on('close', () => clearInterval(trickling))
  })
  const options = { duration_s: 0.3, timeout_s: 0.5, connections: 2, rate_rps: 4 }
  const { errors, lateness_ms, status, planned, sent } = await loadHere(driver, url, options)
  t.strictSame(status, {})
  t.strictSame(errorsOfSent(errors, lateness_ms, 500), { 'client:timeout': sent })
  t.equal(total(errors), planned)
  t.ok(sent > 0)
})

eachDriver('a response that is cut off: no success, whatever its status', async (t, driver) => {
  const url = await tcpServer(t, (socket) => {
    socket.once('data', () => socket.end(`${ANSWER.replace(': 0', ': 5')}ab`))
  })
  const { errors, status, planned } = await loadHere(driver, url, { duration_s: 0.1 })
  t.strictSame(status, {})
  t.strictSame(errors, { 'server:closed': planned })
  t.ok(planned > 0)
})

eachDriver('a server that closes after every answer is asked again, and blamed for nothing', async (t, driver) => {
  let arrived = 0
  const url = await httpServer(t, (req, res) => {
    req.resume()
    arrived++
    setTimeout(() => res.writeHead(201, { Connection: 'close', 'Content-Length': 0 }).end(), WORK_MS)
  })
  const { errors, status, sent, closings } = await loadHere(driver, url, {
    ...{ rate_rps: 20, connections: 2, duration_s: 0.6 },
    begins: () => {
      arrived = 0
    },
    isEnough: () => arrived > 2,
  })
  t.strictSame(errors, {})
  if (driver === 'paced') t.equal(closings, sent, 'its closings are counted')
  t.strictSame(status, { 201: sent })
  t.ok(sent > 2, `${sent} requests`)
})

eachDriver('an abort ends the load with its reason', async (t, driver) => {
  let arrived = 0
  const url = await httpServer(t, (req, res) => {
    arrived++
    created(req, res)
  })
  const controller = new AbortController()
  const load = loadHere(driver, url, { duration_s: 3600, signal: controller.signal })
  const failed = t.rejects(load, { message: 'stopped by the test' })
  await until('a request', () => arrived > 0)
  controller.abort(new Error('stopped by the test'))
  await failed
})

for (const driver of DRIVEN) {
  t.test(`${driver}: sends the requests of a weighted mix, each once, and counts what became of them`, async (t) => {
    const { url, seen } = await countingServer(t)
    let warm = 0
    const count = (/** @type {string} */ method) => seen.slice(warm).filter((text) => text.startsWith(method)).length
    const traffic = await loadHere(driver, url, {
      ...{ entries: ENTRIES, connections: 4, rate_rps: 300, warmup_s: 0.1, duration_s: 0.2 },
      begins: () => {
        warm = seen.length
      },
      isEnough: () => ['GET', 'POST', 'PUT'].every((method) => count(method) > 0),
    })
    const known = requestsOf(ENTRIES, seen.length)
    const strays = seen.filter((text) => !known.has(text))
    t.ok(seen.length > 0)
    t.strictSame(strays, [], 'what arrived is of the mix')
    const unique = seen.filter((text) => text.startsWith('POST'))
    t.equal(new Set(unique).size, unique.length, 'and nothing twice, the warm-up included')
    const measured = seen.slice(warm)
    t.ok(warm > 0, 'there was a warm-up')
    const { planned, sent, completed, status, errors, by_entry, per_second } = traffic
    t.strictSame([planned, sent, completed, errors], [...Array(3).fill(measured.length), {}])
    t.strictSame(status, { 200: count('GET'), 201: count('POST'), 404: count('PUT') })
    t.match(by_entry, {
      create: { completed: status[201], ok: status[201] },
      read: { completed: status[200], ok: status[200] },
      umlaut: { completed: status[404], ok: 0, latency_ms: { p50: Number } },
    })
    t.equal(total(per_second.map((/** @type {any} */ second) => second.completed)), completed)
  })
}

for (const driver of DRIVEN) {
  t.test(`${driver}: an error counts for the entry whose request it met`, async (t) => {
    let cut = 0
    const url = await httpServer(t, (req, res) => {
      if (req.method !== 'PUT') return void req.resume().on('end', () => res.writeHead(201).end('x'))
      cut++
      req.socket.destroy()
    })
    const load = { entries: ENTRIES, connections: 4, rate_rps: 300, duration_s: 0.2, isEnough: () => cut > 0 }
    const { errors, by_entry } = await loadHere(driver, url, load)
    t.ok(by_entry.umlaut.failed > 0, JSON.stringify(errors))
    t.equal(by_entry.umlaut.failed, total(Object.values(errors)))
  })
}

t.test('workers: each connection sends at most at its rate', async (t) => {
  const [per_worker_rps, duration_s, connections] = [50, 0.4, 3]
  /** @type {Map<unknown, number>} */
  const requests = new Map()
  const url = await httpServer(t, (req, res) => {
    requests.set(req.socket, (requests.get(req.socket) ?? 0) + 1)
    created(req, res)
  })
  const { completed } = await loadHere('workers', url, {
    ...{ connections, duration_s, origin: { per_worker_rps } },
    begins: () => requests.clear(),
    isEnough: () => requests.size === connections && Math.min(...requests.values()) > 2,
  })
  t.equal(total([...requests.values()]), completed)
  for (const count of requests.values()) t.ok(count <= 1 + per_worker_rps * duration_s, `${count} requests`)
})

for (const driver of ['client', 'workers', 'paced']) {
  t.test(
    `${driver}: what a response gives is sent in later requests, and a success without it is an error`,
    async (t) => {
      /** @type {string[]} */
      const wrong = []
      let [ids, reads] = [0, 0]
      let gives = true
      const url = await httpServer(t, async (req, res) => {
        const body = Buffer.concat(await req.toArray()).toString()
        const answer = (/** @type {number} */ status, /** @type {object} */ content) => {
          res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(content))
        }
        if (req.method === 'POST') return answer(201, gives ? { user: { id: ++ids, note: 'ä"' } } : {})
        reads++
        const isKnown = Number(req.url?.slice(3)) >= 1 && Number(req.url?.slice(3)) <= ids
        if (!isKnown || req.headers['x-note'] !== 'Ã¤"' || body !== '["ä\\""]')
          wrong.push(`${req.url} ${req.headers['x-note']} ${body}`)
        answer(200, {})
      })
      const entries = [
        {
          name: 'create',
          method: 'POST',
          path: '/u',
          body: '{}',
          weight: 1,
          take: { id: '/user/id', note: '/user/note' },
        },
        {
          ...{ name: 'read', method: 'PUT', path: '/u={{taken id}}', body: '["{{taken note}}"]', weight: 9 },
          headers: { 'X-Note': '{{taken note}}' },
        },
      ]
      const load = { entries, connections: 4, rate_rps: 300, duration_s: 0.2 }
      const { errors, by_entry } = await loadHere(driver, url, { ...load, isEnough: () => reads > 0 })
      t.strictSame(errors, {})
      t.strictSame(wrong, [])
      t.ok(ids > 0 && by_entry.read.ok > 0, JSON.stringify(by_entry))
      gives = false
      const { planned, errors: none, by_entry: without } = await loadHere(driver, url, load)
      t.strictSame([none, without.read.completed], [{ 'server:no-value': planned }, 0], 'what nobody gave, nobody sent')
      t.equal(without.create.failed, planned)
    },
  )
}

t.test(
  'paced: HEAD, chunked answers, 100 Continue and answers that end with the connection are understood',
  async (t) => {
    const answers = {
      chunked: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
      continued: `HTTP/1.1 100 Continue\r\n\r\n${ANSWER}`,
      split: ANSWER,
    }
    const load = { rate_rps: 50, duration_s: 0.2 }
    const outcome = async (/** @type {string} */ url, method = 'POST') => {
      const { status, errors } = await loadHere('paced', url, { ...load, method })
      return { status, errors }
    }
    for (const [name, answer] of Object.entries(answers)) {
      const url = await tcpServer(t, (socket) => {
        socket.on('data', () => {
          socket.write(answer.slice(0, 11))
          setImmediate(() => socket.write(answer.slice(11)))
        })
      })
      t.strictSame(await outcome(url), { status: { [name === 'chunked' ? 200 : 201]: 10 }, errors: {} }, name)
    }
    const closing = await tcpServer(t, (socket) => {
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nuntil the end'))
    })
    t.strictSame(await outcome(closing), { status: { 200: 10 }, errors: {} }, 'ends with the connection')
    const url = await httpServer(t, (_req, res) => res.writeHead(200, { 'Content-Length': 99 }).end())
    t.strictSame(await outcome(url, 'HEAD'), { status: { 200: 10 }, errors: {} }, 'HEAD')
  },
)

t.test('client: the size of a success is counted, that of its body and of everything that arrived', async (t) => {
  const answers = [
    'HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"id":1}\r\n0\r\n\r\n',
    'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 30\r\n\r\nthe size of a refusal is no si',
  ]
  let answered = 0
  const url = await tcpServer(t, (socket) => {
    socket.on('data', () => socket.write(answers[answered++ % answers.length]))
  })
  const begins = () => {
    answered = 0
  }
  const load = { connections: 1, duration_s: 0.2, begins, isEnough: () => answered > 4 }
  const { status, errors, ok_body_bytes, ok_response_bytes } = await loadHere('client', url, load)
  t.strictSame(errors, {})
  t.ok(status[201] > 1 && status[503] > 0, JSON.stringify(status))
  const endsOf = (/** @type {any} */ { min, p50, max }) => [min, p50, max]
  t.strictSame(endsOf(ok_body_bytes), Array(3).fill(8))
  t.strictSame(endsOf(ok_response_bytes), Array(3).fill(answers[0].length), 'on a connection that is used again, too')
})

t.test('paced: a server that takes connections and never shakes hands is timed out', async (t) => {
  const url = (await tcpServer(t, () => {})).replace('http:', 'https:')
  const { errors } = await loadHere('paced', url, { rate_rps: 10, connections: 2, duration_s: 0.3, timeout_s: 0.5 })
  t.strictSame(
    Object.keys(errors).filter((key) => key !== 'client:unsent'),
    ['client:timeout'],
  )
  t.equal(total(errors), 3)
})

t.test('a connection counts how often its server closed it, also while it was idle', async (t) => {
  const url = new URL(await tcpServer(t, (socket) => void socket.once('data', () => socket.end(ANSWER))))
  const connection = new Connection({ host: url.hostname, port: Number(url.port), secure: false })
  t.teardown(() => connection.destroy())
  for (const closings of [1, 2]) {
    await new Promise((resolve) => connection.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n', '', resolve))
    await until('the end of the connection', () => connection.closings >= closings)
    t.equal(connection.closings, closings)
  }
})

t.test('paced: connections on demand leave a server free that serves one at a time, until it ends', async (t) => {
  /** @type {import('node:net').Socket[]} */
  const waiting = []
  let isBusy = false
  function serveNext() {
    const socket = isBusy ? undefined : waiting.shift()
    if (!socket) return
    isBusy = true
    socket.once('data', () => socket.end('HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'))
    socket.once('close', () => {
      isBusy = false
      serveNext()
    })
  }
  const url = await tcpServer(t, (socket) => {
    waiting.push(socket)
    serveNext()
  })
  const load = { rate_rps: 50, connections: 16, duration_s: 0.2 }
  const { status, errors } = await loadHere('paced', url, { ...load, origin: { on_demand: true } })
  t.strictSame({ status, errors }, { status: { 201: 10 }, errors: {} })
  const ahead = await loadHere('paced', url, { ...load, timeout_s: 0.3 })
  t.ok(ahead.errors['client:timeout'] > 0, 'ahead, it waits for a request on one that stays idle')
})

t.test('paced: an answer that is no HTTP is the server’s error', async (t) => {
  const url = await tcpServer(t, (socket) => socket.on('data', () => socket.write('SSH-2.0-nonsense\r\n\r\n')))
  const { errors } = await loadHere('paced', url, { rate_rps: 50, duration_s: 0.2 })
  t.strictSame(errors, { 'server:protocol': 10 })
})

/** @param {number[]} values */
function mean(values) {
  return total(values) / values.length
}

t.test('without its program on PATH, a driver names the command that installs it', async (t) => {
  const { PATH } = process.env
  t.teardown(() => {
    process.env.PATH = PATH
  })
  process.env.PATH = '/nowhere'
  for (const [driver, message] of Object.entries({
    wrk: /apt-get install wrk/,
    locust: /pip install locust==2\.47\.0/,
  })) {
    t.throws(() => DRIVERS[driver].check?.({ url: 'http://a', method: 'GET' }), { message })
  }
})
