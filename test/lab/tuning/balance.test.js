import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { freePorts } from '../../../load/ports.js'
import { seededRandom } from '../../../load/random.js'
import { choose, createState, decay, observe, PUBLISHED_PARAMETERS } from '../../../tuning/balance/adaptive.js'
import { pinningText } from '../../../tuning/balance/cores.js'
import { Latencies } from '../../../tuning/balance/digest.js'
import { answerOf, unevenEndpoints } from '../../../tuning/balance/endpoints.js'
import { processFigures, strategyFigures } from '../../../tuning/balance/figures.js'
import { allLower, fewSamples, gainsOf, PUBLISHED, publishedAt, QUANTILES } from '../../../tuning/balance/gains.js'
import { findHaproxy, haproxyConfig } from '../../../tuning/balance/haproxy.js'
import { FLAGS, planOf } from '../../../tuning/balance/plan.js'
import { leavingOf, queuedRatio, sharesOf } from '../../../tuning/balance/shares.js'
import { quantilesOf, simulate } from '../../../tuning/balance/simulate.js'
import { nextStep, partsOf, strategiesOf, trialsOf } from '../../../tuning/balance/steps.js'
import { balanceReport, balanceText } from '../../../tuning/balance/tables.js'
import { answerSentences, haproxyAgainstAdaptive, shapeText } from '../../../tuning/balance/verdict.js'
import { NO_MEMORY, worlds } from '../../../tuning/balance/worlds.js'
import { readRun, readTrials, runVerb, temporaryFolder } from '../../support/lab.js'
import { httpServer, refusingUrl } from '../../support/servers.js'

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
    // Draws of its own: where there is nothing to gain, the same ones would be the same latencies.
    const adaptive = simulate({ ...options, seed: 2, world, strategy: 'adaptive' })
    return { name: world.name, round_robin, adaptive, gains: gainsOf(round_robin, adaptive) }
  })
  const [none, spells, uneven] = found
  for (const gain of Object.values(none.gains)) t.ok(Math.abs(gain - 1) < 0.03, `nothing to gain: ${gain}`)
  t.equal(allLower(none.gains), false)
  t.equal(allLower(spells.gains), true, JSON.stringify(spells.gains))
  t.equal(allLower(uneven.gains), true, JSON.stringify(uneven.gains))
  t.ok(uneven.adaptive.error_ratio < uneven.round_robin.error_ratio)
  t.ok(uneven.round_robin.shares.every((share) => Math.abs(share - 1 / 6) < 1e-3))
  t.ok(uneven.adaptive.shares[0] > uneven.adaptive.shares[3], 'the cached one gets more than the slow one')
  t.equal(allLower(gainsOf(PUBLISHED.round_robin, PUBLISHED.adaptive)), true, 'as published')
  const [again] = worlds(6, { count: 1, extra_ms: 250 }).slice(1)
  t.strictSame(
    simulate({ ...options, seed: 2, world: again, strategy: 'adaptive' }),
    spells.adaptive,
    'the same seed again',
  )
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
    records.push({ ...step, outcome: { verdict: 'pass' }, probes: { generator: {} } })
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
 * @param {Record<string, { p50: number, errors: number, leave_bins?: number, away?: boolean, queued?: number }>} strategies
 * @param {number} [blocks]
 */
function madeUp(strategies, blocks = 6) {
  const random = seededRandom(5)
  return Array.from({ length: blocks }, (_, block) =>
    Object.entries(strategies).flatMap(([strategy, { p50, errors, leave_bins = 20, away = false, queued = 0 }]) => {
      const noise = 0.95 + 0.1 * random()
      const ms = {
        p25: p50 * 0.8 * noise,
        p50: p50 * noise,
        p75: p50 * 1.5 * noise,
        p95: p50 * 2 * noise,
        mean: p50 * noise,
      }
      const traffic = { planned: 1000, ok: 1000 - Math.round(errors * noise), ok_latency_ms: ms, goodput_rps: 100 }
      const own = Array.from({ length: 60 }, (_, bin) => (bin >= 10 + leave_bins && (away || bin < 30) ? 0 : 3))
      const target = {
        ...{ bin_ms: 100, names: ['a', 'failing'], from_s: 1, to_s: 3 },
        endpoints: [
          { requests: Array(60).fill(3), errors: [], queued: [queued] },
          { requests: own, errors: [], queued: [] },
        ],
      }
      const probes = { generator: {}, target, api: { cpu_us_per_request: p50 * noise } }
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
  t.ok(worse.includes('time to leave the one that fails: stays (> 2.0 s) with haproxy-retry, 0.4 s with adaptive'))
  t.notOk(
    [...better, ...worse, ...even].some((line) => /^time to come back: .* haproxy-retry/.test(line)),
    'who never left cannot come back',
  )
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
  t.match(sentenceOf(200, 6), /All four are lower, at 95 % each: the published shape\. .*ours are uneven by design/)
  t.match(sentenceOf(200, 3), /Too few blocks to tell any of it from chance\./)
  t.match(sentenceOf(300, 6), /Whether all four are, as published, is not settled/)
  t.match(sentenceOf(400, 6), /Not lower, at 95 % each: p25, p50, p75, p95\. So not the published shape/)
})

t.test('what is not significant is not settled, and what is surely not lower is', async (t) => {
  const effect = (/** @type {number} */ low, /** @type {number} */ high, tied = low <= 1 && high >= 1) => {
    return /** @type {any} */ ({ ratio: Math.sqrt(low * high), low, high, tied })
  }
  const [lower, open, higher] = [effect(0.7, 0.9), effect(0.9, 1.1), effect(1.1, 1.3)]
  const of = (/** @type {any[]} */ [p25, p50, p75, p95]) => shapeText({ p25, p50, p75, p95 })
  t.match(of([lower, lower, lower, lower]), /All four are lower/)
  t.match(of([lower, lower, lower, open]), /^Lower, at 95 % each: p25, p50, p75\. .*is not settled/)
  t.notMatch(of([lower, lower, lower, open]), 'not the published shape')
  t.match(of([lower, lower, open, higher]), /^Lower, .*p25, p50\. Not lower, .*p95\. So not the published shape/)
  t.match(of([effect(0.7, 0.9, true), lower, lower, lower]), /is not settled/, 'the noise could have made it')
})

t.test('a herd is named where adaptive is surely slower and its requests queued', async (t) => {
  const sentence = (/** @type {any} */ adaptive, blocks = 6) => {
    const records = madeUp({ 'round-robin': { p50: 300, errors: 0, queued: 3 }, adaptive }, blocks)
    return answerSentences([], strategyFigures(JUDGED, records, 'crowded'), null)[0]
  }
  t.match(
    sentence({ p50: 400, errors: 0, queued: 60 }),
    /16\.7 % of adaptive's requests .* 0\.8 % of round robin's: until answers/,
  )
  t.match(sentence({ p50: 400, errors: 0, queued: 0 }), /queues do not explain it/)
  t.notMatch(sentence({ p50: 301, errors: 0, queued: 60 }), 'queued', 'it may be chance')
  t.notMatch(sentence({ p50: 400, errors: 0, queued: 60 }, 3), 'queued', 'too few blocks')
  const counts = {
    bin_ms: 100,
    names: [],
    from_s: 0,
    to_s: 0,
    endpoints: [{ requests: [4, 4], errors: [], queued: [0, 2] }],
  }
  t.equal(queuedRatio([counts, counts]), 1 / 4)
})

t.test('the simulation speaks of each number under way, and explains only what it knows', async (t) => {
  const gains = (/** @type {number} */ gain) => ({ p25_ms: gain, p50_ms: gain, p75_ms: gain, p95_ms: gain })
  const few = { samples: 20, draws: 2000, all_lower_ratio: 0.05, as_published_ratio: 0, half_of_draws: {} }
  const sentence = (/** @type {number[]} */ [none, uneven, noneMany, unevenMany]) => {
    const world = (/** @type {string} */ name, workers = 1, gain = 1) => ({ world: name, workers, gains: gains(gain) })
    const found = [
      world(NO_MEMORY, 1, none),
      world('uneven', 1, uneven),
      world(NO_MEMORY, 16, noneMany),
      world('uneven', 16, unevenMany),
    ]
    return answerSentences([], [], /** @type {any} */ ({ worlds: found, few }))[0]
  }
  const usual = sentence([1, 0.8, 1, 1.2])
  t.match(usual, 'With 1 under way all four percentiles are lower over "uneven", and not over "equal, no memory".')
  t.match(
    usual,
    'With 16 under way all four percentiles are lower over none, and not over "equal, no memory" and "uneven".',
  )
  t.match(usual, 'Over "equal, no memory" there is nothing to gain')
  t.notMatch(sentence([0.9, 0.8, 1, 1.2]), 'nothing to gain')
})

t.test('chance is that of the published quantiles', async (t) => {
  for (const name of QUANTILES) {
    t.ok(Math.abs(publishedAt(Number(name.slice(1, -3)) / 100) - PUBLISHED.round_robin[name]) < 1e-9, name)
  }
  t.ok(publishedAt(0) < publishedAt(0.25) && publishedAt(0.95) < publishedAt(1))
  const { all_lower_ratio, as_published_ratio, half_of_draws, samples } = fewSamples(1)
  t.equal(samples, 20)
  t.ok(all_lower_ratio > 0.01 && all_lower_ratio < 0.5, String(all_lower_ratio))
  t.equal(as_published_ratio, 0)
  for (const { p25, p75 } of Object.values(half_of_draws)) t.ok(p25 > 0.9 && p25 < p75 && p75 < 1.1, `${p25} to ${p75}`)
})

t.test('who is not seen to leave or to come back is not said to have taken so long', async (t) => {
  const plan = { ...JUDGED, sizes: { ...PLAN.sizes, failing: { ...SIZE, duration_s: 6 } }, endpoints: 2 }
  const records = madeUp({
    'round-robin': { p50: 300, errors: 100 },
    adaptive: { p50: 150, errors: 30, leave_bins: 4 },
    'haproxy-leastconn': { p50: 150, errors: 100, leave_bins: 1, away: true },
  })
  const text = balanceText({ plan }, records)
  t.match(text, /\| round-robin +\| +stays \(> 2\.0 s\) \| +never left \|/)
  t.match(text, /\| haproxy-leastconn +\| +0\.1 \[0\.1–0\.1\] s \| +stays away \(> 3\.0 s\) \|/)
  t.match(text, 'time to come back: stays away (> 3.0 s) with haproxy-leastconn, 0.0 s with adaptive')
  const [first, ...rest] = records.filter(({ cell }) => cell === 'failing/adaptive')
  const stay = madeUp({ adaptive: { p50: 150, errors: 30 } }, 1).filter(({ cell }) => cell === 'failing/adaptive')
  t.ok(first.experiment === stay[0].experiment)
  t.match(balanceText({ plan }, [...stay, ...rest]), /0\.4 \[0\.4–2\.0\] s \(> 2\.0 s in 1 of 6 trials\)/)
  t.match(text, /Of these \d+ comparisons each is made at 95 %, and none is corrected/)
  t.match(text, 'Not measured here: HAProxy speaks TLS')
  t.notMatch(text, /It is what to run/)
})

t.test('a late generator or a failing trial does not count, and a full generator gives no ratio', async (t) => {
  const records = madeUp({ 'round-robin': { p50: 300, errors: 0 }, adaptive: { p50: 200, errors: 0 } })
  const count = (/** @type {any[]} */ some) => trialsOf(some, 'overhead', 'adaptive').length
  const late = records.map((record) => ({
    ...record,
    probes: { ...record.probes, generator: { lateness_ms: { p50: 2, p95: 3 } } },
  }))
  const failed = records.map((record) => ({ ...record, outcome: { verdict: 'fail' } }))
  t.strictSame([count(records), count(late), count(failed)], [6, 0, 0])
  t.equal(strategyFigures(JUDGED, late).length, 0)
  t.match(
    balanceText({ plan: JUDGED }, late),
    /48 of 48 trials were left out: requests failed in 0, the generator was late in 48/,
  )
  const plan = { ...PLAN, parts: ['processes'] }
  const loaded = (/** @type {(cell: string) => number} */ ratioOf) => {
    return recordsOf({ ...plan, sizes: { ...PLAN.sizes, processes: { ...SIZE, blocks: 6 } } }).map((record) => ({
      ...record,
      settings: {},
      target: { cores: '0' },
      traffic: { goodput_rps: record.cell === 'processes/2' ? 1000 : 990, ok_latency_ms: { p50: 1 } },
      probes: { api: {}, generator: { cpu_core_ratio: ratioOf(record.cell) } },
    }))
  }
  const limited = (/** @type {any[]} */ some) => processFigures(plan, some).map(({ is_limited }) => is_limited)
  t.strictSame(limited(loaded(() => 0.5)), [false, false, false])
  t.strictSame(limited(loaded((cell) => (cell === 'processes/2' ? 0.95 : 0.5))), [false, false, true])
  t.match(
    balanceText(
      { plan },
      loaded(() => 0.95),
    ),
    /\| 2, behind HAProxy +\| .*\| the generator was the limit \|/,
  )
})

t.test('the report says what was pinned where', async (t) => {
  const cores = { api: '0', others: '1' }
  t.match(
    pinningText(cores, false),
    /^The balancer ran on core 0 alone, the endpoints, the generator and the lab on core 1\.$/,
  )
  t.match(pinningText(cores, true), /HAProxy was not pinned/)
  t.match(pinningText(null, true), /^Nothing was pinned: this system has one core/)
  const run = {
    plan: { ...planOf({ only: ['crowded'] }), haproxy: null },
    run_id: 'x',
    argv: [],
    pinning: 'Pinned so.',
    machine: {},
    versions: {},
  }
  t.match(balanceReport(run, []), '- Pinned so.')
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
    '--slots',
    '8',
    '--out',
    out,
    '--json',
  ]
  const { status, stdout, stderr } = await runVerb('balance', flags)
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
  const [roundRobin] = answer.crowded
  t.ok(roundRobin.queued_ratio > 0 && roundRobin.queued_ratio < 0.9, `${roundRobin.queued_ratio} queued`)
  const report = readFileSync(path.join(out, 'report.md'), 'utf8')
  t.match(report, /## Shares over time: crowded/)
  t.match(report, /- (The balancer ran on core \d+ alone, |Nothing was pinned: this system)/)
  t.match(report, /"Benchmarks" \(zeus-fyi\)/)
})

t.test('without HAProxy the run goes on, and says what installs it', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const flags = ['--only', 'simulation', '--samples', '500', '--haproxy', '/nowhere/haproxy', '--out', out]
  const { status, stdout, stderr } = await runVerb('balance', flags)
  t.equal(status, 0, stderr)
  t.match(stderr, /expected haproxy at \/nowhere\/haproxy, found none; sudo apt-get install haproxy installs it/)
  t.match(stdout, /published/)
  t.match(readFileSync(path.join(out, 'report.md'), 'utf8'), /published .*478 ms -> 384 ms, 0.80x/)
  t.match(readRun(out), { plan: { haproxy: null, samples: 500 }, simulation: { worlds: Array } })
})

t.test('a plan that would measure timeouts or the wait for a connection is refused', async (t) => {
  const plan = (/** @type {any} */ flags) => () => planOf({ haproxy: '/nowhere', ...flags })
  t.throws(plan({ slow: { count: 1, extra_ms: 20_000 } }), /--slow: expected less than 9400ms, .* got 20000ms/)
  t.throws(
    plan({ rate: 2000 }),
    /--rate: expected at most 256 requests under way at once, got \d+ \(strategies: 2000\/s/,
  )
  t.throws(plan({ rate: 500 }), /\(crowded: 1250\/s/)
  t.equal(plan({ rate: 2000, only: ['overhead'] })().sizes.strategies.rate_rps, 2000)
  t.equal(plan({ rate: 200 })().sizes.crowded.rate_rps, 500)
  t.equal(plan({ slow: { count: 1, extra_ms: 5000 } })().slow.extra_ms, 5000)
})

t.test('a factor that is allowed keeps the score of a fast endpoint, one that is refused loses it', async (t) => {
  const scoreWith = (/** @type {number} */ factor) => {
    let state = createState(1)
    const answer = { endpoint: 0, latency_ms: 1, status: 200 }
    for (let i = 0; i < 5000; i++) state = decay(observe(state, answer, SEEN, { ...P, factor }), P)
    return state.scores[0]
  }
  t.equal(FLAGS.factor.parse('0.3'), undefined)
  t.ok(scoreWith(0.3) < 1e-300)
  t.ok(scoreWith(Number(FLAGS.factor.parse('0.501'))) > 0.9)
  t.equal(FLAGS['error-factor'].parse('0.3'), undefined)
})

t.test('a command line that makes no sense is refused with one line', async (t) => {
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [['--slow', '2'], /--slow: expected a number and a time such as 1x250ms, got "2"/],
    [['--slow', '4x1s'], /--slow: expected at most 3 of 6 endpoints, got 4/],
    [['--endpoints', '3'], /--endpoints: expected a whole number from 4 to 50/],
    [['--factor', '0.5'], /--factor: expected a number above 0.5, at most 100/],
    [['--decay', '1.5'], /--decay: expected a number above 0, at most 1/],
    [['--only', 'all'], /--only: expected some of overhead,/],
  ]
  for (const [flags, message] of wrong) {
    const { status, stderr } = await runVerb('balance', flags)
    t.equal(status, 2, flags.join(' '))
    t.match(stderr, message)
    t.match(stderr, /^redline: [^\n]*\n$/)
  }
})
