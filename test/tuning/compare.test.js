import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { bucketOf, middleOf } from '../../load/drivers/client.js'
import { seededRandom } from '../../load/random.js'
import { histogramOf, percentileOf, samplesOf } from '../../tuning/compare/samples.js'
import { nextStep } from '../../tuning/compare/steps.js'
import { fitLaw, predictedRate } from '../../tuning/compare/usl.js'
import { answerSentence, differencesOf } from '../../tuning/compare/verdict.js'
import { postgres } from '../support/api.js'
import { readTrials, temporaryFolder } from '../support/lab.js'
import { created, httpServer } from '../support/servers.js'

const PLAN = /** @type {any} */ ({
  ...{ concurrency: [1, 10, 100], blocks: 10, ladders: 10, per_worker_rps: 50, duration_s: 1, rung_s: 1 },
  ...{ mix: { seed: 1 }, slo: { p99_ms: 10_000, success_ratio: 1 }, driver: 'paced' },
  sides: { a: { url: 'http://a/' }, b: { url: 'http://b/' } },
})

/**
 * A run against two made-up services.
 *
 * @param {{ b?: number, noise?: number, seed?: number, limit_rps?: number, limited?: string }} options b: times the latency
 *   of a; limited: the sides that refuse what is above limit_rps, at once
 */
function runOf({ b = 1, noise = 0.05, seed = 1, limit_rps = Number.POSITIVE_INFINITY, limited = 'ab' }) {
  const random = seededRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  /** @type {any[]} */
  const records = []
  const plan = { ...PLAN, mix: { seed } }
  for (let step = nextStep(plan, records); step && records.length < 1000; step = nextStep(plan, records)) {
    const { connections, rate_rps, per_worker_rps } = step.load
    const factor = (step.cell === 'b' ? b : 1) * Math.exp(noise * normal())
    const asked_rps = rate_rps ?? Math.min(2000 / factor, connections * (per_worker_rps || 1e9))
    const passed_rps = limited.includes(step.cell ?? '') ? Math.min(asked_rps, limit_rps) : asked_rps
    records.push({
      ...step,
      outcome: { verdict: passed_rps < asked_rps ? 'fail' : 'pass', because: 'made up' },
      traffic: {
        ok: 1,
        completed: asked_rps,
        goodput_rps: passed_rps,
        achieved_rps: asked_rps,
        success_ratio: passed_rps / asked_rps,
        status: { 201: passed_rps, ...(passed_rps < asked_rps && { 429: asked_rps - passed_rps }) },
        latency_ms: { p50: passed_rps < asked_rps ? 1 : 10 * factor, p99: 20 * factor },
        ok_latency_ms: { p50: 10 * factor, p99: 20 * factor },
      },
      limit: { resource: 'none-reached', evidence: [], runner_up: null, runner_up_evidence: [] },
    })
  }
  return records
}

t.test('two equals are tied in 19 of 20 runs', async (t) => {
  const runs = 100
  const tied = Array.from({ length: runs }, (_, seed) => differencesOf(PLAN, runOf({ seed }))).filter((differences) => {
    return differences.every((difference) => difference.tied)
  })
  t.ok(tied.length / runs >= 0.93, `${tied.length} of ${runs} are tied`)
  t.match(answerSentence(differencesOf(PLAN, runOf({ seed: 3 }))), /^Tied: nothing tells A from B \(p50 at 1, /)
})

t.test('a side that is slower by 10 % is found', async (t) => {
  const found = Array.from({ length: 40 }, (_, seed) => differencesOf(PLAN, runOf({ b: 1.1, noise: 0.03, seed })))
  const right = found.filter((differences) =>
    differences.some(({ tied, ratio, better }) => !tied && ratio > 1 === (better === 'less')),
  )
  t.ok(right.length >= 38, `${right.length} of 40`)
  t.match(answerSentence(found[0]), /B is worse than A in p50 at 1: 1\.\d\dx \[/)
  t.match(answerSentence(differencesOf(PLAN, [])), /Too few blocks/)
})

t.test('refusals are no throughput: the rate up to which there are none is searched for', async (t) => {
  const records = runOf({ limit_rps: 300, noise: 0 })
  const limit = records.filter(({ experiment }) => experiment.startsWith('limit/'))
  t.ok(limit.length > 5)
  t.strictSame([...new Set(limit.map(({ cell }) => cell))], ['a', 'b'])
  const ladder = records.filter(({ experiment }) => experiment.startsWith('max/0/0/'))
  t.ok(ladder.every(({ traffic }) => traffic.goodput_rps <= 300))
  t.equal(ladder.length, 2, 'a rung that brings no more is the last')
})

t.test('nor are they speed: who refuses is not compared by the latency of what is left', async (t) => {
  const differences = differencesOf(PLAN, runOf({ limit_rps: 1900, limited: 'b', noise: 0.01 }))
  t.match(
    differences.map(({ about, refused, pairs }) => [about, refused, pairs]),
    [
      ['p50 at 1', ['B'], 0],
      ['p50 at 10', ['B'], 0],
      ['p50 at 100', ['B'], 0],
      ['maximum rate', [], 10],
    ],
  )
  const sentence = answerSentence(differences)
  t.match(sentence, /Not compared: p50 at 1 \(B refused requests\), p50 at 10/)
  t.notMatch(sentence, /better/)
})

t.test('a run that was cut off goes on with the same trial', async (t) => {
  const records = runOf({})
  for (const length of [0, 1, 7, 33, records.length - 1]) {
    t.match(nextStep(PLAN, records.slice(0, length)), {
      experiment: records[length].experiment,
      cell: records[length].cell,
    })
  }
})

t.test('the scalability law gives its coefficients back', async (t) => {
  const law = { lambda_rps: 1000, sigma_ratio: 0.05, kappa_ratio: 0.0005 }
  const levels = [1, 2, 5, 10, 20, 50, 100]
  const exact = fitLaw(levels.map((n) => ({ concurrency: n, rps: predictedRate(law, n) })))
  t.ok(
    exact &&
      Math.abs(exact.lambda_rps - 1000) < 0.01 &&
      Math.abs(exact.sigma_ratio - 0.05) < 1e-6 &&
      Math.abs(exact.kappa_ratio - 0.0005) < 1e-8,
  )
  t.ok(Math.abs(Number(exact?.peak_concurrency) - Math.sqrt(0.95 / 0.0005)) < 0.01)
  const random = seededRandom(9)
  const noisy = fitLaw(
    [...levels, ...levels, ...levels].map((n) => ({
      concurrency: n,
      rps: predictedRate(law, n) * (0.97 + 0.06 * random()),
    })),
  )
  t.ok(
    noisy && Math.abs(noisy.sigma_ratio - 0.05) < 0.01 && Math.abs(noisy.kappa_ratio - 0.0005) < 0.0001,
    JSON.stringify(noisy),
  )
  const linear = fitLaw(levels.map((n) => ({ concurrency: n, rps: 10 * n })))
  t.match(linear, { peak_concurrency: null, limit_rps: null })
  const amdahl = fitLaw(levels.map((n) => ({ concurrency: n, rps: predictedRate({ ...law, kappa_ratio: 0 }, n) })))
  t.ok(amdahl && Math.abs(Number(amdahl.limit_rps ?? amdahl.peak_rps) - 20_000) < 200, JSON.stringify(amdahl))
  t.equal(
    fitLaw([1, 10, 10].map((n) => ({ concurrency: n, rps: n }))),
    null,
    'two levels tell nothing of three coefficients',
  )
})

t.test('samples of several trials are put together; a percentile that they cannot carry is not given', async (t) => {
  const buckets = (/** @type {number[]} */ latencies) => {
    /** @type {Record<string, number>} */
    const counts = {}
    for (const ms of latencies) counts[bucketOf(ms)] = (counts[bucketOf(ms)] ?? 0) + 1
    return /** @type {any} */ ({ traffic: { buckets: counts } })
  }
  const one = buckets(Array.from({ length: 50 }, (_, i) => i + 1))
  const other = buckets(Array.from({ length: 50 }, (_, i) => i + 51))
  const samples = samplesOf([one, other])
  t.equal(samples.total, 100)
  t.ok(Math.abs(Number(percentileOf(samples, 0.5)) - 50) < 2)
  t.equal(percentileOf(samples, 0.99), undefined)
  t.ok(percentileOf(samples, 0.9))
  const shares = histogramOf(samples, { from_ms: 0, to_ms: 100, count: 4 })
  t.ok(
    shares.every((share) => Math.abs(share - 0.25) < 0.03),
    `${shares}`,
  )
  t.ok(Math.abs(middleOf(bucketOf(123)) / 123 - 1) < 0.024)
})

/** @param {string[]} args @param {NodeJS.ProcessEnv} [env] */
async function run(args, env = process.env) {
  const child = spawn(process.execPath, ['tuning/cli.js', 'compare', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const [status] = await once(child, 'close')
  return { status, stdout, stderr }
}

t.test('two services of somebody else', async (t) => {
  const slow = await httpServer(t, (req, res) => void setTimeout(() => created(req, res), 20))
  const secret = 'Bearer of-nobody-else'
  let unauthorized = 0
  const quick = await httpServer(t, (req, res) => {
    if (req.headers.authorization !== secret) unauthorized++
    created(req, res)
  })
  const out = path.join(temporaryFolder(t), 'run')
  const flags = [
    '--header',
    `Authorization: ${secret}`,
    '--concurrency',
    '5',
    '--per-worker-rps',
    '100000',
    '--blocks',
    '1',
    '--duration',
    '300ms',
    '--quick',
    '--out',
    out,
  ]
  const { status, stdout, stderr } = await run(['--a', slow, '--b', quick, ...flags])
  t.equal(status, 0, stderr)
  t.match(stdout, /Too few blocks/)
  const trials = readTrials(out)
  const [a, b] = ['a', 'b'].map((name) => trials.find(({ cell }) => cell === name))
  t.ok(a.traffic.phases_ms.wait.p50 >= 19 && b.traffic.phases_ms.wait.p50 < 19)
  t.ok(a.traffic.phases_ms.connect.p50 >= 0)
  t.equal(a.traffic.rows_stored, null)
  t.match(readFileSync(path.join(out, 'report.md'), 'utf8'), /## Histograms/)
  t.equal(unauthorized, 0, 'the header is sent with each request')
  for (const file of readdirSync(out)) t.notMatch(readFileSync(path.join(out, file), 'utf8'), secret, file)
  const resumed = await run(['--resume', out])
  t.match(resumed, { status: 2, stderr: /credentials/ })
})

t.test('two files of settings for the local API', async (t) => {
  const embedded = await postgres(t)
  const folder = temporaryFolder(t)
  writeFileSync(path.join(folder, 'a.env'), 'INSERT_MODE=single\n')
  writeFileSync(path.join(folder, 'b.env'), 'INSERT_MODE=batched\nDB_DELAY_MS=5\n')
  const out = path.join(folder, 'run')
  const sides = ['--a', path.join(folder, 'a.env'), '--b', path.join(folder, 'b.env')]
  const flags = [
    '--concurrency',
    '1',
    '--per-worker-rps',
    '100000',
    '--blocks',
    '1',
    '--duration',
    '300ms',
    '--quick',
    '--out',
    out,
    '--json',
  ]
  const { status, stdout, stderr } = await run([...sides, ...flags], { ...process.env, DATABASE_URL: embedded.url })
  t.equal(status, 0, stderr)
  t.match(JSON.parse(stdout), { verb: 'compare', differences: [{ about: 'p50 at 1' }, { about: 'maximum rate' }] })
  const settings = Object.fromEntries(readTrials(out).map((record) => [record.cell, record.settings]))
  t.match(settings, { a: { INSERT_MODE: 'single' }, b: { INSERT_MODE: 'batched', DB_DELAY_MS: 5 } })
})

t.test('a command line that makes no sense is refused with one line', async (t) => {
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [[], /--a: expected the URL of a service that runs, or a file of settings/],
    [['--a', 'http://127.0.0.1:1/'], /--b: expected/],
    [['--a', 'nowhere.env', '--b', 'http://127.0.0.1:1/'], /--a: expected .* got "nowhere.env"/],
  ]
  for (const [flags, message] of wrong) {
    const { status, stderr } = await run(flags)
    t.equal(status, 2, flags.join(' '))
    t.match(stderr, message)
    t.match(stderr, /^redline: [^\n]*\n$/)
  }
})
