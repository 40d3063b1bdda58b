import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import { Readable } from 'node:stream'
import v8 from 'node:v8'
import vm from 'node:vm'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { watchApi } from '../../../load/probes/api.js'
import { coreShares, watchKernel } from '../../../load/probes/kernel.js'
import { parseMetrics, readMetrics } from '../../../load/probes/metrics.js'
import { watchPostgres } from '../../../load/probes/postgres.js'
import { familyCpu_s, watchProcess } from '../../../load/probes/process.js'
import { openDatabase } from '../../../sql/database.js'
import { blockTable, rows } from '../../support/database.js'
import { newServer } from '../../support/postgres.js'
import { httpServer, refusingUrl } from '../../support/servers.js'

const withoutProc = fs.existsSync('/proc/self/stat') ? false : 'this system has no /proc'
const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024))
const TRAFFIC = { sent: 10, completed: 10, lateness_ms: null }

t.test('a page in Prometheus’ format is read by name and by label', async (t) => {
  const text = [
    '# HELP answers_total Answers',
    'answers_total{status="201"} 5',
    'answers_total{status="503",limit="a \\"b\\" {c}\\n"} 2 1700000000',
    'up 1',
    'empty NaN',
    '',
    'not a metric',
  ].join('\n')
  const metrics = parseMetrics(text, ['answers_total', 'up', 'down', 'empty', 'not'])
  t.equal(metrics.sum('answers_total'), 7)
  t.strictSame(metrics.by('answers_total', 'status'), { 201: 5, 503: 2 })
  t.strictSame(metrics.by('answers_total', 'limit'), { '': 5, 'a "b" {c}\n': 2 })
  t.strictSame(metrics.labels('answers_total'), { status: '201' })
  for (const [name, value] of Object.entries({ up: 1, down: null, empty: null, not: null })) {
    t.equal(metrics.sum(name), value, name)
  }
})

t.test('values that cannot be, and lines that are malformed, count as absent', async (t) => {
  const values = ['NaN', '+Inf', '-Inf', '1e999', '-1', '', 'x', '0x', '1 x', '9'.repeat(400), '"1"', '1 2 3']
  for (const value of values) t.equal(parseMetrics(`a ${value}`, ['a']).sum('a'), null, value)
  const lines = [
    'a',
    'a{',
    'a{}',
    'a{b} 1',
    'a{b="} 1',
    'a{b="c" 1',
    'a{b="c"d="e"} 1',
    'a{="c"} 1',
    'a{b=c} 1',
    '{} 1',
  ]
  for (const line of lines) t.equal(parseMetrics(line, ['a', '']).sum('a'), null, line)
  t.equal(parseMetrics('a{b="1"} 1\na{b="1"} 3\na{b="2"} 4', ['a']).sum('a'), 7, 'of two lines for one series the last')
  t.equal(parseMetrics('a{b="1"} 1e308\na{b="2"} 1e308', ['a']).sum('a'), null, 'a sum that is not finite')
  t.equal(parseMetrics('a{} 1\r\nb{c="d",} 2', ['a', 'b']).sum('b'), 2, 'a comma behind the last label')
})

t.test('a hostile page of 4 MB is parsed in linear time', async (t) => {
  const times = (/** @type {string} */ part) => part.repeat((4 * 1024 * 1024) / part.length)
  const pages = ['a', '{', '"', 'a{', 'a{b="', 'a{b="\\', 'a{b="c",', 'a 1\n', 'a{b="1"} ', '\n', 'b 1\n', ' ', 'a{b']
  for (const page of pages.flatMap((part) => [times(part), `a{${times(part)}`, `a{b="${times(part)}"} 1`])) {
    const started_ms = performance.now()
    try {
      parseMetrics(page, ['a'])
    } catch (error) {
      t.match(error, { message: /^expected at most 1000 lines/ })
    }
    // Quadratic, it would take hours.
    const took_ms = performance.now() - started_ms
    t.ok(took_ms < 3000, `${JSON.stringify(page.slice(0, 20))}: ${took_ms} ms`)
  }
})

t.test('nothing is kept of a page but what was wanted of it', async (t) => {
  v8.setFlagsFromString('--expose-gc')
  const gc = vm.runInNewContext('gc')
  const page = (/** @type {number} */ i) =>
    Buffer.from(`a{name="a long value ${i}"} 1\n`.padEnd(2 ** 20, 'unwanted 1\n')).toString()
  gc()
  const before = process.memoryUsage().heapUsed
  const kept = Array.from({ length: 50 }, (_, i) => parseMetrics(page(i), ['a']))
  gc()
  const kept_bytes = process.memoryUsage().heapUsed - before
  t.ok(kept_bytes < 10 * 2 ** 20, `${kept_bytes} bytes are kept of 50 pages of 1 MiB`)
  t.equal(kept.length, 50)
})

t.test('a page that is not there, not in time, too large or elsewhere is an error that says so', async (t) => {
  const text = `up 1\n${'x 1\n'.repeat(2 ** 20)}`
  const trickled = (/** @type {any} */ _req, /** @type {any} */ res) => {
    const timer = setInterval(() => res.write('x'), 50)
    res.on('close', () => clearInterval(timer))
  }
  const elsewhere = await httpServer(t, (_req, res) => void res.end('up 1\n'))
  /** @type {[string, import('node:http').RequestListener, RegExp][]} */
  const rows = [
    ['not there', (_req, res) => void res.writeHead(500).end(), /expected 200, got 500$/],
    ['silent', () => {}, /expected the whole page within 0.5 s$/],
    ['a byte from time to time', trickled, /expected the whole page within 0.5 s$/],
    ['too large', (_req, res) => void res.end(text), /expected a page of at most 4 MB, got more$/],
    ['endless', (_req, res) => void new Endless().on('error', () => {}).pipe(res), /at most 4 MB, got more$/],
    ['a gzip bomb', (_req, res) => void res.writeHead(200, { 'Content-Encoding': 'gzip' }).end(BOMB), /at most 4 MB/],
    ['elsewhere', (_req, res) => void res.writeHead(302, { Location: elsewhere }).end(), /a redirect to http:/],
    ['a circle', (_req, res) => void res.writeHead(302, { Location: '/' }).end(), /at most 3 redirects, got more$/],
  ]
  for (const [name, handler, message] of rows) {
    const url = await httpServer(t, handler)
    const started_ms = performance.now()
    await t.rejects(readMetrics(url, ['up'], 500), { message }, name)
    t.ok(performance.now() - started_ms < 2000, name)
  }
  await t.rejects(readMetrics(await refusingUrl(t), ['up'], 500), { message: /ECONNREFUSED/ })
})

t.test('a page is read wherever it is on its host', async (t) => {
  const url = await httpServer(t, (req, res) => {
    if (req.url === '/metrics/') return void res.end('up 1\n')
    res.writeHead(301, { Location: '/metrics/' }).end()
  })
  t.equal((await readMetrics(url, ['up'], 1000)).sum('up'), 1)
})

t.test('a service whose page cannot be read is known by what the kernel says, and the record says why', async (t) => {
  const url = await httpServer(t, (_req, res) => void res.end('x 1\n'.repeat(2 ** 21)))
  const probe = await watchApi({ pid: null, metricsUrl: url })
  const { metrics_problem } = await probe.end()(TRAFFIC)
  t.equal(metrics_problem, 'the metrics page: expected a page of at most 4 MB, got more')
})

t.test('the time of a core is shared out among processes, interrupts and the host', async (t) => {
  const before = { 0: [100, 0, 50, 800, 0, 10, 30, 10, 0, 0] }
  const now = { 0: [140, 0, 60, 830, 0, 15, 35, 20, 0, 0] }
  t.strictSame(coreShares(before, now), { 0: { busy_ratio: 0.5, interrupts_ratio: 0.1, steal_ratio: 0.1 } })
  t.strictSame(
    coreShares(before, before)[0],
    { busy_ratio: 0, interrupts_ratio: 0, steal_ratio: 0 },
    'no time, no share',
  )
})

t.test('a process that works is told from one that waits', { skip: withoutProc }, async (t) => {
  const use = watchProcess(process.pid)
  const until = performance.now() + 300
  while (performance.now() < until);
  const busy = use()
  t.ok(busy && busy.cpu_core_ratio > 0.05 && Number(busy.main_core_ratio) > 0.05, JSON.stringify(busy))
  t.ok(Number(busy?.open_files) > 3)
  t.equal(watchProcess(null)(), null)
  t.equal(watchProcess(2 ** 22 + 1)(), null, 'nobody has this id')
})

t.test('Postgres: what its sessions wait for, its CPU and its connections', { skip: withoutProc }, async (t) => {
  const embedded = await newServer(t)
  t.ok(Number(familyCpu_s(embedded.pid())) > 0)
  const database = await openDatabase(embedded.url)
  t.teardown(() => database.close())
  const probe = await watchPostgres(database)
  if (!probe) return t.fail('expected a probe')
  const release = await blockTable(t, embedded.url)
  const blocked = rows(embedded.url, "INSERT INTO users (email, password) VALUES ('a@b', 'c')")
  const isWaiting = async () => {
    const found = await rows(embedded.url, "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    return found.length > 0
  }
  while (!(await isWaiting()));
  for (let i = 0; i < 5; i++) await probe.sample()
  await release()
  await blocked
  const found = await probe.end()(TRAFFIC)
  t.match(found, { samples: 5, active_mean: 1, waits: { 'Lock:relation': 1 }, connections_max: 200, cores: String })
  t.ok(
    found.connections >= 1 && found.commits >= 1 && found.wal_bytes > 0 && found.cpu_core_ratio >= 0,
    JSON.stringify(found),
  )
  t.equal(await watchPostgres(null), null, 'nothing is known of a database that is not ours')
})

t.test(
  'the kernel: connections that wait to be accepted, and those that found no room',
  { skip: withoutProc },
  async (t) => {
    const port = await deafServer(t)
    const probe = watchKernel({ url: `http://127.0.0.1:${port}/`, ours: true })
    if (!probe) return t.fail('expected a probe')
    const sockets = Array.from({ length: 8 }, () => net.connect(port, '127.0.0.1').on('error', () => {}))
    await Promise.race(sockets.map((socket) => once(socket, 'connect')))
    await probe.sample()
    const found = await probe.end()(TRAFFIC)
    for (const socket of sockets) socket.destroy()
    t.ok(found.accept_queue_max >= 1, `${found.accept_queue_max} waited`)
    t.ok(found.listen_overflows >= 1, `${found.listen_overflows} found no room`)
    t.match(found, { retransmits: Number, time_wait: Number, cores: { 0: { busy_ratio: Number } } })
  },
)

/** Gives bytes for as long as anybody takes them. */
class Endless extends Readable {
  _read() {
    this.push('x 1\n'.repeat(1000))
  }
}

/** Listens with the shortest of accept queues, and never accepts. @param {any} t @returns {Promise<number>} port */
async function deafServer(t) {
  const script =
    "const s = require('net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => process.send(s.address().port))"
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  t.teardown(() => child.kill('SIGKILL'))
  const [port] = await once(child, 'message')
  child.kill('SIGSTOP')
  return port
}
