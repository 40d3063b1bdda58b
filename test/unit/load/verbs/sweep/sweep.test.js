import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { markdownOf } from '../../../../../load/report/markdown.js'
import { framed } from '../../../../../load/run/frame.js'
import { sweep } from '../../../../../load/verbs/sweep/sweep.js'
import { refuses } from '../../../../support/refusals.js'
import { createService } from '../../../../support/simulated/service.js'
import { simulate } from '../../../../support/simulated/verb.js'

/** @import { Serve } from '../../../../support/simulated/service.js' */

const URL_FLAGS = ['--url', 'http://127.0.0.1:1/user']

/** What a sweep finds out about a simulated service. @param {any} t @param {string[]} argv @param {Serve} serve @param {Parameters<typeof simulate>[3]} [options] */
async function sweepOf(t, argv, serve, options) {
  const folder = path.join(t.testdir(), 'run')
  const ended = await simulate(sweep, [...argv, '--out', folder], serve, options)
  return {
    folder,
    ...ended,
    run: /** @type {any} */ (ended).run,
    records: /** @type {any[]} */ (/** @type {any} */ (ended).records),
  }
}

t.test('a response within the SLO is never too late for the timeout', async (t) => {
  const timeoutOf = (/** @type {object} */ flags) => Number(sweep.plan({ seed: 1, ...flags }, {}).timeout_s)
  t.equal(timeoutOf({}), 10)
  t.equal(timeoutOf({ 'slo-p99': 4000 }), 10)
  t.equal(timeoutOf({ 'slo-p99': 15_000 }), 30, 'nor does the backlog of a longer SLO count as soon enough')
  t.equal(timeoutOf({ slo: [{ p99_ms: 100, also_ms: { max: 8000 } }] }), 16, 'every bound counts')
  t.equal(timeoutOf({ 'slo-p99': 15_000, timeout: 15_000 }), 15, 'as asked: any answer will do')
  t.throws(
    () => timeoutOf({ 'slo-p99': 15_000, timeout: 14_000 }),
    /^--timeout: expected at least the longest bound of the SLO \(15s\), got 14s$/,
  )
})

t.test('a trial that passed at another speed of the core is marked wherever it is shown', async (t) => {
  const argv = ['--rates', '100,200,300,400', '--duration', '1s', '--warmup', '300ms']
  const { run, records } = await sweepOf(t, argv, createService({ capacity_rps: 10_000 }))
  const outcomesOf = (/** @type {(number | undefined)[]} */ work_ms) => {
    const measured = records.map((record, i) => {
      const api = { ...record.probes.api, cpu_us_per_request: work_ms[i] === 8 ? 40 : 20 }
      return { ...record, at: { phase: 'search' }, work_ms: work_ms[i], probes: { ...record.probes, api } }
    })
    const blocks = framed(sweep, sweep.analyse(run.plan, measured, run), run, measured)
    const tables = blocks.flatMap((block) => (block.kind === 'table' && block.head[0] === 'trial' ? [block] : []))
    return tables.map(({ rows }) => rows.map((row) => row.at(-1)))
  }
  const marked = ['pass', 'pass, not counted: core speed', 'pass', 'pass']
  t.strictSame(outcomesOf([4, 8, 4, 4.1]), [marked, marked], 'on the terminal and in the report')
  const plain = Array(4).fill('pass')
  t.strictSame(outcomesOf([]), [plain, plain], 'the speed was not measured')
})

t.test('a ladder of rates: a record each, and a report that is derived from them', async (t) => {
  const serve = createService({ capacity_rps: 10_000 })
  const argv = ['--rates', '300,600', '--duration', '1s', '--warmup', '300ms']
  const { code, stdout, stderr, folder, run, records } = await sweepOf(t, argv, serve)
  t.equal(code, 0, stderr)
  t.strictSame(
    records.map(({ trial, cell, experiment, load, outcome, limit }) => {
      return [trial, cell, experiment, load.driver, load.loop, load.rate_rps, outcome.verdict, limit.resource]
    }),
    [
      [1, null, 'sweep', 'paced', 'open', 300, 'pass', 'none-reached'],
      [2, null, 'sweep', 'paced', 'open', 600, 'pass', 'none-reached'],
    ],
  )
  t.match(run, { verb: 'sweep', capacity: { low_rps: 600, high_rps: null, trials: 2 }, interrupted: false })
  const whole = framed(sweep, sweep.analyse(run.plan, records, run), run, records)
  const blocks = whole.filter((block) => !('brief' in block))
  t.ok(fs.readFileSync(path.join(folder, 'report.md'), 'utf8').endsWith(`\n\n${markdownOf(blocks)}\n`))
  t.match(stdout, /\| +600\/s \| +600\/s \| +100 % \|.*\| pass +\|/)
  t.match(stdout, /Capacity: at least 600\/s/)
  t.match(stderr, /^trial 1: offered 300\/s, achieved 300\/s, pass/m, 'plain lines where stderr is no terminal')
})

t.test('a ladder of connections in a closed loop', async (t) => {
  const argv = ['--driver', 'autocannon', '--connections', '1,8']
  const { code, records } = await sweepOf(t, argv, createService({ capacity_rps: 10_000 }))
  t.equal(code, 0)
  const loads = records.map(({ load }) => [load.loop, load.rate_rps, load.connections])
  t.strictSame(loads, [
    ['closed', null, 1],
    ['closed', null, 8],
  ])
})

t.test('without rates: the capacity is searched for, and the limit named', async (t) => {
  const serve = createService({ capacity_rps: 2000, refusal: 429, noise: 0.005 })
  const { code, stdout, run, records } = await sweepOf(t, URL_FLAGS, serve)
  t.equal(code, 0)
  t.match(records[0], { experiment: 'sweep', at: { phase: 'plateau' }, load: { driver: 'autocannon', loop: 'closed' } })
  const { low_rps, high_rps, confidence, slo } = run.capacity
  t.ok(low_rps <= 2000 && high_rps >= 2000, `2000/s in ${low_rps} to ${high_rps}`)
  t.ok(high_rps / low_rps < 1.12, `${low_rps} to ${high_rps}: within +-5 %`)
  t.ok(confidence > 0.5 && confidence < 1, String(confidence))
  t.strictSame(slo, run.plan.slo)
  t.match(run.limit, { resource: 'rate-limit', confirmed: null }, 'nothing of a service behind a URL is ours to relax')
  t.match(stdout, /Capacity: [\d,.]+ to [\d,.]+\/s, ± [\d.]+ %/)
  t.match(stdout, /Limit: rate-limit: something in front of the service limits the rate/)
  t.match(stdout, /Parts of the service were not visible/)
})

t.test('--json prints the answer and nothing else', async (t) => {
  const { code, stdout, folder } = await sweepOf(t, ['--rates', '100', '--json'], createService({ capacity_rps: 1000 }))
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { verb: 'sweep', capacity: { low_rps: 100 }, folder })
})

t.test('a rate that is not met fails, and the capacity lies below it', async (t) => {
  const serve = createService({ capacity_rps: 200 })
  const { code, stdout, run, records } = await sweepOf(t, [...URL_FLAGS, '--rates', '20,400'], serve)
  t.equal(code, 0, 'the run answered')
  const verdicts = records.map(({ outcome }) => outcome.verdict)
  t.strictSame(verdicts, ['pass', 'fail'])
  t.match(run.capacity, { low_rps: 20, high_rps: 400 })
  t.match(stdout, /Capacity: 20 to 400\/s/)
})

t.test('acknowledged rows that are lost make the trials invalid, and the run has no answer', async (t) => {
  const lab = { onTrial: () => ({ rows_stored: 90 }) }
  const serve = createService({ capacity_rps: 1000 })
  const { code, stderr, records } = await sweepOf(t, ['--rates', '100', '--duration', '1s'], serve, { lab })
  t.equal(code, 1)
  t.match(stderr, /no trustworthy answer: 1 of the loads asked for had no valid trial/)
  const because = '100 requests were answered 201, 90 rows were stored (0 had no answer)'
  const outcomes = records.map(({ outcome }) => [outcome.verdict, outcome.because])
  t.strictSame(outcomes, Array(3).fill(['invalid', because]), 'it was repeated')
})

t.test('a load without a valid trial is named, with the reason', async (t) => {
  const serve = createService({ capacity_rps: 1000 })
  /** @type {Serve} */
  const loses = (step, trial) => ({ ...serve(step, trial), ...(step.load.rate_rps === 300 && { rows_stored: 90 }) })
  const { code, stderr } = await sweepOf(t, ['--rates', '200,300', '--duration', '1s'], loses)
  t.equal(code, 1)
  const rows = '300 requests were answered 201, 90 rows were stored (0 had no answer)'
  t.match(stderr, `no trustworthy answer: 1 of the loads asked for had no valid trial: 300/s (${rows})\n`)
})

t.test('a service that stops during a ladder has no capacity', async (t) => {
  const serve = createService({ capacity_rps: 900 })
  const dead = { ok_rps: 0, refused_rps: 0, refusal: 500, mean_ms: 1 }
  /** @type {Serve} */
  const stops = (step, trial) => {
    if (trial.trial === 1) return serve(step, trial)
    return { ...dead, errors: { 'server:refused': Math.round(Number(step.load.rate_rps) * step.load.duration_s) } }
  }
  const { code, stderr, run } = await sweepOf(t, [...URL_FLAGS, '--rates', '500,1000'], stops)
  t.equal(code, 1, 'whoever refuses all connections is not only swamped')
  t.match(stderr, /no trustworthy answer: after trial 1, every connection was refused: /)
  t.equal(run.capacity, null)
  /** @type {Serve} */
  const hangs = (step, trial) => {
    return trial.trial > 1 ? { ...dead, errors: { 'server:timeout': 1 } } : serve(step, trial)
  }
  const hung = await sweepOf(t, [...URL_FLAGS, '--rates', '1000,500'], hangs)
  t.equal(hung.code, 1)
  t.match(
    hung.stderr,
    /no trustworthy answer: after trial 1, not one request succeeded, even under a load under which some had: /,
  )
  const loops = ['--driver', 'autocannon', '--connections']
  const swamped = await sweepOf(t, [...loops, '1,8'], hangs)
  t.equal(swamped.code, 0, 'with more connections than before, it may only be swamped')
  const fewer = await sweepOf(t, [...loops, '8,1'], hangs)
  t.equal(fewer.code, 1)
})

t.test('a ladder repeats what contradicts itself by any of its SLOs', async (t) => {
  const serve = createService({ capacity_rps: 10_000 })
  // One stall that only the shorter SLO minds.
  /** @type {Serve} */
  const stalls = (step, trial) => (trial.trial === 1 ? { ...serve(step, trial), mean_ms: 60 } : serve(step, trial))
  const slos = ['--slo', 'p99<5s', '--slo', 'p50<50ms']
  const { records, run } = await sweepOf(t, [...URL_FLAGS, '--rates', '500,1000', ...slos], stalls)
  t.equal(records.filter(({ load }) => load.rate_rps === 500).length, 3)
  t.equal(run.capacities[1].low_rps, 1000)
})

t.test('a service that answers nothing right has no capacity to speak of', async (t) => {
  const serve = createService({ capacity_rps: 0, refusal: 500 })
  const { code, stderr } = await sweepOf(t, [...URL_FLAGS, '--rates', '20'], serve)
  t.equal(code, 1)
  t.match(stderr, /no trustworthy answer: not one request succeeded/)
})

t.test(
  'without a plateau no rate is made up; an https service is asked by a client that checks certificates',
  async (t) => {
    const serve = () => ({ ok_rps: 0, refused_rps: 100, refusal: 500, mean_ms: 1 })
    for (const [url, driver] of [
      ['http://127.0.0.1:1/', 'autocannon'],
      ['https://127.0.0.1:1/', 'workers'],
    ]) {
      const { code, stderr, records } = await sweepOf(t, ['--url', url], serve)
      t.equal(code, 1)
      t.match(stderr, /the closed loop that looks for the plateau found none/)
      t.not(records.length, 0)
      t.strictSame([...new Set(records.map(({ load }) => `${load.loop} ${load.driver}`))], [`closed ${driver}`])
    }
  },
)

t.test('a command line that makes no sense is refused with one line', async (t) => {
  const taken = t.testdir({ 'run.json': '{}', 'mix.json': '[{ "name": "a", "path": "/", "slo": "p99<5ms" }]' })
  await refuses(t, { sweep }, [
    [['--rates', 'fast'], /--rates: expected whole numbers .* got "fast"/],
    [
      ['--slo', 'p98<50ms'],
      /^redline: --slo: expected conditions such as p50<5ms,p99<50ms,success>=99.9%, each of p50, p90, p95, p99, p999, mean, max and success at most once, got "p98<50ms"\n$/,
    ],
    [['--slo', 'p99<5ms', '--slo', ''], /--slo: expected conditions .*, got ""/],
    [
      ['--slo', 'p99<5ms', '--slo', 'p50<5ms', '--driver', 'client'],
      /--slo: expected one for the closed-loop driver client, which finds no capacity, got 2/,
    ],
    [['--sustained', '10s'], /--sustained: expected more than 10s, .*, got 10s/],
    [['--sustained', '12s', '--slo-p99', '5s'], /--sustained: expected more than 15s, .*, got 12s/],
    [['--slo', 'p99<5ms', '--slo-p99', '5ms'], /--slo: cannot be combined with --slo-p99 or --slo-success/],
    [['--slo', 'p99<5ms', '--slo-success', '99'], /--slo: cannot be combined with/],
    [
      ['--driver', 'wrk', '--mix', path.join(taken, 'mix.json')],
      /--mix: expected a driver that counts by entry, as its entries have SLOs, got wrk/,
    ],
    [['--out', taken], /--out: expected a folder without a run/],
    [['--resume', path.join(taken, 'nothing')], /expected a results folder/],
    [['--driver', 'autocannon', '--url', 'https://127.0.0.1:1'], /does not check certificates/],
  ])
})

t.test('--help has an example and needs nothing', async (t) => {
  const { code, stdout } = await simulate(sweep, ['--help'], createService({ capacity_rps: 1 }))
  t.equal(code, 0)
  t.match(stdout, /--rates A,B,C[\s\S]*Examples:\n {2}npm run sweep/)
})
