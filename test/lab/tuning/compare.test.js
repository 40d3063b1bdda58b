import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { pinningText } from '../../../load/bench.js'
import { bucketOf, middleOf } from '../../../load/drivers/client.js'
import { UsageError } from '../../../load/flags.js'
import { seededRandom } from '../../../load/random.js'
import { comparePictures } from '../../../tuning/compare/pictures.js'
import { histogramOf, percentileOf, samplesOf } from '../../../tuning/compare/samples.js'
import { ignoredSetting, openSide, sideFlag } from '../../../tuning/compare/sides.js'
import { maximaOf, nextStep } from '../../../tuning/compare/steps.js'
import { compareText } from '../../../tuning/compare/tables.js'
import { fitLaw, predictedRate } from '../../../tuning/compare/usl.js'
import { answerSentence, boundOf, differencesOf, problemOf } from '../../../tuning/compare/verdict.js'
import { caught } from '../../support/caught.js'
import { readTrials, runVerb, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { created, httpServer } from '../../support/servers.js'

const PLAN = /** @type {any} */ ({
  ...{ concurrency: [1, 10, 100], blocks: 10, ladders: 10, per_worker_rps: 50, duration_s: 1, rung_s: 1 },
  ...{ mix: { seed: 1 }, slo: { p99_ms: 10_000, success_ratio: 1 }, driver: 'paced' },
  sides: { a: { url: 'http://a/' }, b: { url: 'http://b/' } },
})

/**
 * A run against two made-up services.
 *
 * @param {{ b?: number, noise?: number, seed?: number, limit_rps?: number, limited?: string, refusal?: number, plan?: object, generator?: (step: any) => number, invalid?: (step: any) => boolean }} options b: times the latency
 *   of a; limited: the sides that refuse what is above limit_rps, at once, with this status; generator: cores that it uses
 */
function runOf(options) {
  const { b = 1, noise = 0.05, seed = 1, limit_rps = Number.POSITIVE_INFINITY, limited = 'ab', refusal = 429 } = options
  const { generator = () => 0.2, invalid = () => false } = options
  const random = seededRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  /** @type {any[]} */
  const records = []
  const plan = { ...PLAN, mix: { seed }, ...options.plan }
  for (let step = nextStep(plan, records); step && records.length < 1000; step = nextStep(plan, records)) {
    const { connections, rate_rps, per_worker_rps } = step.load
    const factor = (step.cell === 'b' ? b : 1) * Math.exp(noise * normal())
    const asked_rps = rate_rps ?? Math.min(2000 / factor, connections * (per_worker_rps || 1e9))
    const passed_rps = limited.includes(step.cell ?? '') ? Math.min(asked_rps, limit_rps) : asked_rps
    records.push({
      ...step,
      outcome: { verdict: invalid(step) ? 'invalid' : passed_rps < asked_rps ? 'fail' : 'pass', because: 'made up' },
      probes: { generator: { cpu_core_ratio: generator(step), cores: '0-3' } },
      traffic: {
        ok: 1,
        completed: asked_rps,
        goodput_rps: passed_rps,
        achieved_rps: asked_rps,
        success_ratio: passed_rps / asked_rps,
        status: { 201: passed_rps, ...(passed_rps < asked_rps && { [refusal]: asked_rps - passed_rps }) },
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

t.test('only what is answered 429 is a rate limit', async (t) => {
  const text = (/** @type {number} */ refusal) => {
    return compareText({ plan: PLAN }, runOf({ limit_rps: 300, noise: 0, limited: 'b', refusal }))
  }
  t.match(text(429), /B: rate limit between \d+.* and \d+.*\/s; what is above it is answered 429/)
  t.match(text(503), /B: from somewhere between \d+.* and \d+.*\/s on it refuses requests \(503\)/)
  t.notMatch(text(503), /B: rate limit/)
  const failing = runOf({ limit_rps: 300, noise: 0, limited: 'b', refusal: 429 }).map((record) => {
    const status = record.experiment.startsWith('limit/') ? { 201: 1, 500: 9 } : record.traffic.status
    return { ...record, traffic: { ...record.traffic, status } }
  })
  t.match(compareText({ plan: PLAN }, failing), /begins to fail, above all by 500: a rate limit is not known/)
})

t.test('with several requests in the mix, the rate limit is not looked for, and that is said', async (t) => {
  const plan = { mix: { seed: 1, entries: [{ name: 'create' }, { name: 'read' }] } }
  const records = runOf({ limit_rps: 300, noise: 0, plan })
  t.strictSame(
    records.filter(({ experiment }) => experiment.startsWith('limit/')),
    [],
  )
  t.match(
    compareText({ plan: { ...PLAN, ...plan } }, records),
    /A refused requests .*from which rate on was not looked for/,
  )
})

t.test('a maximum of the generator, or of the ladder, is no maximum of a service', async (t) => {
  const full = (/** @type {any} */ { cell, experiment }) => (cell === 'b' && experiment.startsWith('max/') ? 0.95 : 0.2)
  const records = runOf({ generator: full })
  t.equal(boundOf(records, 'a'), null)
  t.equal(boundOf(records, 'b'), 'the generator was the limit')
  const differences = differencesOf(PLAN, records)
  t.match(differences[3], { about: 'maximum rate', pairs: 0, bounded: ['B: the generator was the limit'] })
  t.match(answerSentence(differences), /Not compared: maximum rate \(B: the generator was the limit\)/)
  t.match(compareText({ plan: PLAN }, records), /\nB: at least [12],\d{3}\/s: the generator was the limit\.\n/)

  const plan = { per_worker_rps: 1 }
  const slow = runOf({ plan, noise: 0 })
  t.match(maximaOf(slow, 'a')[0], { rps: 640, workers: 640, rising: true })
  t.match(
    compareText({ plan: { ...PLAN, ...plan } }, slow),
    /A: at least 640\/s: the last rung, 640 workers, still brought more/,
  )
  t.match(answerSentence(differencesOf(PLAN, slow)), /Not compared: maximum rate \(A: the last rung/)
})

t.test('two that are alike by the generator alone are not tied', async (t) => {
  const full = (/** @type {any} */ { load }) => (load.connections === 100 ? 1 : 0.2)
  const [, , equal] = differencesOf(PLAN, runOf({ generator: full }))
  t.match(equal, { about: 'p50 at 100', bounded: ['the generator was the limit of A and B'] })
  const [, , slower] = differencesOf(PLAN, runOf({ generator: full, b: 2 }))
  t.match(slower, { tied: false, bounded: [] }, 'what differs all the same does')
})

t.test('a ladder of which a rung could not be had has no maximum', async (t) => {
  const invalid = (/** @type {any} */ { experiment, cell }) => cell === 'a' && /^max\/[02]\/\d\/20$/.test(experiment)
  const records = runOf({ invalid, noise: 0 })
  t.strictSame(
    maximaOf(records, 'a').map(({ block }) => block),
    [1, 3, 4, 5, 6, 7, 8, 9],
  )
  t.equal(differencesOf(PLAN, records)[3].pairs, 8)
  const cutOff = records.slice(
    0,
    records.findLastIndex(({ experiment }) => experiment.startsWith('max/')),
  )
  t.equal(maximaOf(cutOff, 'a').length + maximaOf(cutOff, 'b').length, 17, 'nor one that was cut off')
})

t.test('without a valid trial of a side there is no answer; who refuses always is said to', async (t) => {
  t.equal(problemOf(runOf({})), null)
  t.match(
    problemOf(runOf({ invalid: ({ cell }) => cell === 'b' })),
    /^B answered not one request with success in a valid/,
  )
  t.match(problemOf([]), /^A answered not one request/)
  const refusing = runOf({ limit_rps: 0, noise: 0 })
  t.equal(problemOf(refusing), null)
  const sentence = answerSentence(differencesOf(PLAN, refusing))
  t.match(sentence, /^Nothing tells A from B: A and B refused requests at every concurrency/)
  t.notMatch(sentence, /^Too few blocks/)
})

t.test('the law foretells no peak beyond what was measured, and leaves refusals out', async (t) => {
  const text = (/** @type {number} */ kappa_ratio, refused = false) => {
    const law = { lambda_rps: 100, sigma_ratio: 0, kappa_ratio }
    const records = runOf({ noise: 0 }).map((record) => {
      const { connections } = record.load
      const goodput_rps = predictedRate(law, connections)
      const status = refused && connections === 100 ? { 201: 1, 429: goodput_rps } : record.traffic.status
      const completed = refused && connections === 100 ? goodput_rps : record.traffic.completed
      return { ...record, traffic: { ...record.traffic, goodput_rps, completed, status } }
    })
    return compareText({ plan: PLAN }, records)
  }
  t.match(text(1 / 50 ** 2), /\/s at 50 workers/)
  t.match(text(1 / 1000 ** 2), /none in sight/)
  t.notMatch(text(1 / 1000 ** 2), /at 1,000 workers/)
  t.match(text(1 / 50 ** 2, true), /fewer than three levels/)
  const falling = fitLaw(
    [1, 2, 5, 10, 50].map((n) => {
      return { concurrency: n, rps: predictedRate({ lambda_rps: 100, sigma_ratio: 2, kappa_ratio: 0.01 }, n) }
    }),
  )
  t.match(falling, { peak_concurrency: 1, limit_rps: null }, 'with more contention than work it only falls')
})

t.test('what was measured lies on the fitted curve, in both pictures', async (t) => {
  const law = { lambda_rps: 100, sigma_ratio: 0.05, kappa_ratio: 0.0005 }
  const records = runOf({ noise: 0 }).map((record) => {
    const { connections } = record.load
    const goodput_rps = predictedRate(law, connections)
    const ok_latency_ms = { ...record.traffic.ok_latency_ms, mean: (1000 * connections) / goodput_rps }
    const status = { 201: record.traffic.completed }
    return { ...record, traffic: { ...record.traffic, goodput_rps, ok_latency_ms, status } }
  })
  const pictures = comparePictures({ plan: PLAN }, records)
  for (const name of ['latency', 'rate']) {
    const form = pictures.find((picture) => picture.name === name)?.form
    if (form?.kind !== 'xy') throw new Error(`expected a picture ${name}`)
    for (const side of ['A', 'B']) {
      const [points, curve] = [side, `${side}, fitted`].map(
        (of) => form.series.find((one) => one.name === of)?.points ?? [],
      )
      t.equal(points.length, 3)
      for (const [workers, value] of points) {
        const near = curve.find(([x]) => Math.abs(x / workers - 1) < 1e-9)
        t.ok(near && Math.abs(near[1] / value - 1) < 0.001, `${name} of ${side} at ${workers}: ${near?.[1]}, ${value}`)
      }
    }
  }
})

t.test('a side has settings that take effect, and no credentials in its URL', async (t) => {
  const folder = temporaryFolder(t)
  const file = (/** @type {string} */ text) => {
    writeFileSync(path.join(folder, 'a.env'), text)
    return path.join(folder, 'a.env')
  }
  t.strictSame(sideFlag('a').parse('http://127.0.0.1:1/user'), { url: 'http://127.0.0.1:1/user', file: null })
  t.equal(sideFlag('a').parse('http://bob:secret@127.0.0.1:1/user'), undefined)
  for (const line of ['DATABASE_URL=postgres://a/b', 'PGHOST=a', 'CONNECTIONS=fresh', 'GENERATOR=vegeta', 'PORT=1']) {
    t.match(
      caught(() => sideFlag('a').parse(file(line))),
      { message: new RegExp(`a.env: expected .*${line.split('=')[0]}`) },
      line,
    )
  }
  const found = { INSERT_MODE: 'single', BODY_LIMIT_BYTES: 16_384 }
  t.equal(ignoredSetting({ BODY_LIMIT_BYTES: '16384' }, found), null)
  t.match(ignoredSetting({ INSERT_MOD: 'single' }, found), /expected settings of the API .* got INSERT_MOD/)
  t.match(ignoredSetting({ BODY_LIMIT_BYTES: '5' }, found), /BODY_LIMIT_BYTES: expected 5 .* got 16384/)
})

t.test('a side that cannot be set ends the run with one line, instead of asking for it for ever', async (t) => {
  const folder = temporaryFolder(t)
  const file = path.join(folder, 'a.env')
  writeFileSync(file, 'BODY_LIMIT_BYTES=abc\n')
  const place = { databaseUrl: 'postgres://127.0.0.1:1/none', cores: null, allCores: null, env: process.env }
  const opening = openSide({ url: null, file }, { ...place, logFile: path.join(folder, 'api.log') })
  const error = await opening.catch((/** @type {Error} */ refusal) => refusal)
  t.ok(error instanceof UsageError)
  t.match(error, { message: /a\.env: BODY_LIMIT_BYTES: expected a whole number .* got "abc"$/ })
})

t.test('where things ran is the same whichever side is opened first', async (t) => {
  const bench = { database: { kind: 'embedded' }, cores: { api: '0', others: '1' } }
  const first = (/** @type {string | null} */ cores) => pinningText({ url: null }, bench, { cores })
  t.equal(first(null), first('0'))
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

t.test('two services of somebody else', async (t) => {
  const slow = await httpServer(t, (req, res) => void setTimeout(() => created(req, res), 20))
  const secret = 'Bearer of-nobody-else'
  let unauthorized = 0
  const quick = await httpServer(t, (req, res) => {
    if (req.headers.authorization !== secret || req.url !== '/user?key=of-nobody-else') unauthorized++
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
  const sides = ['--a', `${slow}?key=of-nobody-else`, '--b', `${quick}?key={{env REDLINE_TEST_KEY}}`]
  const env = { ...process.env, REDLINE_TEST_KEY: 'of-nobody-else' }
  const { status, stdout, stderr } = await runVerb('compare', [...sides, ...flags], env)
  t.equal(status, 0, stderr)
  t.match(stdout, /Too few blocks/)
  t.notMatch(stdout + stderr, 'of-nobody-else')
  const trials = readTrials(out)
  const [a, b] = ['a', 'b'].map((name) => trials.find(({ cell }) => cell === name))
  t.ok(a.traffic.phases_ms.wait.p50 >= 19 && b.traffic.phases_ms.wait.p50 < 19)
  t.ok(a.traffic.phases_ms.connect.p50 >= 0)
  t.equal(a.traffic.rows_stored, null)
  t.match(readFileSync(path.join(out, 'report.md'), 'utf8'), /## Histograms/)
  t.equal(unauthorized, 0, 'the header and the key are sent with each request')
  for (const file of readdirSync(out)) t.notMatch(readFileSync(path.join(out, file), 'utf8'), 'of-nobody-else', file)
  t.strictSame([a.target.url, b.target.url], [`${slow}?key=(withheld)`, `${quick}?key={{env REDLINE_TEST_KEY}}`])
  const resumed = await runVerb('compare', ['--resume', out], env)
  t.match(resumed, { status: 2, stderr: /expected the flags of the run .* again, since secrets .* were not kept/ })
  const repeated = await runVerb('compare', [...sides, ...flags.slice(0, -2), '--resume', out], env)
  t.equal(repeated.status, 0, repeated.stderr)
  t.equal(readTrials(out).length, trials.length, 'nothing was left to measure')
})

t.test('two files of settings for the local API', async (t) => {
  const embedded = await newDatabase(t)
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
  const { status, stdout, stderr } = await runVerb('compare', [...sides, ...flags], {
    ...process.env,
    DATABASE_URL: embedded.url,
  })
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
    const { status, stderr } = await runVerb('compare', flags)
    t.equal(status, 2, flags.join(' '))
    t.match(stderr, message)
    t.match(stderr, /^redline: [^\n]*\n$/)
  }
})
