import { spawn } from 'node:child_process'
import t from 'tap'
import { runHere } from '../../support/in-process.js'
import { readRun, readTrials, temporaryFolder } from '../../support/lab.js'
import { without } from '../../support/skip.js'
import { firstLine } from '../../support/until.js'

const SHORT = ['--duration', '1s', '--warmup', '200ms', '--slo-p99', '50ms', '--timeout', '2s', '--method', 'GET']

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
        end = time.thread_time() + 0.004
        while time.thread_time() < end: pass
        self.send_response(200); self.send_header('Content-Length', '0'); self.end_headers()
    def log_message(self, *args): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
server = Server(('127.0.0.1', 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()`

/** Where another program has the core, no verdict says anything about the service. */
const MOST_SWEEPS = 3

/**
 * A sweep with three trials at one rate: they vote on the limit, so that the machine may have stood still in one. If the answer is that
 * something else used the core, sweeps again.
 * @param {any} t @param {{ url: string, pid: string }} service @param {string[]} flags
 */
async function swept(t, { url, pid }, ...flags) {
  const argv = ['sweep', '--url', url, '--pid', pid, ...SHORT, ...flags]
  for (let sweeps = 1; ; sweeps++) {
    const out = `${temporaryFolder(t)}/run`
    const { code, stdout, stderr } = await runHere([...argv, '--out', out])
    const [run, trials] = [readRun(out), readTrials(out)]
    const isNoisy =
      trials.filter(({ outcome }) => outcome.blame === 'noise').length > 1 || run.limit?.resource === 'machine-noise'
    if (isNoisy && sweeps < MOST_SWEEPS) continue
    t.equal(code, 0, stderr)
    return { stdout: stdout.replace(/\s+/g, ' '), run, trials, out }
  }
}

t.test('a service that computes in one thread is limited by its CPU, whatever it is written in', async (t) => {
  const programs = {
    node: [process.execPath, '-e', BUSY],
    ...(without('python3') ? {} : { python: ['python3', '-c', PYTHON] }),
  }
  for (const [name, command] of Object.entries(programs)) {
    const { stdout, run, trials } = await swept(t, await service(t, command), '--rates', '600,600,600')
    t.equal(
      run.limit.resource,
      'api-cpu',
      `${name}: ${JSON.stringify(trials.map(({ outcome, limit, probes }) => [outcome, limit, probes.api, probes.kernel.cores]))}`,
    )
    t.match(run.limit.evidence[0], new RegExp(`^${name}\\S* used \\d+ % of a core`))
    t.notMatch(stdout, '--pid: its CPU')
    const { api } = trials[0].probes
    t.ok(api.cpu_us_per_request > 3500, `${name}: ${api.cpu_us_per_request} us`)
    t.ok(api.rss_bytes > 1e6 && api.open_files > 3 && api.open_files_max >= api.open_files, JSON.stringify(api))
  }
})

t.test('a service that waits for itself is limited by what is not visible from outside', async (t) => {
  const { stdout, run } = await swept(t, await service(t, [process.execPath, '-e', LOCKED]), '--rates', '150,150,150')
  t.equal(run.limit.resource, 'none-reached')
  t.match(stdout, 'Limit: not found (none-reached): what limits it is not visible from outside.')
  t.match(
    stdout,
    "Flags that show more: --metrics-url: its own figures; --postgres-url: its database's waits and locks.",
  )
})
