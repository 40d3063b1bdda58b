import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { NotReady } from '../../../load/command/errors.js'
import { startService } from '../../../load/system/service.js'
import { logged } from '../../support/api.js'
import { processesOf, readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { httpServer, ownPort } from '../../support/servers.js'
import { until } from '../../support/until.js'

const ANY_ANSWER = ['--slo-p99', '9s', '--timeout', '9s']
const SHORT = ['--rates', '50', '--duration', '500ms', '--warmup', '100ms', '--method', 'GET', ...ANY_ANSWER]

/** A folder with a service in it, a port for it, and the command that starts it: through a shell that stays its parent. @param {any} t */
async function service(t) {
  const folder = temporaryFolder(t)
  const port = await ownPort()
  const program = `
    import http from 'node:http'
    import fs from 'node:fs'
    fs.appendFileSync('starts', process.pid + ' ' + process.env.PGHOST + '\\n')
    process.on('SIGTERM', () => fs.appendFileSync('ends', process.pid + '\\n', { flush: true }) ?? process.exit())
    http.createServer((req, res) => res.end('ok')).listen(${port}, '127.0.0.1')`
  fs.writeFileSync(`${folder}/service.mjs`, program)
  const pids = (/** @type {string} */ name) => {
    const file = `${folder}/${name}`
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : []
  }
  const start = `cd ${folder} && HOME=hunter2 ${process.execPath} service.mjs; sleep 0.01`
  return { folder, url: `http://127.0.0.1:${port}/`, start, pids, out: path.join(folder, 'run') }
}

t.test('a service is started for the run, and ended after it with all that belongs to it', async (t) => {
  const { folder, url, start, pids, out } = await service(t)
  const argv = ['sweep', '--url', url, '--start', start, ...SHORT, '--out', out]
  const { code, stderr } = await startLab(argv, { PGHOST: 'mine' }).ended
  t.equal(code, 0, stderr)
  t.match(pids('starts').join(), /^\d+ mine$/, 'once, with its own environment')
  t.equal(pids('ends')[0], pids('starts')[0].split(' ')[0], 'it was asked to end')
  t.strictSame(processesOf(folder), [])
  const [{ target, traffic }] = readTrials(out)
  t.match(
    { target, traffic },
    { target: { kind: 'started', pid: Number }, traffic: { status: { 200: 25 }, rows_stored: null } },
  )
  t.equal(readRun(out).plan.start, '(withheld)')
  for (const file of fs.readdirSync(out)) t.notMatch(fs.readFileSync(`${out}/${file}`, 'utf8'), 'hunter2', file)
})

t.test("nothing is claimed about a service in a container, whose processes are not the command's", async (t) => {
  const { folder, url, start, out } = await service(t)
  // Named like the program that starts containers; the name is what such a command is known by.
  const docker = `#!/bin/sh
trap 'kill -- -"$(cat ${folder}/group)"; exit' TERM INT
(setsid sh -c "echo \\$\\$ > ${folder}/group; $2" &)
mkfifo ${folder}/nobody
read _ < ${folder}/nobody
`
  fs.writeFileSync(`${folder}/docker`, docker, { mode: 0o755 })
  const argv = ['sweep', '--url', url, '--start', `${folder}/docker run '${start}'`, ...SHORT, '--out', out]
  const { code, stderr } = await startLab(argv).ended
  t.equal(code, 0, stderr)
  const [{ target, probes }] = readTrials(out)
  t.match(target, { kind: 'started', pid: null, cores: null })
  t.equal(probes.api.cpu_core_ratio, undefined, 'which would be that of the command')
  await until('the end of the container', () => processesOf(folder).length === 0)
})

t.test('Ctrl-C ends the wait for a service that does not answer, and the service', async (t) => {
  const folder = temporaryFolder(t)
  const port = await ownPort()
  const start = `cd ${folder} && touch begun && exec sleep 300`
  const lab = startLab([
    'sweep',
    '--url',
    `http://127.0.0.1:${port}/`,
    '--start',
    start,
    ...SHORT,
    '--out',
    `${folder}/run`,
  ])
  await until('the service', () => fs.existsSync(`${folder}/begun`))
  const ended_ms = performance.now()
  lab.child.kill('SIGINT')
  t.equal((await lab.ended).code, 130)
  t.ok(performance.now() - ended_ms < 30_000, 'long before it would have been given up')
  t.strictSame(processesOf(folder), [])
})

t.test('what was started ends with a lab that is killed', async (t) => {
  const { folder, url, start, pids, out } = await service(t)
  const lab = startLab(['sweep', '--url', url, '--start', start, ...SHORT, '--duration', '60s', '--out', out])
  await until('the service', () => pids('starts').length > 0)
  lab.child.kill('SIGKILL')
  await lab.ended
  await until('no process to be left', () => processesOf(folder).length === 0)
  t.equal(pids('starts').length, 1)
})

t.test('Ctrl-C ends it, too', async (t) => {
  const { folder, url, start, pids, out } = await service(t)
  const lab = startLab(['sweep', '--url', url, '--start', start, ...SHORT, '--duration', '60s', '--out', out])
  await until('the service', () => pids('starts').length > 0)
  lab.child.kill('SIGINT')
  t.equal((await lab.ended).code, 130)
  t.strictSame(processesOf(folder), [])
})

t.test('a service that cannot be started is an error that says why', async (t) => {
  const { folder, url, out } = await service(t)
  const refusal = async (/** @type {string[]} */ ...argv) => {
    const { code, stderr } = await startLab(['sweep', ...argv, ...SHORT, '--out', out]).ended
    return { code, line: stderr.trim().split('\n').at(-1) }
  }
  t.match(await refusal('--url', url, '--start', 'echo no such table; exit 3'), {
    code: 1,
    line: /the service ended .*3.*no such table/,
  })
  const other = await httpServer(t, (_, res) => void res.end())
  t.match(await refusal('--url', other, '--start', 'sleep 60'), {
    code: 2,
    line: /^redline: --start: expected nothing at http:\/\/127.0.0.1:\d+ yet, got an answer: end what runs there$/,
  })
  t.match(await refusal('--url', 'http://192.0.2.1/', '--yes', '--start', 'sleep 60'), {
    code: 2,
    line: /^redline: --start: expected --url on this machine, got http:\/\/192.0.2.1$/,
  })
  t.match(await refusal('--start', 'sleep 60'), { code: 2, line: /^redline: --start: requires --url/ })
  t.strictSame(processesOf(folder), [])
})

t.test(
  'if the command puts its service into the background, the error says to keep it in the foreground',
  async (t) => {
    const { folder, url, start, pids, out } = await service(t)
    const refusal = async (/** @type {string} */ command) => {
      const { code, stderr } = await startLab(['sweep', '--url', url, '--start', command, ...SHORT, '--out', out]).ended
      t.equal(code, 1)
      return stderr.trim().split('\n').at(-1)
    }
    t.match(await refusal('true'), /into the background leaves nothing to measure: if so, keep it in the foreground/)
    const daemon = `setsid sh -c '${start}' & while [ ! -e ${folder}/starts ]; do sleep 0.1; done; sleep 0.5`
    t.match(
      await refusal(daemon),
      /; it still runs at http:\/\/127\.0\.0\.1:\d+: end it, and keep it in the foreground/,
    )
    process.kill(Number(pids('starts')[0].split(' ')[0]))
    await until('the end of the service', () => processesOf(folder).length === 0)
  },
)

t.test('a service that is not ready in time is an error in one line, with its last words', async (t) => {
  const logFile = `${temporaryFolder(t)}/log`
  // The time is over after a look at the earliest: this one takes until the service has spoken, however slowly it starts.
  const isReady = async () => {
    await logged(logFile, /still booting/)
    return false
  }
  const options = { logFile, isReady, stopGrace_ms: 1000, start_ms: 500 }
  const command = ['sh', '-c', 'echo still booting; exec sleep 60']
  await t.rejects(startService('the service', command, { ...options, cores: null }), {
    constructor: NotReady,
    message: 'the service was not ready within 0.5 s; its last output: still booting',
  })
})

t.test('the last words of a service are at the end of its log, however large that is', async (t) => {
  const logFile = path.join(temporaryFolder(t), 'log')
  fs.writeFileSync(logFile, '')
  // More than a string can hold; it takes no room on the disk.
  fs.truncateSync(logFile, 600e6)
  const program = `console.log('\\n\\u001b[31mbye\\u001b[0m')`
  const how = { cores: null, logFile, isReady: async () => false, stopGrace_ms: 1000 }
  await t.rejects(startService('it', [process.execPath, '-e', program], how), { message: /; its last output: bye$/ })
})

t.test('the log of a service does not fill the disk', async (t) => {
  const logFile = path.join(temporaryFolder(t), 'log')
  const program = `setInterval(() => console.log('x'.repeat(1e5)), 10)`
  const how = { cores: null, logFile, isReady: async () => fs.statSync(logFile).size > 1e6, stopGrace_ms: 1000 }
  const { stop } = await startService('it', [process.execPath, '-e', program], { ...how, log_bytes: 1e6 })
  t.teardown(stop)
  await until('it to be emptied', () => /^\(Redline has removed/.test(fs.readFileSync(logFile, 'latin1')))
  await until('it to go on', () => fs.statSync(logFile).size > 2e5)
  const text = fs.readFileSync(logFile, 'latin1')
  t.match(text, /^\(Redline has removed the first \d+ bytes of this log\)\nx+/, 'without a hole')
})

t.test('the last words of a crashed program are the cause of the crash, not the lines printed after it', async (t) => {
  const logFile = path.join(temporaryFolder(t), 'log')
  const how = { cores: null, logFile, isReady: async () => false, stopGrace_ms: 1000 }
  const crash = `console.log('listening'); throw Object.assign(new TypeError('no such port'), { code: 'EX', at: { x: 1 } })`
  await t.rejects(startService('it', [process.execPath, '-e', crash], how), {
    message: /; its last output: TypeError: no such port\b/,
  })
  const logged = `console.log('Error: an old one'); console.log('bye'); process.exit(3)`
  await t.rejects(startService('it', [process.execPath, '-e', logged], how), { message: /; its last output: bye$/ })
})

t.test('children end when the lab exits, also where the kernel does not end them', async (t) => {
  const folder = temporaryFolder(t)
  const sleep = path.join(folder, 'sleep')
  fs.symlinkSync('/bin/sleep', sleep)
  const module = new URL('../../../load/system/processes.js', import.meta.url)
  const program = `import { startChild } from '${module}'
    const { child } = startChild(['${sleep}', '60'], { cores: null, stdio: 'ignore' })
    child.once('spawn', () => process.exit(3))`
  // A PATH without setpriv.
  const { status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { env: { PATH: folder } })
  t.equal(status, 3)
  await until('sleep to end', () => processesOf(folder).length === 0)
})
