import t from 'tap'
import { answerOf, nextStep } from '../../../../load/capacity/capacity.js'
import { flatErrors } from '../../../../load/capacity/flat-errors.js'
import { normal } from '../../../../load/system/random.js'
import { recordsOf } from '../../../support/simulated/records.js'
import { createService, randomOf } from '../../../support/simulated/service.js'

/** @import { Slo } from '../../../../load/report/record.js' */

const SLO = { p99_ms: 100, success_ratio: 0.99 }

/** A trial with this many errors in 1,000 requests. @param {number} errors @param {number} [rate_rps] @param {{ p99_ms?: number, planned?: number, slo?: Slo }} [others] */
function trial(errors, rate_rps = 500, { p99_ms = 10, planned = 1000, slo = SLO } = {}) {
  const ok = planned - errors
  const isPass = ok / planned >= slo.success_ratio && p99_ms <= 100
  return /** @type {any} */ ({
    outcome: { verdict: isPass ? 'pass' : 'fail' },
    load: { loop: 'open', rate_rps, duration_s: 2, timeout_s: 10 },
    traffic: {
      ...{ planned, sent: planned, completed: planned, ok, success_ratio: ok / planned },
      ...{ status: { 200: ok, 500: errors }, errors: {}, latency_ms: { p99: p99_ms }, rows_stored: null },
    },
    probes: { api: {}, postgres: {}, generator: {}, kernel: {} },
    target: { kind: 'url' },
  })
}

/** @param {number} times @param {any} one */
const repeat = (times, one) => Array(times).fill(one)

t.test('errors that do not rise with the rate are compared with the SLO over all trials', async (t) => {
  const [few, many] = [trial(6, 500), trial(13, 600)]
  const all = { p99_ms: 100, success_ratio: 1 }
  const stray = trial(3, 500, { slo: all })
  const late = trial(13, 800, { p99_ms: 200 })
  const rows = /** @type {[string, any[], string | undefined, Slo?][]} */ ([
    ['all pass', repeat(9, trial(8)), undefined],
    ['one fail of nine may be a stall', [...repeat(8, few), many], undefined],
    ['the pooled ratio is clearly within', [...repeat(12, few), ...repeat(4, trial(13, 500))], 'within'],
    ['clearly beyond', [...repeat(4, trial(9, 600)), ...repeat(9, trial(15, 500))], 'beyond'],
    ['too near to tell', [...repeat(5, trial(8, 600)), ...repeat(5, trial(12, 500))], 'unclear'],
    ['the ratio rises: the rate decides', [...repeat(5, few), ...repeat(4, trial(30, 700))], undefined],
    ['late trials do not count', [...repeat(8, few), ...repeat(4, late)], undefined],
    ['the SLO allows none', [...repeat(4, stray), ...repeat(4, trial(0, 600))], 'beyond', all],
    ['three errors tell no trend', [...repeat(3, trial(1, 500)), ...repeat(4, trial(0, 400))], undefined, all],
  ])
  for (const [about, trials, verdict, slo = SLO] of rows) {
    t.equal(flatErrors(trials, slo)?.verdict, verdict, about)
  }
})

t.test('only trials that failed by errors alone tell whether the rate decides', async (t) => {
  const growing = trial(15, 500)
  growing.traffic.backlog = Array.from({ length: 20 }, (_, i) => 20 * i)
  t.equal(flatErrors(repeat(9, growing), SLO), null, 'a growing backlog')
  const invalid = { ...trial(15), outcome: { verdict: 'invalid' } }
  t.equal(flatErrors(repeat(9, invalid), SLO), null, 'a generator that was late')
})

const CAPACITY_RPS = 1000
/** Of each kind of service. */
const RUNS = 12

/**
 * The answer of a search in a service in which a share of the requests fails at random.
 * @param {(rate_rps: number) => number} shareAt @param {number} seed @param {number} [success_ratio]
 */
function searched(shareAt, seed, success_ratio = 0.99) {
  const plan = /** @type {any} */ ({
    ...{ driver: 'paced', url: 'http://127.0.0.1:1/', mix: { method: 'POST' }, connections: [64] },
    ...{ warmup_s: 0.5, duration_s: 2, slo: { p99_ms: 100, success_ratio }, searches: true, timeout_s: 10 },
  })
  const service = createService({ capacity_rps: CAPACITY_RPS, least_ms: 10 }, { seed })
  const records = recordsOf(plan, nextStep, (step, about) => {
    const seen = service(step, about)
    const { rate_rps, duration_s } = step.load
    if (rate_rps === null) return seen
    const requests = rate_rps * duration_s
    const share = shareAt(rate_rps)
    const spread = Math.sqrt((share * (1 - share)) / requests)
    const seen_share = share + spread * normal(randomOf(seed, about.trial))
    const failed = Math.round(requests * Math.max(0, seen_share)) / duration_s
    return { ...seen, ok_rps: seen.ok_rps - failed, refused_rps: failed, refusal: 500 }
  })
  return answerOf(plan, records)
}

/** @param {(rate_rps: number) => number} shareAt @param {number} [success_ratio] */
function answers(shareAt, success_ratio) {
  return Array.from({ length: RUNS }, (_, seed) => searched(shareAt, seed + 301, success_ratio))
}

/** @param {ReturnType<typeof answers>} found @param {number} capacity_rps */
function wrong(found, capacity_rps) {
  const given = found.filter(({ problem }) => problem === null)
  return given.filter(({ capacity }) => {
    return Number(capacity?.low_rps) > capacity_rps || Number(capacity?.high_rps) < capacity_rps
  }).length
}

// At 979/s a request waits 23 ms on the average, and p99 meets 100 ms.
const WITHIN_RPS = 979

t.test('errors within the SLO that do not depend on the rate do not move the capacity', async (t) => {
  const found = answers(() => 0.0088)
  t.ok(wrong(found, WITHIN_RPS) <= 1, JSON.stringify(found.map(({ capacity }) => capacity)))
  t.ok(found.filter(({ problem }) => problem === null).length >= RUNS / 2, 'and mostly, there is one')
})

t.test('errors beyond the SLO at any rate leave no capacity', async (t) => {
  for (const [share, success_ratio] of [
    [0.013, 0.99],
    [0.2, 0.99],
    [0.003, 1],
  ]) {
    const found = answers(() => share, success_ratio)
    const none = found.filter(({ capacity, problem }) => capacity === null && problem !== null)
    t.ok(none.length >= 0.75 * RUNS, `${share}: ${none.length} of ${found.length}`)
    const said = none.filter(({ problem }) =>
      /% of the requests failed whatever the rate, and the SLO allows /.test(String(problem)),
    )
    t.equal(said.length, none.length, String(none[0].problem))
  }
})

t.test('errors that rise with the rate set the capacity', async (t) => {
  const rising = answers((rate_rps) => 0.01 * (rate_rps / 800) ** 8)
  t.ok(rising.every(({ problem }) => problem === null))
  t.ok(wrong(rising, 800) <= 1, JSON.stringify(rising.map(({ capacity }) => capacity)))
  const shedding = answers((rate_rps) => Math.max(0, 1 - 700 / rate_rps), 1)
  t.ok(shedding.every(({ problem }) => problem === null))
  t.ok(wrong(shedding, 700) <= 1, JSON.stringify(shedding.map(({ capacity }) => capacity)))
})
