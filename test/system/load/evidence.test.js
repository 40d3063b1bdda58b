import { spawn } from 'node:child_process'
import fs from 'node:fs'
import t from 'tap'
import { watchFamily } from '../../../load/probes/family.js'
import { rows } from '../../support/database.js'
import { runHere } from '../../support/in-process.js'
import { readRun, readTrials, temporaryFolder } from '../../support/lab.js'
import { newServer } from '../../support/postgres.js'
import { httpServer } from '../../support/servers.js'
import { without } from '../../support/skip.js'
import { firstLine, until } from '../../support/until.js'

const SHORT = ['--duration', '1s', '--warmup', '200ms', '--slo-p99', '50ms', '--timeout', '2s', '--method', 'GET']
const withoutProc = fs.existsSync('/proc/self/stat') ? false : 'this system has no /proc'

/** A program that prints its port, until the test ends. @param {any} t @param {string[]} command */
async function service(t, command) {
  const child = spawn(command[0], command.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const port = await firstLine('a port', /** @type {any} */ (child.stdout))
  return { url: `http://127.0.0.1:${port}/`, pid: String(child.pid) }
}

const LISTEN = ".listen(0, '127.0.0.1', function () { console.log(this.address().port) })"
/** Computes for a time of the processor, not of the clock. */
const BUSY = `require('http').createServer((_, res) => {
  const before = process.cpuUsage()
  for (let used_us = 0; used_us < 4000; ) {
    const { user, system } = process.cpuUsage(before)
    used_us = user + system
  }
  res.end()
})${LISTEN}`
/** One request at a time, for 20 ms each, without computing. */
const LOCKED = `let last = Promise.resolve()
require('http').createServer((_, res) => {
  last = last.then(() => new Promise((done) => setTimeout(done, 20)))
  last.then(() => res.end())
})${LISTEN}`
const PYTHON = `
import http.server, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        end = time.process_time() + 0.004
        while time.process_time() < end: pass
        self.send_response(200); self.send_header('Content-Length', '0'); self.end_headers()
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()`

/** @param {any} t @param {{ url: string, pid: string }} service @param {string[]} flags */
async function swept(t, { url, pid }, ...flags) {
  const out = `${temporaryFolder(t)}/run`
  const { code, stdout, stderr } = await runHere([
    'sweep',
    '--url',
    url,
    '--pid',
    pid,
    ...SHORT,
    ...flags,
    '--out',
    out,
  ])
  t.equal(code, 0, stderr)
  return { stdout: stdout.replace(/\s+/g, ' '), run: readRun(out), trials: readTrials(out), out }
}

t.test(
  'a service that computes in one thread is limited by its CPU, whatever it is written in',
  { skip: withoutProc },
  async (t) => {
    const programs = {
      node: [process.execPath, '-e', BUSY],
      ...(without('python3') ? {} : { python: ['python3', '-c', PYTHON] }),
    }
    for (const [name, command] of Object.entries(programs)) {
      const { stdout, run, trials } = await swept(t, await service(t, command), '--rates', '600')
      t.equal(run.limit.resource, 'api-cpu', `${name}: ${JSON.stringify(trials[0].probes.api)}`)
      t.match(run.limit.evidence[0], new RegExp(`^${name}\\S* used \\d+ % of a core`))
      t.notMatch(stdout, '--pid: its CPU')
      const { api } = trials[0].probes
      t.ok(api.cpu_us_per_request > 3500, `${name}: ${api.cpu_us_per_request} us`)
      t.ok(api.rss_bytes > 1e6 && api.open_files > 3 && api.open_files_max >= api.open_files, JSON.stringify(api))
    }
  },
)

t.test(
  'a service that waits for itself is limited by what is not visible from outside',
  { skip: withoutProc },
  async (t) => {
    const { stdout, run } = await swept(t, await service(t, [process.execPath, '-e', LOCKED]), '--rates', '150')
    t.equal(run.limit.resource, 'none-reached')
    t.match(stdout, 'Limit: none-reached, what limits it is not visible from outside.')
    t.match(
      stdout,
      "What would show more: --metrics-url: its own figures; --postgres-url: its database's waits and locks.",
    )
  },
)

t.test(
  'workers are one service: their CPU adds up, and the busiest thread counts',
  { skip: withoutProc },
  async (t) => {
    const spin = 'while :; do :; done'
    const child = spawn('sh', ['-c', `sh -c '${spin}' & sh -c '${spin}' & wait`], { detached: true, stdio: 'ignore' })
    t.teardown(() => process.kill(-Number(child.pid), 'SIGKILL'))
    const use = watchFamily(Number(child.pid))
    await until('two workers to have computed for half a second', () => Number(use()?.cpu_s) > 0.5)
    const found = use()
    if (!found) return t.fail('expected its use')
    const all = Number(found.cpu_core_ratio)
    const [one, of_two] = [Number(found.main_core_ratio), all / 2]
    t.ok(one > 0.6 * of_two && one < 0.75 * all, `${one} of ${all}`)
    t.ok(Math.abs(Number(found.threads_cpu_s) / found.cpu_s - 1) < 0.2, `${found.threads_cpu_s} s, ${found.cpu_s} s`)
    process.kill(-Number(child.pid), 'SIGKILL')
    await until('it to be gone', () => use() === null)
  },
)

t.test('the Postgres of a service is looked at, and nothing in it is changed', async (t) => {
  const { url } = await newServer(t)
  await rows(url, "CREATE ROLE blind LOGIN PASSWORD 'hunter2'")
  const state = () =>
    rows(
      url,
      'SELECT array_agg(nspname::text ORDER BY nspname) AS schemas, (SELECT count(*)::int FROM pg_class) AS relations FROM pg_namespace',
    )
  const before = await state()
  const shop = new URL(url)
  shop.searchParams.set('application_name', 'shop')
  const service = await httpServer(t, async (_, res) => {
    await rows(shop.href, 'SELECT pg_sleep(0.2)')
    res.end()
  })
  const blind = new URL(url)
  blind.username = 'blind'
  blind.password = 'hunter2'
  const out = `${temporaryFolder(t)}/run`
  const argv = [
    'sweep',
    '--url',
    service,
    ...SHORT,
    '--rates',
    '20',
    '--slo-p99',
    '2s',
    '--postgres-url',
    url,
    '--out',
    out,
  ]
  const { code, stderr } = await runHere(argv)
  t.equal(code, 0, stderr)
  const [{ probes, traffic }] = readTrials(out)
  t.match(probes.postgres, { samples: Number, connections: Number, waits: { 'Timeout:PgSleep': Number } })
  t.equal(traffic.rows_stored, null)
  t.strictSame(await state(), before)
  const unseeing = await runHere([...argv.slice(0, -4), '--postgres-url', blind.href, '--out', `${out}2`])
  t.match(unseeing.stderr, /--postgres-url: its role does not see what other sessions wait for: GRANT pg_monitor/)
  t.ok(fs.readdirSync(`${out}2`).includes('run.json'))
  for (const file of fs.readdirSync(`${out}2`)) t.notMatch(fs.readFileSync(`${out}2/${file}`, 'utf8'), 'hunter2', file)
  const nobody = await runHere([
    ...argv.slice(0, -4),
    '--postgres-url',
    'postgres://a:hunter2@127.0.0.1:1/b',
    '--out',
    `${out}3`,
  ])
  t.match(nobody, { code: 2, stderr: /^redline: --postgres-url: expected a Postgres that answers/m })
  t.notMatch(nobody.stderr, 'hunter2')
})
