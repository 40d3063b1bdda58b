import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { UsageError } from '../../../../load/command/errors.js'
import { parseCommand } from '../../../../load/command/flags.js'
import { connectionsFor } from '../../../../load/generators/connections.js'
import { createMix } from '../../../../load/generators/mix.js'
import { skippedText } from '../../../../load/generators/replay.js'
import { keptPlan, lacksCredentials, livePlan } from '../../../../load/run/plan-secrets.js'
import { sweep } from '../../../../load/verbs/sweep/sweep.js'
import { caught } from '../../../support/caught.js'
import { createService } from '../../../support/simulated/service.js'
import { memoryFolder, simulate } from '../../../support/simulated/verb.js'

/** 100 requests in 10 s, half of them in one second. @param {any} t */
function logFile(t) {
  const at_s = (/** @type {number} */ i) => (i < 50 ? i / 50 : 1 + ((i - 50) / 49) * 8.9)
  const rows = Array.from({ length: 100 }, (_, i) => ({
    ts: 1e9 + at_s(i),
    method: 'GET',
    path: `/${i % 7}?key=hunter2`,
  }))
  const file = path.join(t.testdir(), 'access.log')
  fs.writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'))
  return file
}

const URL_FLAGS = ['--url', 'http://127.0.0.1:1/']

/** @param {string[]} argv */
const planOf = (...argv) => sweep.plan(parseCommand(sweep.flags, [...URL_FLAGS, ...argv]).given, {})

t.test('the plan of a replay: figures of the log, without its content, as a resumed run finds it', async (t) => {
  const file = logFile(t)
  const plan = planOf('--replay', file, '--seed', '1', '--header', 'Accept: a/b')
  t.match(plan, { driver: 'paced', arrivals: 'recorded', searches: true, rates_rps: null })
  t.match(plan.mix.replay, { file, requests: 100, peak_rps: 50, skipped: { lines: 100 } })
  t.strictSame(plan.mix.replay?.methods, ['GET'])
  const kept = keptPlan(plan)
  t.notMatch(JSON.stringify(kept), 'hunter2')
  t.strictSame(livePlan(kept), livePlan(plan))
  t.notOk(lacksCredentials(keptPlan(planOf('--replay', file))))
  const mix = createMix(livePlan(kept).mix, 1)
  t.strictSame(mix(3), { name: file, method: 'GET', path: '/3?key=hunter2', headers: [['Accept', 'a/b']], body: '' })
  t.strictSame(
    [99, 100, 207].map((i) => mix(i).path),
    ['/1?key=hunter2', '/0?key=hunter2', '/0?key=hunter2'],
    'again from the start',
  )
  fs.appendFileSync(file, '\n')
  t.match(caught(() => livePlan(kept)).message, /^--replay: expected .*access\.log as it was when the run began \(/)
})

t.test('--speed: multiples of the recorded rate, each as long as the log takes', async (t) => {
  const plan = planOf('--replay', logFile(t), '--speed', '0.5,2,100')
  t.equal(plan.searches, false)
  /** @type {any[]} */
  const records = []
  for (let step = sweep.design(plan, records, []); step; step = sweep.design(plan, records, [])) {
    records.push({ load: step.load, outcome: { verdict: 'pass' } })
  }
  t.strictSame(
    records.map(({ load }) => [load.rate_rps, load.duration_s, load.arrivals]),
    [
      [5, 20, 'recorded'],
      [20, 5, 'recorded'],
      [1000, 1, 'recorded'],
    ],
    'a second at least',
  )
})

t.test('a replay gets as many connections as its busiest second needs', async (t) => {
  const plan = planOf('--replay', logFile(t))
  t.strictSame(connectionsFor({ ...plan, connections_max: 20_000 }, 1000).connections, 600)
})

t.test('a replay that makes no sense is refused with one line', async (t) => {
  const file = logFile(t)
  const rows = /** @type {[string[], RegExp][]} */ ([
    ...[
      ['--mix', 'a'],
      ['--body', 'a=1'],
      ['--method', 'GET'],
      ['--rates', '1'],
      ['--arrivals', 'even'],
    ].map((other) => [['--replay', file, ...other], new RegExp(`^${other[0]}: cannot be combined with --replay`)]),
    [['--replay', file, '--driver', 'wrk'], /^--replay: expected --driver paced, got wrk$/],
    [['--replay', file, '--speed', '1', '--duration', '1s'], /^--duration: cannot be combined with --speed/],
    [['--replay', file, '--speed', '1', '--sustained', '9s'], /^--sustained: expected an open-loop search/],
    [
      ['--replay', file, '--speed', '0.0001'],
      /^--speed 0\.0001: expected at most 1000000 requests\/s and 24 h, got 0\.001\/s for 27\.778 h$/,
    ],
    [['--speed', '1'], /^--speed: requires --replay$/],
    ...['0', '1001', '1e3', '1,', 'x'].map((speed) => [['--speed', speed], /^--speed: expected numbers above 0/]),
    [['--replay', path.dirname(file)], /^--replay: expected a regular file, got .*, which is not one$/],
    [['--replay', '/no/such/file'], /^--replay: expected a file that can be read, got ENOENT/],
  ])
  t.match(caught(() => sweep.plan({ replay: file }, {})).message, /^--replay: requires --url/)
  for (const [argv, message] of rows) {
    const error = caught(() => planOf(...argv))
    t.type(error, UsageError, argv.join(' '))
    t.match(error.message, message)
    t.notMatch(error.message, '\n')
  }
})

t.test('what is skipped is said in one line', async (t) => {
  const nothing = { lines: 9, not_understood: 0, first_line: null, methods: 0, paths: 0 }
  const said = (/** @type {object} */ some) => {
    const figures = { requests: 2, span_s: 1, mean_rps: 2, peak_rps: 2, methods: [] }
    return skippedText({ file: 'a.log', ...figures, skipped: { ...nothing, ...some } })
  }
  t.equal(said({}), null)
  const lines = said({ lines: 10_000, not_understood: 12, first_line: 17 })
  t.equal(lines, 'a.log: 12 of 10,000 lines were not understood, the first in line 17')
  t.equal(said({ paths: 2 }), 'a.log: requests left out: 2 for something that cannot be sent as a path')
})

t.test('a search by replay finds the capacity, as a multiple of the recorded load', async (t) => {
  const file = logFile(t)
  const argv = [
    ...URL_FLAGS,
    '--replay',
    file,
    '--seed',
    '1',
    '--no-proof',
    '--no-confirm',
    '--out',
    `${memoryFolder(t)}/replay`,
  ]
  const { code, run, records, stdout } = await simulate(sweep, argv, createService({ capacity_rps: 5000 }))
  t.equal(code, 0)
  const { low_rps, high_rps, times_recorded } = run.capacity
  t.ok(low_rps < 5300 && high_rps >= 5000, JSON.stringify(run.capacity))
  t.strictSame(times_recorded, {
    low: Number((low_rps / 10).toPrecision(3)),
    high: Number((high_rps / 10).toPrecision(3)),
  })
  t.match(run.replay, { file, requests: 100, mean_rps: 10 })
  t.match(
    stdout.replace(/\s+/g, ' '),
    `${times_recorded.low} to ${times_recorded.high} times the recorded load (mean 10/s, busiest second 50/s)`,
  )
  const arrivals = new Set(records.map(({ load }) => `${load.loop} ${load.arrivals}`))
  t.strictSame([...arrivals], ['closed undefined', 'open recorded'])
})
