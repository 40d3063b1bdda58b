import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import t from 'tap'
import { coreShares, watchKernel } from '../../load/probes/kernel.js'
import { parseMetrics, readMetrics } from '../../load/probes/metrics.js'
import { watchPostgres } from '../../load/probes/postgres.js'
import { familyCpu_s, watchProcess } from '../../load/probes/process.js'
import { openDatabase } from '../../sql/database.js'
import { postgres } from '../support/api.js'
import { blockTable, rows } from '../support/database.js'
import { httpServer, refusingUrl } from '../support/servers.js'

const withoutProc = fs.existsSync('/proc/self/stat') ? false : 'this system has no /proc'
const TRAFFIC = { sent: 10, completed: 10, lateness_ms: null }

t.test('a page in Prometheus’ format is read by name and by label', async (t) => {
  const metrics = parseMetrics(
    [
      '# HELP answers_total Answers',
      'answers_total{status="201"} 5',
      'answers_total{status="503",limit="a \\"b\\" {c}"} 2 1700000000',
      'up 1',
      'empty NaN',
      '',
      'not a metric',
    ].join('\n'),
  )
  t.equal(metrics.sum('answers_total'), 7)
  t.strictSame(metrics.by('answers_total', 'status'), { 201: 5, 503: 2 })
  t.equal(metrics.sum('up'), 1)
  t.equal(metrics.sum('down'), null, 'what is not there is not 0')
})

t.test('a page that is not there, or not in time, is null', async (t) => {
  t.equal(await readMetrics(await refusingUrl(t), 1000), null)
  const broken = await httpServer(t, (_req, res) => void res.writeHead(500).end())
  t.equal(await readMetrics(broken, 1000), null)
  const silent = await httpServer(t, () => {})
  t.equal(await readMetrics(silent, 100), null)
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
  const embedded = await postgres(t)
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
