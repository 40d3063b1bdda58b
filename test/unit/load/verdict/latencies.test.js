import t from 'tap'
import { scoreOf } from '../../../../load/capacity/of-records.js'
import { connectionsFor } from '../../../../load/generators/connections.js'
import { UNBOUNDED_MS } from '../../../../load/report/slo.js'
import { growingBacklog } from '../../../../load/verdict/backlog.js'
import { judge } from '../../../../load/verdict/judge.js'
import { recordOf } from '../../../support/simulated/record.js'

/** @import { Slo } from '../../../../load/report/record.js' */

const NO_P99 = { p99_ms: UNBOUNDED_MS, success_ratio: 1 }
const STEP = /** @type {any} */ ({
  at: { phase: 'ladder' },
  cell: null,
  load: { driver: 'paced', loop: 'open', rate_rps: 1000, connections: 64, warmup_s: 0, duration_s: 10 },
})

/** @param {object} seen @param {Record<string, object>} [by_entry] */
function trial(seen = {}, by_entry) {
  const record = recordOf(STEP, { ok_rps: 1000, mean_ms: 8, p50_ms: 6, p99_ms: 40, ...seen })
  return by_entry ? { ...record, traffic: { ...record.traffic, by_entry: /** @type {any} */ (by_entry) } } : record
}

/** @param {number} completed @param {number} ok @param {number} p99_ms */
function entry(completed, ok, p99_ms) {
  return { completed, ok, latency_ms: completed > 0 ? { p50: p99_ms / 4, p99: p99_ms } : null }
}

t.test('a trial has to meet every condition of its SLO, and the verdict names those that it breaks', async (t) => {
  const rows = /** @type {[Slo, string, string][]} */ ([
    [{ ...NO_P99, also_ms: { p50: 6 } }, 'pass', 'p50 6 ms <= 6 ms, 10000 of 10000 stored'],
    [{ ...NO_P99, p99_ms: 50, also_ms: { p50: 5 } }, 'fail', 'p50 6 ms > 5 ms'],
    [{ ...NO_P99, p99_ms: 30, also_ms: { p50: 5, mean: 9 } }, 'fail', 'p50 6 ms > 5 ms, p99 40 ms > 30 ms'],
    [{ ...NO_P99, also_ms: { max: 49 } }, 'fail', 'max 50.2 ms > 49 ms'],
    [{ ...NO_P99, also_ms: { p999: 50 } }, 'pass', 'p999 46.8 ms <= 50 ms, 10000 of 10000 stored'],
    [NO_P99, 'pass', '10000 of 10000 stored'],
  ])
  for (const [slo, verdict, because] of rows) t.strictSame(judge(trial(), slo), { verdict, because })
})

t.test('without a bound on p99, timeouts count as no success, not as latency', async (t) => {
  const late = trial({ ok_rps: 950, timed_out_rps: 50, p99_ms: 10_001 })
  t.equal(judge(late, { ...NO_P99, success_ratio: 0.9 }).verdict, 'pass')
  t.match(judge(late, { ...NO_P99, success_ratio: 0.96 }), { verdict: 'fail', because: /^9500 of 10000 succeeded/ })
  t.equal(judge(late, { p99_ms: 10_000, success_ratio: 0.9 }).verdict, 'fail', 'a bound that was stated')
})

t.test('the score is that of the worst condition', async (t) => {
  const rows = /** @type {[Slo, number][]} */ ([
    [{ ...NO_P99, p99_ms: 80, also_ms: { p50: 12 } }, Math.log(0.5)],
    [{ ...NO_P99, p99_ms: 80, also_ms: { p50: 3 } }, Math.log(2)],
    [{ ...NO_P99, p99_ms: 40, also_ms: { p50: 12 } }, 0],
    [{ ...NO_P99, also_ms: { p50: 3 } }, Math.log(2)],
    [NO_P99, -3],
  ])
  for (const [slo, score] of rows) t.equal(scoreOf(trial(), slo), score)
  const slo = { ...NO_P99, by_entry: { read: { p99_ms: 10 }, list: { success_ratio: 0.5 } } }
  t.equal(scoreOf(trial({}, { read: entry(10, 10, 30) }), slo), Math.log(3), 'of an entry')
  t.equal(scoreOf(trial({}, { read: entry(10, 10, 5), list: entry(10, 4, 5) }), slo), 1, 'any other failure')
})

t.test('a backlog that grows breaks an SLO without a bound on p99 as well', async (t) => {
  const behind = trial({ ok_rps: 1000, late_s: 1, mean_ms: 4, p50_ms: 2, p99_ms: 8 })
  t.match(judge(behind, { ...NO_P99, also_ms: { p50: 5 } }), { verdict: 'fail', because: /^the backlog grew/ })
  t.match(judge(behind, NO_P99), { verdict: 'fail', because: /^the backlog grew/ })
  t.equal(growingBacklog(behind, { p99_ms: 10_000, success_ratio: 1 }), null, 'any answer within the timeout will do')
})

t.test('a late generator excuses only the latencies that its lateness explains, like by like', async (t) => {
  const slo = { ...NO_P99, p99_ms: 100, also_ms: { p50: 5 } }
  const late = (/** @type {object} */ lateness_ms, seen = {}) => {
    const record = trial(seen)
    const generator = { ...record.probes.generator, lateness_ms: /** @type {any} */ (lateness_ms) }
    return judge({ ...record, probes: { ...record.probes, generator } }, slo)
  }
  t.match(late({ p50: 0.6, p99: 1 }), { verdict: 'invalid', blame: 'generator' }, 'p50 was 6 ms, 0.6 ms late')
  t.equal(late({ p50: 0.4, p99: 1 }).verdict, 'fail', 'less than a tenth of the bound')
  t.equal(late({ p50: 0.1, p99: 20 }).verdict, 'fail', 'a late p99 does not raise p50')
  t.equal(late({ p50: 0.6, p99: 1 }, { p50_ms: 9 }).verdict, 'fail', 'more than 0.6 ms can explain')
  t.equal(late({ p50: 0.6, p99: 1 }, { p99_ms: 200 }).verdict, 'fail', 'p50 explained, p99 not')
})

t.test('entries of a mix are judged by SLOs of their own, and named', async (t) => {
  const slo = {
    ...NO_P99,
    success_ratio: 0.9,
    by_entry: { read: { p99_ms: 20, success_ratio: 0.99 }, list: { p99_ms: 90 } },
  }
  const rows = /** @type {[Record<string, object>, string, RegExp, string][]} */ ([
    [{ read: entry(100, 99, 20), list: entry(9, 1, 90) }, 'pass', /^read: p99 20 ms <= 20 ms, list: p99 90 ms/, 'both'],
    [{ read: entry(100, 98, 20) }, 'fail', /^read: 98 of 100 succeeded, 99 % expected$/, 'successes'],
    [{ read: entry(100, 100, 21), list: entry(9, 9, 9) }, 'fail', /^read: p99 21 ms > 20 ms$/, 'latency'],
    [{ read: entry(9, 8, 9), list: entry(9, 9, 91) }, 'fail', /^read: 8 of 9 .*, list: p99 91 ms > 90 ms$/, 'two'],
    [{ read: entry(0, 0, 0), other: entry(9, 0, 999) }, 'pass', /^10000 of 10000/, 'no request to judge by'],
    [{ read: { ...entry(0, 0, 0), failed: 50 } }, 'fail', /^read: 0 of 50 succeeded, 99 % expected$/, 'no answer'],
    [{ read: { ...entry(99, 99, 9), failed: 2 } }, 'fail', /^read: 99 of 101 succeeded/, 'answers and errors'],
  ])
  for (const [by_entry, verdict, because, about] of rows) {
    t.match(judge(trial({}, by_entry), slo), { verdict, because }, about)
  }
  t.match(judge(trial(), slo), { verdict: 'invalid', because: /did not count by entry/ })
  const noisy = trial({ kernel: { cores: { 0: { busy_ratio: 0.9, interrupts_ratio: 0, steal_ratio: 0 } } } })
  const with_ = (/** @type {object} */ read) => ({ ...noisy, traffic: { ...noisy.traffic, by_entry: { read } } })
  t.equal(judge(/** @type {any} */ (with_(entry(100, 100, 21))), slo).verdict, 'invalid', 'noise makes answers late')
  t.equal(judge(/** @type {any} */ (with_(entry(100, 90, 2))), slo).verdict, 'fail', 'but no refusals')
  const unanswered = { ...entry(90, 90, 2), failed: 10 }
  t.equal(judge(/** @type {any} */ (with_(unanswered)), slo).verdict, 'invalid', 'and it loses answers')
})

t.test('connections follow from the SLO that allows the most', async (t) => {
  const plan = { connections: [], connections_max: 50_000, timeout_s: 10 }
  const p50 = { ...NO_P99, also_ms: { p50: 5 } }
  const slos = [p50, { p99_ms: 200, success_ratio: 1 }]
  t.equal(connectionsFor({ ...plan, slo: p50 }, 10_000).connections, 1200, 'room for a tail beyond p50')
  t.equal(connectionsFor({ ...plan, slo: p50, slos }, 10_000).connections, 2400)
  t.equal(connectionsFor({ ...plan, slo: NO_P99 }, 1000).connections, 12_000, 'any answer within the timeout')
})
