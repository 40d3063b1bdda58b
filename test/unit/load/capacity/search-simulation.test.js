import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { edgesOf, intervalOf, nextTrial, SEARCH_DEFAULTS, searchProblem } from '../../../../load/capacity/search.js'
import { normal, seededRandom } from '../../../../load/system/random.js'
import { CURVES } from '../../../../tuning/experiments/simulate/curves.js'
import { simulate, summarize, trialsOf } from '../../../../tuning/experiments/simulate/runs.js'

/** Of each kind of service; `npm run simulate` makes thousands. */
const RUNS = 60

/** Rates have three digits: up to half a per cent is due to rounding. */
const ROUNDING = 0.005

/**
 * The trials of a search in a service. @param {import('../../../../load/capacity/search.js').SearchPlan} plan
 * @param {(next: import('../../../../load/capacity/search.js').NextTrial) => { score: number, kept_rps?: number | null }} serve
 */
function searchOf(plan, serve) {
  /** @type {import('../../../../load/capacity/search.js').SearchTrial[]} */
  const trials = []
  for (let next = nextTrial(trials, plan); next; next = nextTrial(trials, plan)) {
    const { score, kept_rps = null } = serve(next)
    trials.push({
      ...next,
      verdict: score > 0 ? 'fail' : 'pass',
      score: Math.max(-3, Math.min(3, score)),
      kept_rps,
    })
  }
  return trials
}

/** Neighbouring seeds start neighbouring sequences: the factor (Knuth) scatters them. @param {number} seed */
const scattered = (seed) => seededRandom(Math.imul(seed + 1, 2_654_435_761))

t.test('nextTrial: invalid trials are never counted, wherever they fall', async (t) => {
  const random = seededRandom(3)
  for (const name of ['slope', 'noisy', 'outliers']) {
    const runs = simulate(name, { runs: 20, seed: 11 })
    t.equal(runs.length, 20)
    const changed = runs.filter(({ trials: all, plan }) => {
      const i = Math.floor(random() * all.length)
      const invalid = { ...all[i], verdict: /** @type {const} */ ('invalid') }
      const withInvalid = [...all.slice(0, i), invalid, invalid, ...all.slice(i)]
      const [interval, next] = [intervalOf(withInvalid, plan), nextTrial(withInvalid.slice(0, i + 2), plan)]
      return !isDeepStrictEqual([interval, next], [intervalOf(all, plan), nextTrial(all.slice(0, i), plan)])
    })
    t.strictSame(changed, [], name)
  }
})

t.test('nextTrial: a run that was cut off goes on as if it had not been', async (t) => {
  for (const name of Object.keys(CURVES)) {
    const runs = simulate(name, { runs: 2, seed: 5 })
    t.equal(runs.length, 2)
    for (const { made: all, plan } of runs) {
      const kept = JSON.parse(JSON.stringify(all))
      const again = [...all, null].map((_, i) => nextTrial(trialsOf(kept.slice(0, i)), plan))
      t.strictSame(
        again.map((next) => next && { rate_rps: next.rate_rps, duration_s: next.duration_s }),
        [...all.map(({ rate_rps, duration_s }) => ({ rate_rps, duration_s })), null],
        name,
      )
    }
  }
})

/**
 * What holds for each kind of service with some margin, and does not for a search that is broken: the share of intervals
 * that hold the capacity, or miss it by 5 % at most; |bias| of the middle; how far off the worst is; trials of all but 5 %.
 */
const BOUNDS = /** @type {const} */ ({
  cliff: { inside: 0.85, near: 0.98, bias: 0.015, worst: 0.15, trials: 16 },
  slope: { inside: 0.8, near: 0.98, bias: 0.015, worst: 0.15, trials: 15 },
  noisy: { inside: 0.5, near: 0.85, bias: 0.025, worst: 0.25, trials: 20 },
  bistable: { inside: 0.5, near: 0.9, bias: 0.02, worst: 0.2, trials: 20 },
  outliers: { inside: 0.85, near: 0.97, bias: 0.015, worst: 0.15, trials: 16 },
  bursts: { inside: 0.82, near: 0.95, bias: 0.015, worst: 1, trials: 18 },
  wandering: { inside: 0.72, near: 0.98, bias: 0.015, worst: 0.15, trials: 15 },
  queue: { inside: 0.85, near: 0.98, bias: 0.015, worst: 0.15, trials: 22 },
  far: { inside: 0.8, near: 0.97, bias: 0.015, worst: 0.15, trials: 18 },
})

t.test('the search finds the capacity of synthetic services', async (t) => {
  const all = Object.entries(BOUNDS).flatMap(([name, { inside, near, bias, worst, trials }]) => {
    const runs = simulate(name, { runs: RUNS, seed: 7 })
    const found = summarize(runs)
    t.ok(found.inside >= inside, `${name}: the interval holds it: ${found.inside}`)
    t.ok(found.near >= near, `${name}: or misses it by 5 % at most: ${found.near}`)
    t.ok(Math.abs(found.bias) <= bias, `${name}: bias: ${found.bias}`)
    const off = Math.max(...runs.map(({ middle_rps, aim_rps }) => Math.abs(middle_rps / aim_rps - 1)))
    t.ok(off <= worst, `${name}: the worst is off by ${off}`)
    t.ok(found.trials_p95 <= trials, `${name}: trials: ${found.trials_p95}`)
    t.ok(found.unanswered <= 0.02, `${name}: without an answer: ${found.unanswered}`)
    return runs.filter(({ problem }) => problem === null)
  })
  const { inside, near } = summarize(all)
  t.ok(inside >= 0.9 && near >= 0.98, `all services: the interval holds it: ${inside}, or nearly: ${near}`)
  const stated = all.map(({ interval }) => Number(interval?.confidence))
  t.ok(Math.min(...stated) >= 0.9, `the least confidence that is stated: ${Math.min(...stated)}`)
})

t.test('a core that changes between two speeds takes more trials, but not the upper bound', async (t) => {
  const runs = simulate('two-speeds', { runs: RUNS, seed: 7 })
  const found = summarize(runs)
  t.ok(found.inside >= 0.85 && found.near >= 0.97, `the interval holds it: ${found.inside}, or nearly: ${found.near}`)
  t.ok(Math.abs(found.bias) <= 0.015, `bias: ${found.bias}`)
  const open = runs.filter(({ interval }) => !interval?.low_rps || !interval.high_rps)
  t.ok(open.length <= 0.05 * RUNS, `${open.length} of ${RUNS} are bounded on one side only`)
  t.ok(found.unanswered <= 0.08, `without an answer: ${found.unanswered}`)
})

t.test('the search says "at least" where the generator is the limit', async (t) => {
  const runs = simulate('generator-bound', { runs: RUNS, seed: 7 })
  const bound = runs.filter(({ interval }) => interval?.high_rps === null)
  t.ok(bound.length >= 0.98 * RUNS, `${bound.length} of ${RUNS} have no upper bound`)
  const found = summarize(runs)
  t.equal(found.inside, 1, 'and the capacity is above the lower one')
  t.ok(found.p5 > 0.8 && found.p95 < 1.05, `which is near to what the generator can do: ${found.p5} to ${found.p95}`)
  t.ok(found.trials_p95 <= 18, `trials: ${found.trials_p95}`)
})

/** Verdicts of services of another kind than those that `npm run simulate` knows. @type {Record<string, (x: number, random: () => number) => number>} */
const NOISY = {
  gentle: (x, random) => Math.max(-2.5, 3 * x) + 0.24 * normal(random),
  steep: (x, random) => Math.max(-2.5, 20 * x) + 1.5 * normal(random),
  'two outcomes': (x, random) => (random() < 1 / (1 + Math.exp(-x / 0.06)) ? 2.2 : -1.5) + 0.2 * normal(random),
}

t.test('how far repeated trials differ tells how wide the interval has to be', async (t) => {
  for (const [name, scoreAt] of Object.entries(NOISY)) {
    const found = Array.from({ length: 4 * RUNS }, (_, seed) => {
      const random = scattered(seed)
      const plan = { ...SEARCH_DEFAULTS, plateau_rps: 10_000 * Math.exp(0.6 * random() - 0.3) }
      const trials = searchOf(plan, ({ rate_rps }) => ({ score: scoreAt(Math.log(rate_rps / 10_000), random) }))
      return intervalOf(trials, plan)
    })
    const inside = found.filter((interval) => {
      return Number(interval?.low_rps) <= 10_000 && 10_000 <= (interval?.high_rps ?? Number.POSITIVE_INFINITY)
    })
    t.ok(inside.length >= 0.85 * found.length, `${name}: ${inside.length} of ${found.length} hold the capacity`)
  }
})

/**
 * A limiter that answers in the order of the requests. What is offered beyond its rate waits; the growth of its backlog tells what it
 * keeps up with. @param {number} slo_s @param {number} seed
 */
function limiterSearch(slo_s, seed) {
  const random = scattered(seed)
  const limit_rps = 1000 * (1 + random())
  const duration_s = Math.max(2, 3 * slo_s)
  const plan = {
    ...{ ...SEARCH_DEFAULTS, duration_s, max_duration_s: Math.max(10, duration_s), confirm_s: 4 * duration_s },
    plateau_rps: limit_rps * Math.exp(0.2 * random() - 0.1),
  }
  const trials = searchOf(plan, ({ rate_rps, duration_s }) => {
    const excess = Math.max(0, 1 - limit_rps / rate_rps)
    const p99_s = 0.005 * Math.exp(0.3 * normal(random)) + 0.99 * duration_s * excess
    const isGrowing = excess > 0.012
    return {
      score: Math.max(isGrowing ? 0.06 : -3, Math.log(p99_s / slo_s)),
      kept_rps: isGrowing ? limit_rps * Math.exp(0.001 * normal(random)) : null,
    }
  })
  const interval = intervalOf(trials, plan)
  return { limit_rps, interval, trials: trials.length, problem: searchProblem(trials, plan, interval) }
}

t.test(
  'both ends of the interval of a limiter lie within 4 % of its rate and the rounding, whatever the SLO',
  async (t) => {
    for (const slo_s of [0.02, 0.1, 1, 5]) {
      const found = Array.from({ length: RUNS }, (_, seed) => limiterSearch(slo_s, seed))
      const off = found.map(({ limit_rps, interval, problem }) =>
        problem
          ? 0
          : Math.max(...[interval?.low_rps, interval?.high_rps].map((rps) => Math.abs(Number(rps) / limit_rps - 1))),
      )
      const within = off.filter((share) => share <= 0.04 + ROUNDING)
      t.ok(
        within.length >= 0.95 * RUNS,
        `${slo_s} s: ${within.length} of ${RUNS}; the worst is ${Math.max(...off)} off`,
      )
      t.ok(found.filter(({ problem }) => problem === null).length >= 0.95 * RUNS, `${slo_s} s: answered`)
      t.ok(Math.max(...found.map(({ trials }) => trials)) <= 16, `${slo_s} s: trials`)
    }
  },
)

/** Capacities of a service that a few seconds flatter, as 28,700/s measured over a minute did 33,500/s over two seconds. */
const LASTING_RPS = 28_700
const BRIEF_RPS = 33_500
const [LASTING_SPREAD, BRIEF_SPREAD] = [0.02, 0.06]

/** A search with sustained trials in such a service. @param {number} seed */
function sustainedSearch(seed) {
  const plan = { ...SEARCH_DEFAULTS, plateau_rps: 47_000, confirm_s: 60, sustains: true }
  const random = seededRandom(seed)
  const trials = searchOf(plan, ({ rate_rps, duration_s }) => {
    const isLong = duration_s >= plan.confirm_s
    const [center_rps, spread] = isLong ? [LASTING_RPS, LASTING_SPREAD] : [BRIEF_RPS, BRIEF_SPREAD]
    const capacity_rps = center_rps * Math.exp(spread * normal(random))
    const score = 10 * Math.log(rate_rps / capacity_rps)
    return { score, kept_rps: isLong && score > 0.1 ? capacity_rps : null }
  })
  const held = trials.filter(({ verdict, duration_s }) => verdict === 'pass' && duration_s >= plan.confirm_s)
  const interval = intervalOf(trials, plan)
  return {
    low_rps: Number(edgesOf(trials, plan)?.low_rps),
    held_rps: Math.max(0, ...held.map(({ rate_rps }) => rate_rps)),
    high_rps: Number(interval?.high_rps),
    problem: searchProblem(trials, plan, interval),
  }
}

t.test('the answer of a sustained search is a rate that lasts, where short trials take more', async (t) => {
  const searches = Array.from({ length: RUNS }, (_, seed) => sustainedSearch(seed))
  const answered = searches.filter(({ problem }) => problem === null)
  t.ok(answered.length >= 0.95 * RUNS, `answered: ${answered.length}`)
  for (const { low_rps, held_rps } of answered) t.ok(held_rps >= low_rps, `${held_rps} of ${low_rps} lasted`)
  const known = answered.filter(({ high_rps }) => high_rps < BRIEF_RPS)
  t.ok(known.length >= 0.9 * RUNS, `the short trials' capacity is excluded: ${known.length}`)
})
