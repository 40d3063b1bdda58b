import t from 'tap'
import { answerOf, nextStep } from '../../../../load/capacity/capacity.js'
import { of, searchPlan } from '../../../../load/capacity/of-records.js'
import { nextTrial, SEARCH_DEFAULTS } from '../../../../load/capacity/search.js'
import { UNBOUNDED_MS } from '../../../../load/report/slo.js'
import { recordsOf } from '../../../support/simulated/records.js'
import { createService } from '../../../support/simulated/service.js'

const NO_P99 = { p99_ms: UNBOUNDED_MS, success_ratio: 1 }
/** Of the simulated queue, whose p99 is three times its mean of 5 ms + 0.1 ms x load / (1 - load): at 5000, 4545 and 3333/s. */
const SLOS = [
  { ...NO_P99, p99_ms: 100 },
  { ...NO_P99, also_ms: { p50: 6 } },
  { ...NO_P99, also_ms: { mean: 5.2 } },
]
const TRUE_RPS = [4967, 4545, 3333]
const PLAN = /** @type {any} */ ({
  ...{ driver: 'paced', url: null, mix: { method: 'POST' }, connections: [64], timeout_s: 10 },
  ...{ warmup_s: 0.5, duration_s: 2, slo: SLOS[0], slos: SLOS, searches: true, confirms: false },
})

/** @param {any} plan @param {object} [truth] */
function runOf(plan, truth) {
  return recordsOf(plan, nextStep, createService({ capacity_rps: 5000, ...truth }))
}

t.test('one search finds the capacity by each SLO, and makes only the trials that are missing', async (t) => {
  const records = runOf(PLAN)
  const { capacity, capacities = [], problem } = answerOf(PLAN, records)
  t.equal(problem, null)
  t.match(capacities[0], { ...capacity, problem: null }, 'the first is the answer')
  t.strictSame(
    capacities.map(({ slo }) => slo),
    SLOS,
  )
  for (const [i, { low_rps, high_rps, problem }] of capacities.entries()) {
    t.equal(problem, null)
    t.ok(Number(low_rps) <= TRUE_RPS[i] * 1.03 && Number(high_rps) >= TRUE_RPS[i] * 0.97, `${low_rps} to ${high_rps}`)
    t.ok(Number(high_rps) / Number(low_rps) < 1.15, `${low_rps} to ${high_rps}`)
  }
  const made = SLOS.map((_, i) => of(records, 'search').filter(({ at }) => (at.slo ?? 0) === i).length)
  const alone = SLOS.map((slo) => of(runOf({ ...PLAN, slo, slos: undefined }), 'search').length)
  t.equal(made[0], alone[0], 'the first search is as it would be alone')
  t.ok(made[1] > 0 && made[1] < alone[1] && made[2] < alone[2], `${made} instead of ${alone}`)
  t.strictSame(
    records.map(({ at }) => at.slo ?? 0),
    records.map(({ at }) => at.slo ?? 0).sort(),
    'in the order of the SLOs',
  )
})

t.test('the first SLO alone decides on the answer, and a further one that has none says why', async (t) => {
  const impossible = { ...NO_P99, also_ms: { p50: 1 } }
  const plan = { ...PLAN, slos: [SLOS[0], impossible] }
  const { capacity, capacities = [], problem } = answerOf(plan, runOf(plan))
  t.equal(problem, null)
  t.ok(Number(capacity?.low_rps) > 4500)
  t.match(capacities[1], { low_rps: null, slo: impossible })
  const one = answerOf({ ...PLAN, slos: undefined }, [])
  t.notOk('capacities' in one, 'none of a single SLO')
})

t.test('a run with several SLOs ends, however contradictory its trials are', async (t) => {
  const records = runOf(PLAN, { noise: 0.3, latency_noise: 0.3 })
  const made = SLOS.map((_, i) => of(records, 'search').filter(({ at }) => (at.slo ?? 0) === i).length)
  for (const number of made) t.ok(number <= 1.5 * SEARCH_DEFAULTS.max_trials, `${made}`)
})

t.test('a run that was cut off goes on with the same trial', async (t) => {
  const records = runOf(PLAN, { noise: 0.02 })
  const [plan, kept] = JSON.parse(JSON.stringify([PLAN, records]))
  t.ok(kept.length > 20)
  for (const [i, { at, load }] of kept.entries()) {
    const next = nextStep(plan, kept.slice(0, i))
    t.strictSame([next?.at, next?.load.rate_rps], [at, load.rate_rps], `trial ${i + 1}`)
  }
})

t.test('trials of other searches inform a search, and use up none of its own', async (t) => {
  const plan = { ...SEARCH_DEFAULTS, plateau_rps: 1000, max_trials: 3 }
  const trial = /** @type {const} */ ({ rate_rps: 700, duration_s: 2, verdict: 'pass', score: -2 })
  const foreign = { ...trial, foreign: /** @type {const} */ (true) }
  t.equal(nextTrial([trial, trial, trial], plan), null)
  t.equal(nextTrial([foreign, foreign, foreign, trial, trial], plan)?.rate_rps, 980, 'above the one that passed')
})

t.test('a bound on p999 takes ten times the requests', async (t) => {
  const [usual, more] = [SLOS, [SLOS[0], { ...NO_P99, also_ms: { p999: 50 } }]].map((slos) => {
    const plan = { ...searchPlan({ ...PLAN, slos }, []), plateau_rps: 3000 }
    return nextTrial([], plan)?.duration_s
  })
  t.strictSame([usual, more], [2, 6.6])
})
