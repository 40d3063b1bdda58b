import t from 'tap'
import { sweepTable } from '../../../../../load/verbs/sweep/trials.js'

/** A passing trial of a search. @param {number} trial @param {number} [work_ms] */
function record(trial, work_ms) {
  return /** @type {any} */ ({
    ...{ trial, at: { phase: 'search' }, cell: null, outcome: { verdict: 'pass' }, work_ms },
    load: { rate_rps: 1000 },
    traffic: { achieved_rps: 1000, success_ratio: 1, latency_ms: { p50: 1, p99: 2 }, status: {}, errors: {} },
    probes: { api: { cpu_us_per_request: work_ms === 8 ? 40 : 20 }, kernel: {}, generator: {}, postgres: {} },
  })
}

t.test('a trial that passed at another speed of the core is marked, since it does not count', async (t) => {
  const outcomes = (/** @type {any[]} */ records) => sweepTable(records).rows.map((row) => row.at(-1))
  t.strictSame(outcomes([record(1, 4), record(2, 8), record(3, 4), record(4, 4.1)]), [
    'pass',
    'pass, not counted: core speed',
    'pass',
    'pass',
  ])
  t.strictSame(outcomes([record(1), record(2)]), ['pass', 'pass'], 'the speed was not measured')
})
