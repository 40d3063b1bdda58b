import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { edgesOf, intervalOf, nextTrial, SEARCH_DEFAULTS, searchProblem } from '../../../../load/capacity/search.js'
import { seededRandom } from '../../../../load/system/random.js'
import { CURVES } from '../../../../tuning/experiments/simulate/curves.js'
import { simulate, summarize, trialsOf } from '../../../../tuning/experiments/simulate/runs.js'

/** Of each kind of service; `npm run simulate` makes thousands. */
const RUNS = 60

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
  queue: { inside: 0.85, near: 0.98, bias: 0.02, worst: 0.15, trials: 17 },
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

/** Capacities of a service that a few seconds flatter, as 28,700/s measured over a minute did 33,500/s over two seconds. */
const LASTING_RPS = 28_700
const BRIEF_RPS = 33_500
const [LASTING_SPREAD, BRIEF_SPREAD] = [0.02, 0.06]

/** A search with sustained trials in such a service. @param {number} seed */
function sustainedSearch(seed) {
  const plan = { ...SEARCH_DEFAULTS, plateau_rps: 47_000, confirm_s: 60, sustains: true }
  const random = seededRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  /** @type {import('../../../../load/capacity/search.js').SearchTrial[]} */
  const trials = []
  for (let next = nextTrial(trials, plan); next; next = nextTrial(trials, plan)) {
    const isLong = next.duration_s >= plan.confirm_s
    const capacity_rps = isLong
      ? LASTING_RPS * Math.exp(LASTING_SPREAD * normal())
      : BRIEF_RPS * Math.exp(BRIEF_SPREAD * normal())
    const score = Math.max(-3, Math.min(3, 10 * Math.log(next.rate_rps / capacity_rps)))
    const kept_rps = isLong && score > 0.1 ? capacity_rps : null
    trials.push({ ...next, verdict: score > 0 ? 'fail' : 'pass', score, kept_rps })
  }
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
