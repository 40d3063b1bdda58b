import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { rows } from '../../support/database.js'
import { runHere } from '../../support/in-process.js'
import { processesOf, readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { created, httpServer } from '../../support/servers.js'
import { withoutDriver } from '../../support/skip.js'
import { conserves, smoke } from '../../support/smoke.js'
import { until } from '../../support/until.js'

/** Nobody is turned away, and a slow answer fails nothing. */
const PATIENT = { MAX_QUEUE_MS: '0', MAX_LOOP_DELAY_MS: '0', POOL_CONNECT_TIMEOUT_MS: '30000' }
const SHORT = ['--duration', '500ms', '--warmup', '200ms', '--slo-p99', '10s']

t.test('a ladder of rates, on a database of ours, is cut off and completed', async (t) => {
  const { url } = await newDatabase(t)
  const { out, run, trials } = await smoke(t, 'sweep', [...SHORT, '--rates', '100,200'], { databaseUrl: url })
  t.strictSame(
    trials.map(({ load, settings }) => [load.driver, load.rate_rps, settings.INSERT_MODE]),
    [
      ['paced', 100, 'batched'],
      ['paced', 200, 'batched'],
    ],
  )
  for (const { traffic, load, probes } of trials) {
    t.equal(traffic.sent, load.rate_rps / 2)
    t.strictSame(Object.keys(probes), ['api', 'postgres', 'generator', 'kernel'])
  }
  t.match(run.machine, { cpu_model: String, cores: Number, memory_bytes: Number, kernel: String })
  t.match(run.versions, { node: process.version, postgres: String, driver: /^paced/ })
  const report = fs.readFileSync(path.join(out, 'report.md'), 'utf8')
  const pictures = [...report.matchAll(/\]\((\w+\.svg)\)/g)].map(([, name]) => name)
  t.ok(pictures.length > 2, `${pictures}`)
  const missing = pictures.filter((name) => !fs.existsSync(path.join(out, name)))
  t.strictSame(missing, [], 'the pictures of the report')
  const stored = await rows(url, 'SELECT count(*)::int FROM redline_lab.users')
  t.equal(stored[0].count, 100 + 40, 'emptied before each trial')
})

/** @type {[driver: string, load: string[]][]} */
const OTHERS = [
  ['vegeta', ['--rates', '100']],
  ['autocannon', ['--connections', '4']],
  ['client', ['--connections', '4']],
  ['wrk', ['--connections', '4']],
  ['locust', ['--connections', '4']],
]

for (const [driver, load] of OTHERS) {
  t.test(`${driver}: every 201 is a row`, { skip: withoutDriver(driver) }, async (t) => {
    const { url } = await newDatabase(t)
    const out = path.join(temporaryFolder(t), 'run')
    const argv = ['sweep', ...SHORT, '--driver', driver, ...load, '--out', out]
    const { code, stderr } = await runHere(argv, { env: { DATABASE_URL: url, ...PATIENT } })
    t.equal(code, 0, stderr)
    const [{ traffic, load: shown }, ...more] = readTrials(out)
    t.strictSame([shown.driver, more], [driver, []])
    const cut = traffic.sent - traffic.completed
    t.ok(cut >= 0 && cut <= (['wrk', 'locust'].includes(driver) ? 4 : 0), `${cut} were cut off`)
    const unknown = cut + traffic.warmup_unanswered
    const lost = traffic.rows_stored - traffic.status[201]
    t.ok(traffic.status[201] > 0)
    t.ok(lost >= 0 && lost <= unknown, `${traffic.rows_stored} rows, ${traffic.status[201]} answers`)
  })
}

t.test('SIGKILL in mid-sweep leaves no process and a readable file, and --resume completes it', async (t) => {
  const temporary = temporaryFolder(t)
  const out = path.join(temporary, 'run')
  const argv = ['sweep', ...SHORT, '--rates', '100,200']
  // With a Postgres of its own, which has to go with it.
  const lab = startLab([...argv, '--out', out], { TMPDIR: temporary, ...PATIENT }, { stopsAt: 'trial 1:' })
  await lab.stderrHas('trial 1:')
  lab.child.kill('SIGKILL')
  await lab.ended
  await until('no process of the run', () => processesOf(temporary).length === 0, 60_000)
  const kept = readTrials(out)
  t.strictSame(
    kept.map(({ load }) => load.rate_rps),
    [100],
  )

  const { url } = await newDatabase(t)
  const elsewhere = await runHere(['sweep', '--resume', out], { env: { DATABASE_URL: url, ...PATIENT } })
  t.equal(elsewhere.code, 2)
  t.match(elsewhere.stderr, /expected the database of the run \(embedded, Postgres .*\), got given, Postgres /)
  const env = PATIENT
  const wrong = await runHere(['sweep', '--rates', '1', '--resume', out], { env })
  t.equal(wrong.code, 2)
  t.match(wrong.stderr, /--resume: expected the flags of the run in .* \(--duration 500ms .*\) or none/)
  const changed = await runHere(['sweep', '--resume', out], { env: { ...env, POOL_MAX: '7' } })
  t.equal(changed.code, 2)
  t.match(changed.stderr, /--resume: expected POOL_MAX=20, as when the run began, got POOL_MAX=7/)

  const before = readRun(out)
  fs.writeFileSync(`${out}/run.json`, JSON.stringify({ ...before, warnings: [...before.warnings, 'found before'] }))
  const resumed = await runHere([...argv, '--resume', out], { env })
  t.equal(resumed.code, 0, resumed.stderr)
  const trials = readTrials(out)
  t.strictSame(trials.slice(0, 1), kept)
  t.strictSame(
    trials.map(({ trial, load }) => [trial, load.rate_rps]),
    [
      [1, 100],
      [2, 200],
    ],
  )
  conserves(t, trials)
  const run = readRun(out)
  t.equal(run.interrupted, false)
  t.equal(run.warnings.filter((/** @type {string} */ text) => text === 'found before').length, 1)
})

// Side by side: the second waits for a deadline.
t.test('what breaks a run off', { jobs: 2 }, async (t) => {
  t.test('a service that dies in mid-trial ends the run with its last words', async (t) => {
    const { url } = await newDatabase(t)
    const out = path.join(temporaryFolder(t), 'run')
    // More than it comes to before it is killed, however late that is.
    const rates = Array(10).fill(100)
    const argv = ['sweep', ...SHORT, '--rates', rates.join(), '--out', out]
    const lab = startLab(argv, { DATABASE_URL: url, ...PATIENT })
    await lab.stderrHas('trial 1:')
    process.kill(readTrials(out)[0].target.pid, 'SIGKILL')
    const { code, stderr } = await lab.ended
    t.equal(code, 1)
    t.match(stderr, /no trustworthy answer: the run broke off: the API ended unexpectedly \(SIGKILL\)/)
    const trials = readTrials(out)
    t.ok(trials.length < rates.length)
    conserves(t, trials)
    const { problem, interrupted } = readRun(out)
    t.match(problem, /the run broke off/)
    t.equal(interrupted, false)
    t.match(fs.readFileSync(`${out}/report.md`, 'utf8'), /No trustworthy answer: the run broke off/)
  })

  t.test('a generator that is stopped breaks the run off, which keeps its trials and says why', async (t) => {
    const url = await httpServer(t, created)
    const out = path.join(temporaryFolder(t), 'run')
    const rates = [20, 30, 40, 50, 60, 70, 80, 90]
    const load = ['--duration=1s', '--warmup=200ms', '--timeout=200ms', '--connections=2', `--rates=${rates}`]
    const { child, ended, stderrHas } = startLab(['sweep', `--url=${url}`, ...load, `--out=${out}`])
    await stderrHas('trial 1:')
    /** @type {Set<string>} */
    const stopped = new Set()
    t.teardown(() => {
      for (const pid of stopped) if (isGenerator(pid)) signal(pid, 'SIGKILL')
    })
    // One that is stopped when it has nothing left to do is killed, and the run goes on: then the next one.
    await until('the run to break off', () => {
      for (const pid of generatorsOf(Number(child.pid))) if (signal(pid, 'SIGSTOP')) stopped.add(pid)
      return child.exitCode !== null
    })
    const { code, stderr } = await ended
    t.equal(code, 1)
    t.match(stderr, /the run broke off: expected the generator \(paced\) to end "\w+" within \d+/)
    const told = stderr.match(/^trial \d+:/gm) ?? []
    t.ok(told.length > 0 && told.length < rates.length, stderr)
    t.equal(readTrials(out).length, told.length)
    t.match(readRun(out).problem, /^the run broke off: expected the generator/)
    t.ok(stopped.size > 0)
    for (const pid of stopped) t.notOk(fs.existsSync(`/proc/${pid}`))
  })
})

/** @param {number} lab that may have ended */
function generatorsOf(lab) {
  const children = textOf(`/proc/${lab}/task/${lab}/children`).trim().split(' ')
  return children.filter(isGenerator)
}

/** @param {string} pid */
function isGenerator(pid) {
  return /generator\.js/.test(textOf(`/proc/${pid}/cmdline`))
}

/** @param {string} pid of a process that may have ended @param {NodeJS.Signals} name */
function signal(pid, name) {
  try {
    return process.kill(Number(pid), name)
  } catch {
    return false
  }
}

/** @param {string} file of a process that may have ended */
function textOf(file) {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
