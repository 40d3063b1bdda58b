import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { DRIVERS } from '../../../load/drivers/index.js'
import { measuredOnly, summarise, threadsFor } from '../../../load/drivers/wrk.js'
import { createMix } from '../../../load/mix.js'
import { caught } from '../../support/caught.js'
import { loadOnce } from '../../support/load.js'
import { httpServer, refusingUrl, tcpServer } from '../../support/servers.js'
import { withoutDriver } from '../../support/skip.js'

const ENTRIES = [
  { name: 'create', method: 'POST', path: '/user', body: '{"email":"{{word}}-{{seq}}@redline.test"}', weight: 3 },
  { name: 'read', method: 'GET', path: '/user/{{int 1 1000}}?w={{word}}', body: '', weight: 6 },
  { name: 'umlaut', method: 'PUT', path: '/user/{{int -5 5}}', body: 'Grüße "\\" {{seq}}', weight: 1 },
]

/** Keeps what it is sent; answers 201 to POST, 404 to PUT, 200 to GET. @param {any} t */
async function countingServer(t) {
  /** @type {string[]} */
  const seen = []
  const url = await httpServer(t, async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString()
    seen.push(`${req.method} ${req.url} ${body}`)
    res.writeHead({ POST: 201, PUT: 404 }[String(req.method)] ?? 200, { 'Content-Length': 0 }).end()
  })
  return { url, seen }
}

/** The requests of the mix as the server should see them. @param {number} count */
function expected(count) {
  const plan = { name: 'mix', method: 'POST', headers: [], body_base64: null, seed: 1, entries: ENTRIES }
  const mix = createMix(plan, 1)
  const requests = Array.from({ length: count }, (_, i) => mix.request(i))
  const text = (/** @type {string | Buffer} */ body) => Buffer.from(String(body), 'latin1').toString()
  return new Set(requests.map(({ method, path, body }) => `${method} ${path} ${text(body)}`))
}

for (const driver of ['client', 'autocannon', 'wrk', 'locust']) {
  t.test(
    `${driver}: sends the requests of a weighted mix, each once, and counts what became of them`,
    {
      skip: withoutDriver(driver),
    },
    async (t) => {
      const { url, seen } = await countingServer(t)
      const traffic = await loadOnce(driver, url, { entries: ENTRIES, connections: 4, warmup_s: 0.3, duration_s: 0.6 })
      const known = expected(4 * seen.length)
      t.strictSame(
        seen.filter((text) => !known.has(text)),
        [],
        'what arrived is of the mix',
      )
      const unique = seen.filter((text) => text.startsWith('POST'))
      t.equal(new Set(unique).size, unique.length, 'and nothing twice, the warm-up included')
      const { status, sent, completed, planned, errors, latency_ms, by_entry } = traffic
      t.strictSame(errors, {})
      t.equal(status[201] + status[200] + status[404], completed, 'every answer has its status')
      t.ok(completed > 50)
      t.ok(completed < seen.length, 'the warm-up is not counted')
      t.equal(planned, completed)
      t.ok(sent >= completed && sent <= completed + 4, 'but for what the end cut off, what was sent was answered')
      t.ok(latency_ms.mean > 0 && latency_ms.min <= latency_ms.p50 && latency_ms.p50 <= latency_ms.max)
      for (const [code, share] of Object.entries({ 200: 0.6, 201: 0.3, 404: 0.1 })) {
        const off = Math.abs(status[code] / completed - share)
        t.ok(off < 5 * Math.sqrt((share * (1 - share)) / completed), `${code}: ${status[code]} of ${completed}`)
      }
      const seconds = traffic.per_second.reduce(
        (/** @type {number} */ sum, /** @type {any} */ one) => sum + one.completed,
        0,
      )
      t.equal(seconds, completed)
      if (driver === 'wrk') return t.notOk(by_entry, 'wrk does not tell which request an answer is to')
      t.match(by_entry, {
        create: { completed: status[201], ok: status[201] },
        read: { completed: status[200], ok: status[200] },
        umlaut: { completed: status[404], ok: 0, latency_ms: { p50: Number } },
      })
    },
  )
}

for (const driver of ['wrk', 'locust']) {
  const skip = withoutDriver(driver)

  t.test(`${driver}: an abort ends the load within a second, and leaves no process`, { skip }, async (t) => {
    let asked = () => {}
    const begun = new Promise((resolve) => {
      asked = () => resolve(null)
    })
    const url = await httpServer(t, (_req, res) => {
      asked()
      res.writeHead(201, { 'Content-Length': 0 }).end()
    })
    const folder = ownTemporaryFolder(t)
    const controller = new AbortController()
    const load = loadOnce(driver, url, { duration_s: 30, connections: 4, signal: controller.signal })
    load.catch(() => {})
    await begun
    t.not(childrenWith(folder).length, 0)
    const abortedAt_ms = performance.now()
    controller.abort(new Error('stopped by the test'))
    await t.rejects(load, { message: 'stopped by the test' })
    t.ok(performance.now() - abortedAt_ms < 1000)
    await eventually(() => childrenWith(folder).length === 0)
    t.strictSame(readdirSync(folder), [])
  })

  t.test(`${driver}: nobody listens: server:refused`, { skip }, async (t) => {
    const { errors, completed } = await loadOnce(driver, await refusingUrl(t), { duration_s: 0.3 })
    t.strictSame(Object.keys(errors), ['server:refused'])
    t.equal(completed, 0)
  })

  t.test(`${driver}: without it on PATH, names the command that installs it`, async (t) => {
    const script = `import('./load/drivers/index.js').then(({ DRIVERS }) => DRIVERS.${driver}.check({ url: 'http://a', method: 'GET' })).catch((error) => console.log(error.message))`
    const { stdout } = spawnSync(process.execPath, ['-e', script], { env: { PATH: '/nowhere' }, encoding: 'utf8' })
    t.match(stdout, { wrk: /apt-get install wrk/, locust: /pip install locust==2\.47\.0/ }[driver])
  })
}

t.test('locust: what a server does to it has a name', { skip: withoutDriver('locust') }, async (t) => {
  let connections = 0
  const url = await tcpServer(t, (socket) => {
    const resets = connections++ % 2 === 0
    socket.on('data', () => resets && socket.resetAndDestroy())
  })
  const { errors, sent, planned, latency_ms } = await loadOnce('locust', url, {
    duration_s: 0.3,
    timeout_s: 0.5,
    connections: 2,
  })
  t.strictSame(Object.keys(errors).sort(), ['client:timeout', 'server:reset'])
  t.equal(errors['client:timeout'] + errors['server:reset'], sent)
  t.equal(planned, sent)
  t.ok(latency_ms.max >= 490, 'the wait is a latency')
})

t.test('wrk: requests without an answer are errors', { skip: withoutDriver('wrk') }, async (t) => {
  const silent = await loadOnce('wrk', await httpServer(t, () => {}), { duration_s: 1, timeout_s: 0.5, connections: 2 })
  t.match(silent, { completed: 0, planned: 2, success_ratio: 0, errors: { 'client:timeout': 2 } })
  const closing = await tcpServer(t, (socket) => socket.on('data', () => socket.end()))
  const { errors, sent, planned } = await loadOnce('wrk', closing, { duration_s: 0.3, connections: 2 })
  t.strictSame(errors, { 'server:closed': planned })
  t.ok(planned > 0 && planned >= sent - 2)
})

t.test('wrk: what came after its timeout is no success', async (t) => {
  const nothing = { failed: null, threads: 2, numbers: 20, connect: 0, read: 0, write: 0, seconds: {} }
  const result = { ...nothing, sent: 10, requests: 10, duration_us: 1e6, timeout: 3 }
  const histogram = /** @type {[number, number][]} */ ([[1000, 7]])
  const load = { connections: 20, timeout_s: 1 }
  const traffic = summarise({ ...result, status: { 201: 10 }, histogram }, load)
  t.match(traffic, {
    status: { 201: 7 },
    completed: 7,
    goodput_rps: 7,
    success_ratio: 0.7,
    errors: { 'client:timeout': 3 },
  })
  t.equal(traffic.ok_latency_ms?.max, 1)
  t.equal(traffic.threads, 2)
  const mixed = summarise({ ...result, status: { 201: 2, 503: 8 }, histogram }, load)
  t.strictSame(mixed.status, { 503: 7 }, 'the successes are the first that are not counted')
})

t.test('locust: an abort while it starts leaves nothing behind', { skip: withoutDriver('locust') }, async (t) => {
  const url = await httpServer(t, () => {})
  const folder = ownTemporaryFolder(t)
  const controller = new AbortController()
  const load = loadOnce('locust', url, { duration_s: 30, connections: 2, signal: controller.signal })
  load.catch(() => {})
  await eventually(() => childrenWith(`${folder}/redline-locust-`).length > 0)
  controller.abort(new Error('stopped by the test'))
  await t.rejects(load, { message: 'stopped by the test' })
  await eventually(() => childrenWith(folder).length === 0)
  t.strictSame(readdirSync(folder), [])
})

t.test('drivers of one kind of request refuse a mix of several, and wrk what it cannot do safely', async (t) => {
  const asked = { url: 'http://127.0.0.1', method: 'POST', entries: ENTRIES }
  for (const driver of ['paced', 'vegeta']) {
    t.match(caught(() => DRIVERS[driver].check?.(asked)).message, /^--mix: expected a closed-loop --driver .*, got /)
  }
  const secure = caught(() => DRIVERS.wrk.check?.({ url: 'https://a', method: 'POST' }))
  t.match(secure.message, /does not check certificates/)
  const head = { ...asked, entries: [...ENTRIES, { method: 'HEAD' }] }
  for (const driver of ['wrk', 'autocannon'])
    t.match(caught(() => DRIVERS[driver].check?.(head)).message, /cannot do HEAD/)
})

t.test('wrk: the latencies it makes up are taken out again', async (t) => {
  const measured = /** @type {[number, number][]} */ ([
    [1, 5],
    [7, 3],
    [20, 2],
    [23, 1],
    [45, 4],
  ])
  for (const expected_us of [1, 3, 5, 10, 30]) {
    t.strictSame(measuredOnly(asWrkCorrects(measured, expected_us), expected_us), measured, `every ${expected_us} us`)
  }
})

t.test('wrk: every thread has the same number of connections, and none is left out', async (t) => {
  for (const [connections, cores, threads] of [
    [8, 2, 2],
    [7, 2, 1],
    [1, 4, 1],
    [9, 4, 3],
    [64, 6, 4],
  ]) {
    t.equal(threadsFor(connections, cores), threads, `${connections} connections on ${cores} cores`)
  }
})

/** What wrk does when its run is over. @param {[number, number][]} histogram @param {number} expected_us */
function asWrkCorrects(histogram, expected_us) {
  const most = Math.max(...histogram.map(([us]) => us))
  const data = Array.from({ length: most + 1 }, (_, us) => histogram.find(([one]) => one === us)?.[1] ?? 0)
  for (let us = 2 * expected_us; us <= most; us++) {
    for (let made = us - expected_us; data[us] > 0 && made > expected_us; made -= expected_us) data[made] += data[us]
  }
  return /** @type {[number, number][]} */ (data.map((count, us) => [us, count]).filter(([, count]) => count > 0))
}

/** So that the programs of this test are told from others by what they read. @param {any} t */
function ownTemporaryFolder(t) {
  const { TMPDIR } = process.env
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  })
  process.env.TMPDIR = t.testdir()
  return process.env.TMPDIR ?? ''
}

/** @param {string} text in the command line @returns {string[]} */
function childrenWith(text) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(text)
    } catch {
      return false
    }
  })
}

/** @param {() => boolean} holds */
async function eventually(holds) {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10))
}
