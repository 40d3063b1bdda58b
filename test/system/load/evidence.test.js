import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import t from 'tap'
import { watchFamily } from '../../../load/probes/family.js'
import { familyOf, nameOf } from '../../../load/probes/process.js'
import { coresOf, expandCores } from '../../../load/system/machine.js'
import { rows } from '../../support/database.js'
import { runHere, trialHere } from '../../support/in-process.js'
import { readTrials, temporaryFolder } from '../../support/lab.js'
import { newServer } from '../../support/postgres.js'
import { httpServer } from '../../support/servers.js'
import { until } from '../../support/until.js'

const SHORT = ['--duration', '1s', '--warmup', '200ms', '--slo-p99', '50ms', '--timeout', '2s', '--method', 'GET']
const lab = { runTrial: trialHere }
const withoutProc = fs.existsSync('/proc/self/stat') ? false : 'this system has no /proc'

t.test(
  'workers are one service: their CPU adds up, and the busiest thread counts',
  { skip: withoutProc },
  async (t) => {
    // The same work for both, so that their shares of the cores do not matter.
    const work = 'read go; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec sleep 600'
    // A shell gives what runs in the background no input of its own.
    const both = `exec 3<&0; sh -c '${work}' <&3 & sh -c '${work}' <&3 & wait`
    const child = spawn('sh', ['-c', both], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
    t.teardown(() => process.kill(-Number(child.pid), 'SIGKILL'))
    await until('two workers', () => familyOf(Number(child.pid)).length === 3)
    const use = watchFamily(Number(child.pid))
    child.stdin.end('go\ngo\n')
    const asleep = () => familyOf(Number(child.pid)).filter((pid) => nameOf(pid) === 'sleep')
    await until('two workers to have computed', () => asleep().length === 2)
    const found = use()
    if (!found) return t.fail('expected its use')
    const [one, all] = [Number(found.main_core_ratio), Number(found.cpu_core_ratio)]
    t.ok(one > 0.3 * all && one < 0.75 * all, `${one} of ${all}`)
    t.ok(Math.abs(Number(found.threads_cpu_s) / found.cpu_s - 1) < 0.2, `${found.threads_cpu_s} s, ${found.cpu_s} s`)
    process.kill(-Number(child.pid), 'SIGKILL')
    await until('it to be gone', () => use() === null)
  },
)

t.test('a worker that ends adds only what it has used since the beginning', { skip: withoutProc }, async (t) => {
  const parent = "sh -c 'while :; do :; done' & wait; sleep 60"
  const child = spawn('sh', ['-c', parent], { detached: true, stdio: 'ignore' })
  t.teardown(() => process.kill(-Number(child.pid), 'SIGKILL'))
  const whole = watchFamily(Number(child.pid))
  await until('a worker to have computed for half a second', () => Number(whole()?.cpu_s) > 0.5)
  const before_s = Number(whole()?.cpu_s)
  const late = watchFamily(Number(child.pid))
  const [, worker] = familyOf(Number(child.pid))
  process.kill(worker, 'SIGKILL')
  await until('it to be gone', () => !familyOf(Number(child.pid)).includes(worker))
  const [all_s, late_s] = [whole, late].map((use) => Number(use()?.cpu_s))
  t.ok(all_s >= before_s, `${all_s} s, with those of the worker`)
  t.ok(late_s <= all_s - before_s + 0.1, `${late_s} s after ${before_s} of ${all_s} s`)
  const threads_s = Number(whole()?.threads_cpu_s)
  t.ok(threads_s >= 0.9 * before_s, `${threads_s} s by threads, of which the worker had one`)
})

const withoutPython = spawnSync('python3', ['--version']).status === 0 ? false : 'no python3 on PATH'

t.test(
  'a parent that ignores how its children end keeps what it has used itself',
  { skip: withoutProc || withoutPython },
  async (t) => {
    const burn = (/** @type {number} */ ms) =>
      `t = time.process_time()\nwhile time.process_time() - t < ${ms / 1000}: pass`
    const program = `
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
child = os.fork()
if child == 0:
  ${burn(300).replace('\n', '\n  ')}
  time.sleep(600)
sys.stdin.readline()
${burn(200)}
os.kill(child, signal.SIGKILL)
time.sleep(600)`
    const child = spawn('python3', ['-c', program], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] })
    t.teardown(() => process.kill(-Number(child.pid), 'SIGKILL'))
    const total = watchFamily(Number(child.pid))
    await until('the child to have computed', () => Number(total()?.cpu_s) >= 0.25)
    const use = watchFamily(Number(child.pid))
    child.stdin.end('go\n')
    await until('the child to be gone', () => familyOf(Number(child.pid)).length === 1)
    t.ok(Number(use()?.cpu_s) >= 0.15, `${use()?.cpu_s} s of 0.2`)
  },
)

t.test(
  'a program that is a script of an interpreter with one lock counts as one thread',
  { skip: withoutProc || withoutPython },
  async (t) => {
    const folder = temporaryFolder(t)
    const { stdout } = spawnSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' })
    const work =
      'import threading\ndef work():\n  while True: pass\nfor _ in range(4): threading.Thread(target=work).start()'
    fs.writeFileSync(`${folder}/fastapi`, `#!${stdout.trim()}\n${work}\n`, { mode: 0o755 })
    const child = spawn(`${folder}/fastapi`, { stdio: 'ignore' })
    t.teardown(() => child.kill('SIGKILL'))
    await once(child, 'spawn')
    const use = watchFamily(Number(child.pid))
    await until('it to have computed', () => Number(use()?.cpu_s) > 0.3)
    const found = use()
    t.ok(Number(found?.main_core_ratio) > 0.8 * Number(found?.cpu_core_ratio), JSON.stringify(found))
  },
)

t.test('what a thread waits for a core counts, whichever thread it is', { skip: withoutProc }, async (t) => {
  const work =
    'import threading\ndef work():\n  while True: pass\nthreading.Thread(target=work).start()\nthreading.Event().wait()'
  const [core] = expandCores(coresOf(process.pid) ?? '0')
  const both = [1, 2].map(() => spawn('taskset', ['-c', String(core), 'python3', '-c', work], { stdio: 'ignore' }))
  t.teardown(() => both.map((child) => child.kill('SIGKILL')))
  const [pid] = both.map((child) => Number(child.pid))
  const use = watchFamily(pid)
  await until('it to have computed', () => Number(use()?.cpu_s) > 0.3)
  t.ok(Number(use()?.run_delay_ratio) > 0.2, JSON.stringify(use()))
})

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
  const { code, stderr } = await runHere(argv, { lab })
  t.equal(code, 0, stderr)
  const [{ probes, traffic }] = readTrials(out)
  t.match(probes.postgres, { samples: Number, connections: Number, waits: { 'Timeout:PgSleep': Number } })
  t.equal(traffic.rows_stored, null)
  t.strictSame(await state(), before)
  const unseeing = await runHere([...argv.slice(0, -4), '--postgres-url', blind.href, '--out', `${out}2`], { lab })
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
