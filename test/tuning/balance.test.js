import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { freePorts } from '../../load/ports.js'
import { seededRandom } from '../../load/random.js'
import { choose, createState, decay, observe, PUBLISHED_PARAMETERS } from '../../tuning/balance/adaptive.js'
import { Latencies } from '../../tuning/balance/digest.js'
import { answerOf, unevenEndpoints } from '../../tuning/balance/endpoints.js'
import { strategyFigures } from '../../tuning/balance/figures.js'
import { allLower, gainsOf, PUBLISHED } from '../../tuning/balance/gains.js'
import { findHaproxy, haproxyConfig } from '../../tuning/balance/haproxy.js'
import { leavingOf, sharesOf } from '../../tuning/balance/shares.js'
import { quantilesOf, simulate } from '../../tuning/balance/simulate.js'
import { nextStep, partsOf, strategiesOf } from '../../tuning/balance/steps.js'
import { answerSentences, haproxyAgainstAdaptive } from '../../tuning/balance/verdict.js'
import { worlds } from '../../tuning/balance/worlds.js'
import { readRun, readTrials, temporaryFolder } from '../support/lab.js'
import { httpServer, refusingUrl } from '../support/servers.js'

const P = PUBLISHED_PARAMETERS
const NO_HAPROXY = 'this needs haproxy: apt-get install haproxy'
const SEEN = { samples: 20, median_ms: 100, p95_ms: 200 }

t.test('an answer multiplies the score of its endpoint by rank and factor', async (t) => {
  /** @type {[string, { latency_ms: number, status: number, samples?: number }, number][]} */
  const cases = [
    ['faster than the median', { latency_ms: 99, status: 200 }, 0.5 + 0.52],
    ['the median itself', { latency_ms: 100, status: 200 }, 0.75 + 0.52],
    ['up to the 95th percentile', { latency_ms: 200, status: 200 }, 0.75 + 0.52],
    ['beyond it', { latency_ms: 201, status: 200 }, 1 + 0.52],
    ['an error that came fast', { latency_ms: 5, status: 400 }, 0.5 + 3],
    ['an error that came late', { latency_ms: 999, status: 503 }, 1 + 3],
    ['too few samples yet', { latency_ms: 999, status: 503, samples: 19 }, 1],
  ]
  for (const [name, { samples = 20, ...answer }, score] of cases) {
    const before = createState(3)
    const after = observe(before, { endpoint: 1, ...answer }, { ...SEEN, samples }, P)
    t.strictSame(after.scores, [1, score, 1], name)
    t.strictSame(before.scores, [1, 1, 1], `${name}: the state before is what it was`)
  }
})

t.test('one score above 1 decays with each request, in turn, and large ones faster', async (t) => {
  const rounds = [0, 1, 2].reduce(
    (states) => [...states, decay(states[states.length - 1], P)],
    [{ scores: [2, 1, 4], turn: 0, first: 0 }],
  )
  t.strictSame(
    rounds.map(({ scores }) => scores),
    [
      [2, 1, 4],
      [2 * 0.95, 1, 4],
      [2 * 0.95, 1, 4 * 0.95],
      [2 * 0.95 * 0.95, 1, 4 * 0.95],
    ],
  )
  for (const [score, by] of [
    [100, 0.95],
    [101, 0.92],
    [1001, 0.9],
    [10_001, 0.8],
  ]) {
    t.equal(decay({ scores: [score], turn: 0, first: 0 }, P).scores[0], score * by, String(score))
  }
  t.strictSame(decay({ scores: [1, 0.9], turn: 0, first: 0 }, P).scores, [1, 0.9], 'nothing to decay')
})

t.test('the lowest score is chosen, whatever the scores', async (t) => {
  const scores = fc.array(fc.double({ min: 0.01, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(scores, fc.nat(), fc.nat(), (scores, turn, first) => {
      const before = { scores, turn: turn % scores.length, first: first % scores.length }
      const { endpoint, state } = choose(before, P)
      return state.scores.every((score) => score >= state.scores[endpoint])
    }),
  )
  let state = createState(3)
  const order = Array.from({ length: 6 }, () => {
    const chosen = choose(state, P)
    state = chosen.state
    return chosen.endpoint
  })
  t.strictSame(order, [0, 1, 2, 0, 1, 2], 'equal scores take turns')
})

t.test('the digest gives the median and the 95th percentile of what it was given', async (t) => {
  const [random, latencies] = [seededRandom(1), new Latencies()]
  const all = Float64Array.from({ length: 20_000 }, () => 50 + 500 * random() ** 2)
  let seen = { samples: 0, median_ms: 0, p95_ms: 0 }
  for (const latency_ms of all) seen = latencies.add(latency_ms)
  const exact = quantilesOf(all)
  t.equal(seen.samples, 20_000)
  t.ok(Math.abs(seen.median_ms / exact.p50_ms - 1) < 0.01, `${seen.median_ms} of ${exact.p50_ms}`)
  t.ok(Math.abs(seen.p95_ms / exact.p95_ms - 1) < 0.01, `${seen.p95_ms} of ${exact.p95_ms}`)
})

t.test('endpoints are uneven by design, as many as were asked for', async (t) => {
  const names = (/** @type {number} */ count, /** @type {number} */ slow) => {
    return unevenEndpoints(count, { count: slow, extra_ms: 250 }).map(({ name }) => name)
  }
  t.strictSame(names(6, 1), ['cached', 'cold', 'half-cached', 'slow', 'erring', 'recovering'])
  t.strictSame(names(4, 1), ['cached', 'slow', 'erring', 'recovering'])
  t.strictSame(names(8, 2), ['cached', 'cold', 'half-cached', 'cached-2', 'slow', 'slow-2', 'erring', 'recovering'])
  const [cached, cold, , slow, erring] = unevenEndpoints(6, { count: 1, extra_ms: 250 })
  const random = seededRandom(3)
  const of = (/** @type {typeof cached} */ endpoint, failing = false) => {
    return Array.from({ length: 2000 }, () => answerOf(endpoint, { failing, random }))
  }
  t.ok(of(cold).every(({ latency_ms }) => latency_ms >= 250 && latency_ms <= 600))
  t.ok(of(slow).every(({ latency_ms }) => latency_ms >= 300 && latency_ms <= 850))
  const fast = of(cached).filter(({ latency_ms }) => latency_ms <= 120).length / 2000
  t.ok(Math.abs(fast - 0.9) < 0.03, `${fast} cached`)
  const errors = of(erring).filter(({ status }) => status === 503).length / 2000
  t.ok(Math.abs(errors - 0.2) < 0.04, `${errors} errors`)
  t.ok(of(cached, true).every(({ status, latency_ms }) => status === 503 && latency_ms <= 5))
})

t.test('simulated, the published shape is there where endpoints differ for longer than an answer', async (t) => {
  const options = { samples: 20_000, workers: 1, parameters: P, seed: 1 }
  const found = worlds(6, { count: 1, extra_ms: 250 }).map((world) => {
    const round_robin = simulate({ ...options, world, strategy: 'round-robin' })
    const adaptive = simulate({ ...options, world, strategy: 'adaptive' })
    return { name: world.name, round_robin, adaptive, gains: gainsOf(round_robin, adaptive) }
  })
  const [none, spells, uneven] = found
  for (const gain of Object.values(none.gains)) t.ok(Math.abs(gain - 1) < 0.02, `nothing to gain: ${gain}`)
  t.equal(allLower(none.gains), false)
  t.equal(allLower(spells.gains), true, JSON.stringify(spells.gains))
  t.equal(allLower(uneven.gains), true, JSON.stringify(uneven.gains))
  t.ok(uneven.adaptive.error_ratio < uneven.round_robin.error_ratio)
  t.ok(uneven.round_robin.shares.every((share) => Math.abs(share - 1 / 6) < 1e-3))
  t.ok(uneven.adaptive.shares[0] > uneven.adaptive.shares[3], 'the cached one gets more than the slow one')
  t.equal(allLower(gainsOf(PUBLISHED.round_robin, PUBLISHED.adaptive)), true, 'as published')
  const [again] = worlds(6, { count: 1, extra_ms: 250 }).slice(1)
  t.strictSame(simulate({ ...options, world: again, strategy: 'adaptive' }), spells.adaptive, 'the same seed again')
})

t.test('the share of an endpoint, and how long it took to leave it and to come back', async (t) => {
  /** @param {(bin: number) => number} failing requests in a bin of the one that fails; the two others get 3 each */
  const counts = (failing) => {
    const of = (/** @type {(bin: number) => number} */ count) => Array.from({ length: 60 }, (_, bin) => count(bin))
    const none = of(() => 0)
    const errors = of((bin) => (bin >= 10 && bin < 30 ? failing(bin) : 0))
    return {
      ...{ bin_ms: 100, names: ['a', 'b', 'failing'], from_s: 1, to_s: 3 },
      endpoints: [
        { requests: of(() => 3), errors: none },
        { requests: of(() => 3), errors: none },
        { requests: of(failing), errors },
      ],
    }
  }
  /** @type {[string, (bin: number) => number, { leave_s: number | null, back_s: number | null, errors: number }][]} */
  const cases = [
    ['at once, and back at once', (bin) => (bin >= 10 && bin < 30 ? 0 : 3), { leave_s: 0, back_s: 0, errors: 0 }],
    [
      'after 0.4 s, back after 1.2 s',
      (bin) => (bin >= 14 && bin < 42 ? 0 : 3),
      { leave_s: 0.4, back_s: 1.2, errors: 12 },
    ],
    ['never', () => 3, { leave_s: null, back_s: null, errors: 60 }],
    ['left for good', (bin) => (bin >= 12 ? 0 : 3), { leave_s: 0.2, back_s: null, errors: 6 }],
    [
      'one request now and then is not back',
      (bin) => (bin < 12 || bin >= 50 ? 3 : bin % 10 === 0 ? 1 : 0),
      { leave_s: 0.2, back_s: 2, errors: 7 },
    ],
  ]
  for (const [name, failing, expected] of cases) t.strictSame(leavingOf(counts(failing), 2), expected, name)
  const shares = sharesOf([counts((bin) => (bin < 30 ? 3 : 0))], { slices: 2, duration_s: 6 })
  t.strictSame(shares, [
    [1 / 3, 1 / 2],
    [1 / 3, 1 / 2],
    [1 / 3, 0],
  ])
})

const SIZE = { blocks: 2, warmup_s: 1, duration_s: 2, rate_rps: 10 }
const PLAN = /** @type {any} */ ({
  parts: ['overhead', 'strategies', 'crowded', 'failing', 'processes', 'simulation'],
  sizes: { overhead: SIZE, strategies: SIZE, crowded: SIZE, failing: SIZE, processes: SIZE },
  processes: [1, 2],
  haproxy: 'haproxy',
  mix: { seed: 1 },
})

/** @param {any} plan */
function recordsOf(plan) {
  /** @type {any[]} */
  const records = []
  for (let step = nextStep(plan, records); step && records.length < 1000; step = nextStep(plan, records)) {
    records.push({ ...step, outcome: { verdict: 'pass' } })
  }
  return records
}

t.test('each strategy once in each block; a run that was cut off goes on with the same trial', async (t) => {
  const records = recordsOf(PLAN)
  for (const part of partsOf(PLAN)) {
    for (const block of [0, 1]) {
      const cells = records
        .filter(({ experiment }) => experiment.startsWith(`${part}/${block}/`))
        .map(({ cell }) => cell)
      t.strictSame(
        cells.sort(),
        strategiesOf(part, PLAN)
          .map((strategy) => `${part}/${strategy}`)
          .sort(),
      )
    }
  }
  for (const length of [0, 5, records.length - 1]) {
    t.match(nextStep(PLAN, records.slice(0, length)), {
      experiment: records[length].experiment,
      cell: records[length].cell,
    })
  }
  const bare = recordsOf({ ...PLAN, haproxy: null }).map(({ cell }) => cell)
  t.notOk(bare.some((cell) => /haproxy|processes\/[12]/.test(cell)))
  t.ok(['strategies/adaptive', 'failing/round-robin', 'processes/direct'].every((cell) => bare.includes(cell)))
})

/**
 * Made-up records of a run: latency and errors by strategy.
 *
 * @param {Record<string, { p50: number, errors: number, leave_bins?: number }>} strategies
 * @param {number} [blocks]
 */
function madeUp(strategies, blocks = 6) {
  const random = seededRandom(5)
  return Array.from({ length: blocks }, (_, block) =>
    Object.entries(strategies).flatMap(([strategy, { p50, errors, leave_bins = 20 }]) => {
      const noise = 0.95 + 0.1 * random()
      const ms = {
        p25: p50 * 0.8 * noise,
        p50: p50 * noise,
        p75: p50 * 1.5 * noise,
        p95: p50 * 2 * noise,
        mean: p50 * noise,
      }
      const traffic = { planned: 1000, ok: 1000 - Math.round(errors * noise), ok_latency_ms: ms, goodput_rps: 100 }
      const own = Array.from({ length: 60 }, (_, bin) => (bin >= 10 + leave_bins && bin < 30 ? 0 : 3))
      const target = {
        ...{ bin_ms: 100, names: ['a', 'failing'], from_s: 1, to_s: 3 },
        endpoints: [
          { requests: Array(60).fill(3), errors: [] },
          { requests: own, errors: [] },
        ],
      }
      const probes = { target, api: { cpu_us_per_request: p50 * noise } }
      return ['strategies', 'crowded', 'failing', 'overhead'].map((part) => {
        const experiment = `${part}/${block}/0`
        return /** @type {any} */ ({
          experiment,
          cell: `${part}/${strategy}`,
          traffic,
          probes,
          outcome: { verdict: 'pass' },
        })
      })
    }),
  ).flat()
}

const JUDGED = { ...PLAN, fails: { failing: { from_s: 1, to_s: 3 } } }

t.test('where HAProxy is better, where it is worse, and what the blocks cannot tell', async (t) => {
  const records = madeUp({
    'round-robin': { p50: 300, errors: 100 },
    adaptive: { p50: 150, errors: 30, leave_bins: 4 },
    'haproxy-leastconn': { p50: 150, errors: 100, leave_bins: 1 },
    'haproxy-retry': { p50: 100, errors: 1 },
  })
  const { better, worse, even } = haproxyAgainstAdaptive(JUDGED, records)
  t.ok(
    better.some((line) => /^p50 of haproxy-retry, uneven endpoints: 0\.\d\dx/.test(line)),
    better.join('\n'),
  )
  t.ok(better.includes('time to leave the one that fails: 0.1 s with haproxy-leastconn, 0.4 s with adaptive'))
  t.ok(better.some((line) => /^errors met by clients, one fails: 0.1 % with haproxy-retry/.test(line)))
  t.ok(worse.some((line) => /^errors met by clients, uneven endpoints: \d+\.\d % with haproxy-leastconn/.test(line)))
  t.ok(worse.includes('time to leave the one that fails: 2.0 s with haproxy-retry, 0.4 s with adaptive'))
  t.ok(
    even.some((line) => /^p50 of haproxy-leastconn, uneven endpoints/.test(line)),
    even.join('\n'),
  )
  const few = haproxyAgainstAdaptive(
    JUDGED,
    records.filter(({ experiment }) => experiment.split('/')[1] < 3),
  )
  t.strictSame([few.better, few.worse], [[], []], 'three blocks tell nothing')
})

t.test('the answer says whether the published shape is there', async (t) => {
  const sentenceOf = (/** @type {number} */ p50, /** @type {number} */ blocks) => {
    const records = madeUp({ 'round-robin': { p50: 300, errors: 0 }, adaptive: { p50, errors: 0 } }, blocks)
    return answerSentences(strategyFigures(JUDGED, records), [], null)[0]
  }
  t.match(sentenceOf(200, 6), /All four are lower: the published shape\./)
  t.match(sentenceOf(200, 3), /All four are lower, in too few blocks to tell it from chance\./)
  t.match(sentenceOf(300, 6), /beyond doubt none: not the published shape/)
  t.match(sentenceOf(400, 6), /Lower: none, beyond doubt none/)
})

const { program } = findHaproxy()

t.test('HAProxy takes the configuration that is written for it', { skip: program ? false : NO_HAPROXY }, async (t) => {
  const servers = [{ name: 'one', port: 8001 }]
  const file = path.join(temporaryFolder(t), 'haproxy.cfg')
  for (const balance of ['leastconn', 'random(2)']) {
    writeFileSync(file, haproxyConfig({ port: 8000, balance, servers, health: '/health', retries: true }))
    const { status, stderr } = spawnSync(String(program), ['-c', '-f', file], { encoding: 'utf8' })
    t.equal(status, 0, stderr)
  }
})

/** @param {any} t @param {'round-robin' | 'adaptive'} strategy @param {string[]} urls */
async function startProxy(t, strategy, urls) {
  const [port, adminPort] = await freePorts(2)
  const endpoints = urls.map((url, i) => ({ name: `endpoint-${i + 1}`, port: Number(new URL(url).port) }))
  const options = JSON.stringify({ strategy, endpoints, parameters: { ...P, min_samples: 1 }, port, adminPort })
  const child = spawn(process.execPath, ['tuning/balance/proxy.js', options], { stdio: 'inherit' })
  t.teardown(() => child.kill())
  const url = `http://127.0.0.1:${port}/`
  const state = async () => /** @type {any} */ (await (await fetch(`http://127.0.0.1:${adminPort}/state`)).json()).state
  while (!(await state().catch(() => null))) await new Promise((resolve) => setTimeout(resolve, 20))
  return { url, state }
}

t.test('the proxy passes requests and answers through, and says where they went', async (t) => {
  /** @type {any[]} */
  const seen = []
  const echo = await httpServer(t, (req, res) => {
    seen.push(req.headers)
    res.writeHead(201, { 'X-Own': 'yes', Connection: 'keep-alive, X-Hop', 'X-Hop': 'no' })
    req.pipe(res)
  })
  const { url } = await startProxy(t, 'round-robin', [echo, echo])
  const body = 'x'.repeat(300_000)
  const routes = []
  for (let i = 0; i < 3; i++) {
    const headers = { TE: 'trailers', 'X-Mine': 'yes' }
    const answer = await fetch(url, { method: 'POST', body, headers })
    t.equal(answer.status, 201)
    t.equal(await answer.text(), body, 'the body comes back whole')
    t.match(answer.headers.get('x-response-latency-milliseconds'), /^\d+$/)
    t.equal(answer.headers.get('x-own'), 'yes')
    t.equal(answer.headers.get('x-hop'), null, 'what is between two neighbours stays there')
    routes.push(answer.headers.get('x-selected-route'))
  }
  t.strictSame(routes, ['endpoint-1', 'endpoint-2', 'endpoint-1'])
  t.match(seen[0], { 'x-mine': 'yes', te: undefined, host: new URL(echo).host })
})

t.test('the adaptive proxy leaves an endpoint that nobody answers on', async (t) => {
  const fine = await httpServer(t, (_, res) => void res.end('fine'))
  const { url, state } = await startProxy(t, 'adaptive', [await refusingUrl(t), fine])
  const statuses = []
  for (let i = 0; i < 20; i++) statuses.push((await fetch(url)).status)
  t.equal(statuses[0], 502, 'the first one is tried')
  t.ok(statuses.filter((status) => status === 200).length >= 15, String(statuses))
  const { scores } = await state()
  t.equal(scores.length, 2)
})

t.test('an endpoint that breaks off in the middle of an answer is not taken for whole', async (t) => {
  const torn = await httpServer(t, (_, res) => {
    res.writeHead(200, { 'Content-Length': 100 })
    res.write('half')
    setImmediate(() => res.destroy())
  })
  const { url } = await startProxy(t, 'adaptive', [torn])
  await t.rejects(fetch(url).then((answer) => answer.text()))
})

/** @param {string[]} args */
async function run(args) {
  const child = spawn(process.execPath, ['tuning/cli.js', 'balance', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
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

t.test('balance, from end to end', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const flags = [
    '--quick',
    '--only',
    'crowded',
    '--blocks',
    '1',
    '--duration',
    '1s',
    '--endpoints',
    '4',
    '--out',
    out,
    '--json',
  ]
  const { status, stdout, stderr } = await run(flags)
  t.equal(status, 0, stderr)
  const answer = JSON.parse(stdout)
  t.match(answer, {
    verb: 'balance',
    crowded: [{ strategy: 'round-robin' }, { strategy: 'adaptive' }],
    simulation: null,
  })
  for (const { cell, traffic, probes } of readTrials(out)) {
    t.match(probes.target, { bin_ms: 100, names: ['cached', 'slow', 'erring', 'recovering'] }, cell)
    const counted = probes.target.endpoints.flatMap((/** @type {any} */ { requests }) => requests)
    const sum = counted.reduce((/** @type {number} */ total, /** @type {number} */ count) => total + count, 0)
    t.ok(Math.abs(sum - traffic.sent) <= 0.1 * traffic.sent, `${cell}: ${sum} of ${traffic.sent} requests were counted`)
    t.ok(traffic.latency_ms.p25 >= traffic.latency_ms.min)
  }
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /## Shares over time: crowded/)
  t.match(report, /"Benchmarks" \(zeus-fyi\)/)
})

t.test('without HAProxy the run goes on, and says what installs it', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const flags = ['--only', 'simulation', '--samples', '500', '--haproxy', '/nowhere/haproxy', '--out', out]
  const { status, stdout, stderr } = await run(flags)
  t.equal(status, 0, stderr)
  t.match(stderr, /expected haproxy at \/nowhere\/haproxy, found none; sudo apt-get install haproxy installs it/)
  t.match(stdout, /published .*478 ms -> 384 ms, 0.80x/)
  t.match(readRun(out), { plan: { haproxy: null, samples: 500 }, simulation: { worlds: Array } })
})

t.test('a command line that makes no sense is refused with one line', async (t) => {
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [['--slow', '2'], /--slow: expected a number and a time such as 1x250ms, got "2"/],
    [['--slow', '4x1s'], /--slow: expected at most 3 of 6 endpoints, got 4/],
    [['--endpoints', '3'], /--endpoints: expected a whole number from 4 to 50/],
    [['--decay', '1.5'], /--decay: expected a number above 0, at most 1/],
    [['--only', 'all'], /--only: expected some of overhead,/],
  ]
  for (const [flags, message] of wrong) {
    const { status, stderr } = await run(flags)
    t.equal(status, 2, flags.join(' '))
    t.match(stderr, message)
    t.match(stderr, /^redline: [^\n]*\n$/)
  }
})
