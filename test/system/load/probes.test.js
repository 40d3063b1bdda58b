import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { watchApi } from '../../../load/probes/api.js'
import { watchFamily } from '../../../load/probes/family.js'
import { startProbes } from '../../../load/probes/index.js'
import { portOf, watchKernel } from '../../../load/probes/kernel.js'
import { readMetrics } from '../../../load/probes/metrics.js'
import { watchOthers } from '../../../load/probes/others.js'
import { watchPostgres, watchPostgresOn } from '../../../load/probes/postgres.js'
import { familyCpu_s, watchProcess } from '../../../load/probes/process.js'
import { coresOf } from '../../../load/system/machine.js'
import { lookAtDatabase, openDatabase } from '../../../sql/database.js'
import { blockTable, rows } from '../../support/database.js'
import { newDatabase, newServer } from '../../support/postgres.js'
import { httpServer, refusingUrl } from '../../support/servers.js'
import { until } from '../../support/until.js'

/** @import { RequestListener } from 'node:http' */

const withoutProc = fs.existsSync('/proc/self/stat') ? false : 'this system has no /proc'
const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024), { level: 1 })
/** For pages that need no patience where nothing else runs. */
const PATIENCE_MS = 60_000
const TRAFFIC = { sent: 10, completed: 10, lateness_ms: null }

t.test('a page that is not there, not in time, too large or elsewhere is an error that says so', async (t) => {
  const text = `up 1\n${'x 1\n'.repeat(2 ** 20)}`
  const trickled = (/** @type {any} */ _req, /** @type {any} */ res) => {
    const timer = setInterval(() => res.write('x'), 50)
    res.on('close', () => clearInterval(timer))
  }
  const elsewhere = await httpServer(t, (_req, res) => void res.end('up 1\n'))
  /** @type {[string, RequestListener, RegExp, number?][]} */
  const rows = [
    ['not there', (_req, res) => void res.writeHead(500).end(), /expected 200, got 500$/],
    ['silent', () => {}, /expected the whole page within 0.3 s$/, 300],
    ['a byte from time to time', trickled, /expected the whole page within 0.3 s$/, 300],
    ['too large', (_req, res) => void res.end(text), /expected a page of at most 4 MB, got more$/],
    ['endless', (_req, res) => void new Endless().on('error', () => {}).pipe(res), /at most 4 MB, got more$/],
    ['a gzip bomb', (_req, res) => void res.writeHead(200, { 'Content-Encoding': 'gzip' }).end(BOMB), /at most 4 MB/],
    ['elsewhere', (_req, res) => void res.writeHead(302, { Location: elsewhere }).end(), /a redirect to http:/],
    ['a circle', (_req, res) => void res.writeHead(302, { Location: '/' }).end(), /at most 3 redirects, got more$/],
  ]
  for (const [name, handler, message, timeout_ms = PATIENCE_MS] of rows) {
    await t.rejects(readMetrics(await httpServer(t, handler), ['up'], timeout_ms), { message }, name)
  }
  await t.rejects(readMetrics(await refusingUrl(t), ['up'], PATIENCE_MS), { message: /ECONNREFUSED/ })
})

t.test('a page is read wherever it is on its host', async (t) => {
  const url = await httpServer(t, (req, res) => {
    if (req.url === '/metrics/') return void res.end('up 1\n')
    res.writeHead(301, { Location: '/metrics/' }).end()
  })
  t.equal((await readMetrics(url, ['up'], PATIENCE_MS)).sum('up'), 1)
})

t.test('a service whose page cannot be read is known by what the kernel says, and the record says why', async (t) => {
  const url = await httpServer(t, (_req, res) => void res.writeHead(403).end())
  const probe = await watchApi({ pid: null, metricsUrl: url })
  const { metrics_problem } = await probe.end()(TRAFFIC)
  t.equal(metrics_problem, 'the metrics page: expected 200, got 403')
})

/** As Micrometer prints it for a Spring Boot service, at the start and at the end of a load. @param {number} look */
const SPRING = (look) => `
# HELP hikaricp_connections_active Active connections
hikaricp_connections_active{pool="HikariPool-1",} 9.0
hikaricp_connections_pending{pool="HikariPool-1",} 4.0
hikaricp_connections_max{pool="HikariPool-1",} 10.0
jvm_gc_pause_seconds_sum{action="end of minor GC",cause="G1",} ${look / 100}
process_files_open_files 87.0
process_files_max_files 1048576.0
`

/** As prom-client prints its default metrics. @param {number} look */
const NODE = (look) => `
process_cpu_seconds_total ${look}
process_resident_memory_bytes 50000000
process_open_fds 21
process_max_fds 1024
nodejs_eventloop_lag_p99_seconds 0.012
nodejs_eventloop_lag_max_seconds 0.034
nodejs_gc_duration_seconds_sum{kind="major"} ${look / 50}
nodejs_gc_duration_seconds_sum{kind="minor"} ${look / 50}
`

t.test('what the usual clients of Prometheus tell is understood', async (t) => {
  const told = async (/** @type {(look: number) => string} */ page) => {
    let looks = 0
    let now_ms = 0
    const url = await httpServer(t, (_req, res) => void res.end(page(++looks)))
    const probe = await watchApi({ pid: null, metricsUrl: url }, undefined, () => now_ms)
    now_ms = 1500
    await probe.sample?.()
    return probe.end()(TRAFFIC)
  }
  const spring = await told(SPRING)
  t.match(spring, { pool_used_mean: 9, pool_waiting_mean: 4, pool_max: 10, open_files: 87, open_files_max: 1_048_576 })
  t.ok(spring.gc_ratio > 0, 'GC')
  const node = await told(NODE)
  t.match(node, {
    rss_bytes: 50_000_000,
    open_files: 21,
    open_files_max: 1024,
    loop_delay_p99_ms: 12,
    loop_delay_max_ms: 34,
  })
  t.ok(Math.abs(node.gc_ratio / node.cpu_core_ratio / 0.04 - 1) < 1e-6, '0.04 s for each second of CPU')
  const started = (/** @type {number} */ s) => `process_start_time_seconds ${1_700_000_000 + s}\n`
  t.ok((await told((look) => NODE(look) + started(0.01 * look))).gc_ratio > 0, 'one process')
  const two = await told((look) => NODE(look) + started(100 * look))
  t.match(two.metrics_problem, 'a different process answered at the end')
  t.equal(two.gc_ratio, undefined, 'the counters of two processes have no difference')
})

t.test(
  'the CPU of all parts is watched over the same time, however slow the metrics page is',
  { skip: withoutProc },
  async (t) => {
    const url = await httpServer(t, (_req, res) => void setTimeout(() => res.end('up 1\n'), 1000))
    const { pid } = process
    const probes = await startProbes({ target: { url, pid, metricsUrl: url }, database: null, generator: { pid } })
    const busy = clocks()
    while (spent_s(busy) < 0.5);
    const { api, generator } = await probes.end()(TRAFFIC)
    const [service, same] = [api, generator].map(({ cpu_core_ratio }) => Number(cpu_core_ratio))
    t.ok(Math.abs(service - same) < 0.1, `one process, watched twice: ${service} and ${same} of a core`)
  },
)

t.test(
  'the counters of this machine are not taken for those of a service on another one',
  { skip: withoutProc },
  async (t) => {
    const seenAt = async (/** @type {string} */ url) => {
      const target = { url, pid: null, metricsUrl: null }
      const probes = await startProbes({ target, database: null, generator: { pid: process.pid } })
      return probes.end()(TRAFFIC)
    }
    const own = await seenAt('http://127.0.0.1/')
    t.match(own.kernel, { listen_drops: Number })
    t.equal(own.here, undefined)
    // An address for documentation (RFC 5737), to which nothing is sent.
    const other = await seenAt('http://192.0.2.1/')
    t.strictSame(other.kernel, {})
    t.match(other.here, { listen_drops: Number })
  },
)

t.test('a busy program is found, unless its pid is excluded', { skip: withoutProc }, async (t) => {
  const busy = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
  t.teardown(() => busy.kill())
  const others = watchOthers()
  const find = (/** @type {number[]} */ ...own) => others(own).find(({ pid }) => pid === busy.pid)
  /** @type {ReturnType<typeof find>} */
  let found
  // On a busy machine, it may have too small a share at the next look.
  await until('a busy loop among the others', () => {
    found = find()
    return found
  })
  const { name, core_ratio } = found ?? {}
  t.equal(name, 'node')
  t.ok(Number(core_ratio) <= 1.5, `${core_ratio} of a core`)
  t.equal(find(Number(busy.pid)), undefined)
})

t.test('what is measured ends with the load that ended last, and not with what comes after it', async (t) => {
  let looks = 0
  // A service whose unanswered request keeps it busy.
  const page = () => `process_cpu_seconds_total ${++looks}\nup 1\n`
  const url = await httpServer(t, (_req, res) => void res.end(page()))
  let now_ms = 0
  const probe = await watchApi({ pid: null, metricsUrl: url }, undefined, () => now_ms)
  now_ms = 2000
  const early = probe.end()
  await until('the page to be read', () => looks === 2)
  now_ms = 10_000
  t.equal((await early(TRAFFIC)).cpu_core_ratio, 0.5, 'at the end of the load')
  const late = probe.end()
  await until('the page to be read again', () => looks === 3)
  t.equal((await late(TRAFFIC)).cpu_core_ratio, 0.2, 'at a later end')
})

t.test('a stall of the event loop before a load is not taken for one within it', async (t) => {
  // prom-client tells the longest delay since the last look, other clients that of the last second.
  const delays_s = [0, 0.8, 0.03, 0.02]
  const gauges = (/** @type {number} */ delay_s) => `nodejs_eventloop_lag_max_seconds ${delay_s}\nup 1\n`
  const url = await httpServer(t, (_req, res) => void res.end(gauges(delays_s.shift() ?? 0)))
  let now_ms = 0
  const probe = await watchApi({ pid: null, metricsUrl: url }, undefined, () => now_ms)
  now_ms = 3000
  probe.begin?.()
  for (const after_ms of [500, 1000, 1500]) {
    now_ms = 3000 + after_ms
    await probe.sample?.()
  }
  t.equal((await probe.end()(TRAFFIC)).loop_delay_max_ms, 30)
})

t.test('a process that works is told from one that waits', { skip: withoutProc }, async (t) => {
  const waiter = spawn('sleep', ['60'])
  t.teardown(() => waiter.kill('SIGKILL'))
  await once(waiter, 'spawn')
  await until('sleep to sleep', () => /^\d+ \(sleep\) S/.test(fs.readFileSync(`/proc/${waiter.pid}/stat`, 'utf8')))
  const waits = watchProcess(Number(waiter.pid))

  // What is measured lies between what this process itself measures within and around it, whatever else the cores do.
  const around = clocks()
  const works = watchProcess(process.pid)
  const within = clocks()
  while (spent_s(within) < 0.3);
  const [least, least_wall_s] = [spent_s(within), wall_s(within)]
  const busy = works()
  const [most, most_wall_s] = [spent_s(around), wall_s(around)]
  if (!busy) return t.fail('expected it to be seen')
  t.ok(busy.cpu_s > least - 2 * TICK_S && busy.cpu_s < most + 2 * TICK_S, `${busy.cpu_s} of ${least} to ${most} s`)
  const ratio = busy.cpu_core_ratio
  t.ok(ratio >= busy.cpu_s / most_wall_s && ratio <= busy.cpu_s / least_wall_s, `${ratio} of a core`)
  const main = Number(busy.main_core_ratio)
  // Other threads of Node have a little of it.
  t.ok(main > (0.8 * least) / most_wall_s && main < (most + TICK_S) / least_wall_s, `${main} of a core, main thread`)
  t.ok(Number(busy.open_files) > 3)

  const idle = waits()
  t.equal(idle?.cpu_s, 0)
  t.equal(idle?.cpu_core_ratio, 0)
  t.equal(watchProcess(null)(), null)
  t.equal(watchProcess(2 ** 22 + 1)(), null, 'nobody has this id')
})

t.test('the CPU time of threads that have ended counts for their process', { skip: withoutProc }, async (t) => {
  const program = `import { Worker } from 'node:worker_threads'
    const work = 'const start = process.cpuUsage(); while (process.cpuUsage(start).user < 3e5);'
    process.stdin.on('data', () => new Worker(work, { eval: true }).on('exit', () => process.stdout.write('done')))
    process.stdout.write('ready')`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const watched = watchFamily(Number(child.pid))
  child.stdin.write('.')
  await once(child.stdout, 'data')
  const use = watched()
  t.ok(Number(use?.threads_cpu_s) > 0.25, `${use?.threads_cpu_s} s of the 0.3 s that a thread used`)
  t.ok(Number(use?.rss_bytes) > 10e6 && Number(use?.rss_bytes) < 1e9, `${use?.rss_bytes} bytes`)
})

/** The kernel counts a process's time in these. */
const TICK_S = 0.01

function clocks() {
  return { cpu: process.cpuUsage(), now_ms: performance.now() }
}

/** @param {ReturnType<typeof clocks>} since */
function spent_s({ cpu }) {
  const { user, system } = process.cpuUsage(cpu)
  return (user + system) / 1e6
}

/** @param {ReturnType<typeof clocks>} since */
function wall_s({ now_ms }) {
  return (performance.now() - now_ms) / 1000
}

t.test('the CPU of a Postgres on this machine is found without a connection', { skip: withoutProc }, async (t) => {
  const { url, pid } = await newServer(t)
  const nowhere = watchPostgresOn('4096')
  await until('a tick of CPU time', async () => {
    // The CPU of servers that end meanwhile, such as those of other tests, is unknown.
    const everywhere = watchPostgresOn(coresOf(pid()))
    await rows(url, 'SELECT count(*) FROM generate_series(1, 1000000)')
    return Number(everywhere()) > 0
  })
  t.equal(nowhere(), 0, 'on cores on which it does not run')
})

t.test('Postgres: what its sessions wait for, its CPU and its connections', { skip: withoutProc }, async (t) => {
  const embedded = await newServer(t)
  // The kernel counts CPU time in ticks of 10 ms, and a server that has just started may not have used one.
  await until('a tick of CPU time', async () => {
    await rows(embedded.url, 'SELECT count(*) FROM generate_series(1, 100000)')
    return Number(familyCpu_s(embedded.pid())) > 0
  })
  const database = await openDatabase(embedded.url)
  t.teardown(() => database.close())
  const probe = await watchPostgres(database)
  if (!probe) return t.fail('expected a probe')
  const release = await blockTable(t, embedded.url)
  const blocked = rows(embedded.url, "INSERT INTO users (email, password) VALUES ('a@b', 'c')")
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
  await until('the insert to wait', async () => (await rows(embedded.url, waiting)).length > 0)
  for (let i = 0; i < 5; i++) await probe.sample?.()
  await release()
  await blocked
  const found = await probe.end()(TRAFFIC)
  t.match(found, { samples: 5, active_mean: 1, connections_max: 200, cores: String })
  t.strictSame(found.waits, { 'Lock:relation': 1 })
  t.ok(
    found.connections >= 1 && found.commits >= 1 && found.wal_bytes > 0 && found.cpu_core_ratio >= 0,
    JSON.stringify(found),
  )
  t.equal(await watchPostgres(null), null, 'nothing is known of a database that is not ours')
})

t.test('a lost connection to --postgres-url is reported, and the next trial connects again', async (t) => {
  const { url } = await newDatabase(t)
  const look = await lookAtDatabase(url)
  t.teardown(() => look.close())
  const [{ pid }] = await look.query('SELECT pg_backend_pid() AS pid')
  const findingsOf = async (/** @type {any} */ database) => {
    const watching = await watchPostgres(database)
    return watching ? watching.end()(TRAFFIC) : t.fail('expected a probe')
  }
  const probe = await watchPostgres(look)
  if (!probe) return t.fail('expected a probe')
  await rows(url, `SELECT pg_terminate_backend(${pid})`)
  await until('the session to be cut', () =>
    look.query('SELECT').then(
      () => false,
      () => true,
    ),
  )
  const { postgres_problem } = await probe.end()(TRAFFIC)
  t.match(postgres_problem, /terminat|connection/i)
  const { connections } = await findingsOf(look)
  t.ok(connections >= 1, 'by a new session')

  const problemOf = (/** @type {Error} */ error) => {
    const gone = () => Promise.reject(error)
    return findingsOf({ version: '18.4', query: gone, reopen: gone })
  }
  t.strictSame(await problemOf(new Error('nobody there')), { postgres_problem: 'nobody there' })
  const cut = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
  t.strictSame(await problemOf(cut), { postgres_problem: 'the connection was lost (read ECONNRESET)' })
})

t.test("the port of a URL, even if it is the scheme's own", async (t) => {
  const urls = ['http://127.0.0.1/user', 'https://[::1]/', 'http://127.0.0.1:3000/']
  t.strictSame(urls.map(portOf), [80, 443, 3000])
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
    await probe.sample?.()
    const found = await probe.end()(TRAFFIC)
    for (const socket of sockets) socket.destroy()
    t.ok(found.accept_queue_max >= 1, `${found.accept_queue_max} waited`)
    t.ok(found.somaxconn >= 1, `${found.somaxconn} may wait`)
    t.ok(found.listen_overflows >= 1, `${found.listen_overflows} found no room`)
    t.match(found, { retransmits: Number, time_wait: Number, cores: { 0: { busy_ratio: Number } } })
    if (!fs.existsSync('/proc/pressure/io')) return
    for (const name of ['cpu', 'io', 'memory']) {
      const ratio = found[`pressure_${name}_ratio`]
      t.ok(ratio >= 0 && ratio <= 1.5, `${name}: ${ratio}`)
    }
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
