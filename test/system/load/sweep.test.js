import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { nameOf } from '../../../load/probes/process.js'
import { openDatabase } from '../../../sql/database.js'
import { PATIENT } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { runHere, trialHere } from '../../support/in-process.js'
import { readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { httpServer } from '../../support/servers.js'

const lab = { runTrial: trialHere }
const SHORT = ['--duration', '500ms', '--warmup', '100ms', '--slo-p99', '10s', '--timeout', '10s']

t.test('a flag refuses a named pipe as its file, since nothing could end the wait for a writer', async (t) => {
  const pipe = path.join(temporaryFolder(t), 'pipe')
  spawnSync('mkfifo', [pipe])
  for (const [flag, value] of Object.entries({ body: `@${pipe}`, mix: pipe })) {
    const argv = ['sweep', '--url', 'http://127.0.0.1:9/', '--rates', '5', `--${flag}`, value]
    const { code, stderr } = await runHere(argv)
    t.equal(code, 2)
    t.match(
      stderr,
      `redline: --${flag}: expected a file, got a named pipe: use /dev/stdin instead, and redirect the pipe to it`,
    )
  }
})

t.test('--url loads what runs already, with what it is told to send, and counts no rows', async (t) => {
  const folder = temporaryFolder(t)
  const out = path.join(folder, 'run')
  /** @type {string[]} */
  const seen = []
  const url = await httpServer(t, async (req, res) => {
    seen.push([req.method, req.url, req.headers['x-test'], (await req.toArray()).join('')].join())
    res.writeHead(200, { 'Content-Length': 0 }).end()
  })
  fs.writeFileSync(`${folder}/body`, '{"ping":true}')
  const headers = ['--header', 'X-Test: yes', '--header', 'Authorization: Bearer hunter2']
  const what = ['--method', 'PUT', ...headers, '--body', `${folder}/body`]
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
  const argv = ['sweep', '--url', url, '--rates', '50', ...SHORT, ...what, '--out', out]
  const { code, stderr } = await runHere(argv, { env, lab })
  t.equal(code, 0, stderr)
  t.match(stderr, `To ${url}, Redline will send PUT requests with the same 13 bytes as body: about 30 within 1 s.`)
  t.strictSame(seen, Array(25 + 5).fill('PUT,/user,yes,{"ping":true}'))
  const [{ target, traffic, outcome }] = readTrials(out)
  t.strictSame([target.kind, target.url, target.pid], ['url', url, null])
  t.strictSame([traffic.rows_stored, traffic.status, outcome.verdict], [null, { 200: 25 }, 'pass'])
  const files = fs.readdirSync(out)
  t.ok(files.includes('run.json') && files.includes('trials.ndjson'))
  for (const file of files) {
    t.notMatch(fs.readFileSync(`${out}/${file}`, 'utf8'), 'hunter2', `credentials stay out of ${file}`)
  }
  const resumed = await runHere(['sweep', '--resume', out])
  t.match(resumed, { code: 2, stderr: /secrets on its command line were not kept/ })
})

t.test('a run whose output nobody reads any more goes on to its report', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const url = await httpServer(t, (_req, res) => void res.writeHead(200, { 'Content-Length': 0 }).end())
  const { child, ended } = startLab(['sweep', '--url', url, '--rates', '50,60', ...SHORT, '--out', out])
  child.stdout?.destroy()
  child.stderr?.destroy()
  t.equal((await ended).code, 0)
  t.equal(readTrials(out).length, 2)
  t.ok(fs.existsSync(`${out}/report.html`))
})

t.test('where stdout has no room left, one line says so, and the exit code is 1', async (t) => {
  const full = fs.openSync('/dev/full', 'w')
  t.teardown(() => fs.closeSync(full))
  const helpTo = (/** @type {number | 'pipe'} */ stdout, /** @type {number | 'pipe'} */ stderr) =>
    spawnSync(process.execPath, ['load/cli.js', 'sweep', '--help'], {
      ...{ stdio: ['ignore', stdout, stderr], encoding: 'utf8', timeout: 60_000 },
    })
  const { status, stderr } = helpTo(full, 'pipe')
  t.equal(stderr, 'redline: the output could not be written: ENOSPC: no space left on device, write\n')
  t.equal(status, 1)
  t.equal(helpTo(full, full).status, 1, 'though that cannot be told either')
})

t.test('an entry of a mix that breaks its own SLO fails the trial, also after --resume', async (t) => {
  const folder = temporaryFolder(t)
  const url = await httpServer(t, (req, res) => {
    res.writeHead(req.url === '/read' ? 503 : 200, { 'Content-Length': 0 }).end()
  })
  const entries = [
    { name: 'read', path: '/read', slo: 'success>=99%' },
    { name: 'list', path: '/list', slo: 'max<10s' },
  ]
  fs.writeFileSync(`${folder}/mix.json`, JSON.stringify(entries))
  const load = ['--driver', 'client', '--connections', '2', '--duration', '300ms', '--warmup', '0.1s']
  const slo = ['--slo', 'success>=10%, p50<9s']
  const argv = ['sweep', '--url', url, ...load, ...slo, '--mix', `${folder}/mix.json`, '--out', `${folder}/run`]
  const { code, stderr } = await runHere(argv, { lab })
  t.equal(code, 0, stderr)
  const [{ traffic, outcome }] = readTrials(`${folder}/run`)
  t.ok(traffic.by_entry.read.completed > 0 && traffic.by_entry.list.ok > 0)
  t.match(outcome, { verdict: 'fail', because: /^read: 0 of \d+ succeeded, 99 % expected$/ })
  const { slo: kept } = readRun(`${folder}/run`)
  t.match(kept, { success_ratio: 0.1, also_ms: { p50: 9000 }, by_entry: { list: { also_ms: { max: 10_000 } } } })
  t.equal((await runHere(['sweep', '--resume', `${folder}/run`])).code, 0)
  t.strictSame(readRun(`${folder}/run`).slo, kept)
})

t.test('a service on another machine is loaded only with consent', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  // An address for documentation (RFC 5737).
  const { code, stderr } = await runHere(['sweep', '--url', 'http://192.0.2.1/user', '--rates', '50', '--out', out])
  t.match({ code, stderr }, { code: 2, stderr: /^redline: expected --yes, since 192.0.2.1 is not this machine$/m })
  t.notOk(fs.existsSync(out), 'nothing has begun')
})

t.test('a resumed run takes no other process for one that was named, and has ended since', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const url = await httpServer(t, async (req, res) => {
    await req.toArray()
    res.writeHead(200, { 'Content-Length': 0 }).end()
  })
  const child = spawn('sleep', ['600'])
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  const argv = ['sweep', '--url', url, '--pid', String(child.pid), '--rates', '50', ...SHORT, '--out', out]
  t.match(await runHere(argv, { lab }), { code: 0 })
  const { plan } = readRun(out)
  t.strictSame(plan.pids, [{ pid: child.pid, name: 'sleep' }])
  t.match(await runHere(['sweep', '--resume', out]), { code: 0 }, 'it runs still')

  child.kill('SIGKILL')
  await once(child, 'exit')
  const expected = (/** @type {number | undefined} */ pid, /** @type {string} */ got) => {
    return `redline: --pid ${pid}: expected the process sleep, got ${got}: start another run with its new id\n`
  }
  const ended = await runHere(['sweep', '--resume', out])
  t.strictSame([ended.code, ended.stderr], [2, expected(child.pid, 'none')])
  // As if the system had given the id to another program.
  const pids = [{ pid: process.pid, name: 'sleep' }]
  fs.writeFileSync(`${out}/run.json`, JSON.stringify({ ...readRun(out), plan: { ...plan, pids } }))
  const other = await runHere(['sweep', '--resume', out])
  t.strictSame([other.code, other.stderr], [2, expected(process.pid, String(nameOf(process.pid)))])
})

t.test('--pid takes a running process that is neither the lab nor what started it', async (t) => {
  const ended = spawn('true')
  await once(ended, 'exit')
  for (const pid of [process.pid, process.ppid, Number(ended.pid), 0]) {
    const { code, stderr } = await runHere(['sweep', '--url', 'http://127.0.0.1:1/', '--pid', String(pid)])
    t.equal(code, 2)
    t.match(stderr, `--pid: expected the id of a running process that did not start this one, got "${pid}"`)
  }
})

t.test('rows that the database loses are missed; settings come from the environment and are read back', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const { url } = await newDatabase(t)
  // The lab makes its table on the first run; the next one finds the trigger on it.
  const lossy = await openDatabase(url)
  await lossy.close()
  await rows(
    lossy.url,
    'CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM users WHERE id % 10 = 0; RETURN NULL; END $$',
  )
  await rows(lossy.url, 'CREATE TRIGGER lose AFTER INSERT ON users FOR EACH STATEMENT EXECUTE FUNCTION lose()')
  const env = { ...PATIENT, DATABASE_URL: url, POOL_MAX: '3', INSERT_MODE: 'single' }
  const { code, stderr } = await runHere(['sweep', '--rates', '100', ...SHORT, '--out', out], { env, lab })
  t.equal(code, 1)
  t.match(stderr, /no trustworthy answer: 1 of the loads asked for had no valid trial/)
  const [{ settings, traffic, outcome }] = readTrials(out)
  t.strictSame([settings.POOL_MAX, settings.INSERT_MODE], [3, 'single'])
  t.strictSame(traffic.status, { 201: 50 })
  t.strictSame([outcome.verdict, traffic.rows_stored], ['invalid', 45])
  t.match(outcome.because, /^50 requests were answered 201, 45 rows were stored/)
})

t.test('a database that does not answer ends the run with one line', async (t) => {
  const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
  const out = path.join(temporaryFolder(t), 'run')
  const { code, stdout, stderr } = await runHere(['sweep', '--rates', '10', '--out', out], { env })
  t.equal(code, 2)
  t.match(stderr, /^redline: DATABASE_URL: expected a Postgres that answers[^\n]*\n$/)
  t.equal(stdout, '')
})

t.test('so do settings that the API refuses', async (t) => {
  const { url } = await newDatabase(t)
  const env = { DATABASE_URL: url, POOL_MAX: '0' }
  const out = path.join(temporaryFolder(t), 'run')
  const { code, stdout, stderr } = await runHere(['sweep', '--rates', '10', '--out', out], { env })
  t.equal(code, 2)
  t.match(stderr, /^redline: POOL_MAX: expected a whole number from 1[^\n]*\n$/m)
  t.equal(stdout, '')
})
