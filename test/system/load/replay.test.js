import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { startGenerator } from '../../../load/generators/drive.js'
import { replayMix } from '../../../load/generators/replay.js'
import { runHere, trialHere } from '../../support/in-process.js'
import { readRun, readTrials, temporaryFolder } from '../../support/lab.js'
import { startHere } from '../../support/load.js'
import { httpServer } from '../../support/servers.js'

const START_S = 1_760_097_336
/** Two bursts, 1.5 s apart, and one more request. */
const BURSTS = Array.from({ length: 40 }, (_, i) => ({ at_s: i < 20 ? 0 : 1.5, path: `/${i}?token=hunter2` }))
const LOG = [...BURSTS, { at_s: 2, path: '/last' }].map(({ at_s, path }, i) => {
  return { time: START_S + at_s, method: i % 3 === 0 ? 'HEAD' : 'GET', path }
})
const ASKED = LOG.map(({ method, path }) => `${method} ${path}`)

/** @param {any} t @param {string[]} [more] lines */
function logFile(t, more = [], log = LOG) {
  const file = path.join(temporaryFolder(t), 'access.log')
  fs.writeFileSync(file, [...log.map((row) => JSON.stringify(row)), ...more].join('\n'))
  return file
}

/** A server that keeps what it was asked for, and when. @param {any} t */
async function recorder(t) {
  /** @type {{ asked: string, at_ms: number }[]} */
  const seen = []
  const url = await httpServer(t, (req, res) => {
    seen.push({ asked: `${req.method} ${req.url}`, at_ms: performance.now() })
    res.end('hello')
  })
  return { url, seen }
}

/** @param {string} url @param {string} file @param {object} [how] @returns {any} */
const loadOf = (url, file, how) => {
  const common = { driver: 'paced', arrivals: 'recorded', connections: 1, timeout_s: 5, trial: 1 }
  return { ...common, url, mix: replayMix(file, [], 1), rate_rps: 20, ...how }
}
const never = new AbortController().signal

t.test('a replay sends the requests of the log in their order and rhythm, and begins it again', async (t) => {
  const { url, seen } = await recorder(t)
  const generator = await startHere(loadOf(url, logFile(t)), never, () => {})
  t.teardown(() => generator.close())
  const begun_ms = performance.now()
  const { planned, ok, errors } = await generator.run(2.05)
  t.strictSame({ planned, ok, errors }, { planned: 41, ok: 41, errors: {} })
  t.strictSame(
    seen.map(({ asked }) => asked),
    ASKED,
  )
  t.ok(seen[20].at_ms - begun_ms >= 1499, 'the second burst is not early; evenly spaced, it would begin after 1 s')
  t.ok(seen[40].at_ms - begun_ms >= 1999, 'nor is what follows it')

  seen.length = 0
  await generator.run(4.5)
  t.strictSame(
    seen.map(({ asked }) => asked),
    [...ASKED, ...ASKED, ...ASKED].slice(0, 90),
  )
})

t.test('a replay over several connections sends each request as often as the log holds it', async (t) => {
  const { url, seen } = await recorder(t)
  const generator = await startHere(loadOf(url, logFile(t), { connections: 16, rate_rps: 200 }), never, () => {})
  t.teardown(() => generator.close())
  const { planned, ok, errors } = await generator.run(0.41)
  t.strictSame({ planned, ok, errors }, { planned: 82, ok: 82, errors: {} })
  t.strictSame(seen.map(({ asked }) => asked).sort(), [...ASKED, ...ASKED].sort())
})

t.test('a closed loop sends the requests of a log in their order', async (t) => {
  const { url, seen } = await recorder(t)
  for (const [driver, log] of /** @type {[string, typeof LOG][]} */ ([
    ['client', LOG],
    // It cannot do HEAD, so a log with that gets the other driver.
    ['autocannon', LOG.filter(({ method }) => method === 'GET')],
  ])) {
    seen.length = 0
    const file = logFile(t, [], log)
    const generator = await startHere(loadOf(url, file, { driver, rate_rps: null }), never, () => {})
    t.teardown(() => generator.close())
    t.strictSame((await generator.run(0.3)).errors, {})
    const asked = log.map(({ method, path }) => `${method} ${path}`)
    t.strictSame(
      seen.map((one) => one.asked),
      seen.map((_, i) => asked[i % asked.length]),
      driver,
    )
    t.ok(seen.length > 0)
  }
})

t.test('a log that changes during a run ends the run with one line', async (t) => {
  const { url, seen } = await recorder(t)
  const file = logFile(t)
  const load = loadOf(url, file)
  fs.appendFileSync(file, '\n')
  const { message } = await startGenerator(load, never, () => {}).catch((error) => error)
  t.match(
    message,
    /^--replay: expected .*access\.log as it was when the run began \([^\n]*: restore it, or begin a new run$/,
  )
  t.strictSame(seen, [])
})

t.test('sweep --replay --speed plays the whole log, and answers in multiples of its load', async (t) => {
  const { url, seen } = await recorder(t)
  const out = path.join(temporaryFolder(t), 'run')
  const file = logFile(t, ['hunter2', '', JSON.stringify({ ...LOG[0], method: 'POST' })])
  const flags = ['--replay', file, '--speed', '1,2', '--warmup', '100ms', '--slo-p99', '5s', '--out', out]
  const { code, stdout, stderr } = await runHere([url, ...flags], { lab: { runTrial: trialHere } })
  t.equal(code, 0, stderr)
  const warning = `${file}: 1 of 43 lines was not understood, the first in line 42; requests left out: 1 by other methods than GET and HEAD`
  t.match(stderr, `warning: ${warning}`)
  t.match(
    stderr,
    `To ${url}, Redline will send the 41 requests of ${file} (GET and HEAD) in their order and rhythm: about 88 within 4 s.`,
  )
  t.match(stdout.replace(/\s+/g, ' '), 'at least 2 times the recorded load (mean 20/s, busiest second 20/s)')
  // Each warm-up has begun the log.
  const times = (/** @type {string} */ asked) => seen.filter((one) => one.asked === asked).length
  t.strictSame([seen.length, times(ASKED[0]), times(ASKED[4]), times('GET /last')], [82 + 2 + 4, 4, 2, 2])
  t.strictSame(
    readTrials(out).map(({ load, traffic, outcome }) => [load.rate_rps, traffic.status, outcome.verdict]),
    [20, 40].map((rate_rps) => [rate_rps, { 200: 41 }, 'pass']),
  )
  const run = readRun(out)
  const skipped = { lines: 43, not_understood: 1, first_line: 42, methods: 1, paths: 0 }
  t.match(run.replay, { file, requests: 41, span_s: 2.05, mean_rps: 20, peak_rps: 20, skipped })
  t.match(run.capacity, { low_rps: 40, high_rps: null, times_recorded: { low: 2, high: null } })
  t.match(run.warnings[0], warning)
  for (const name of fs.readdirSync(out)) {
    t.notMatch(fs.readFileSync(`${out}/${name}`, 'utf8'), 'hunter2', `nothing of the log is in ${name}`)
  }
  t.match(await runHere(['sweep', '--resume', out]), { code: 0 }, 'it can be resumed')
  fs.utimesSync(file, 1, 1)
  const changed = await runHere(['sweep', '--resume', out])
  t.match(changed, { code: 2, stderr: /^redline: --replay: expected .* as it was when the run began \(/ })
})
