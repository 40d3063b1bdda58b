import t from 'tap'
import { markdownOf } from '../../../../../load/report/markdown.js'
import { matrixOf, setupsOf } from '../../../../../tuning/experiments/processes/design.js'
import { analyse, report } from '../../../../../tuning/experiments/processes/report.js'
import { nextTrial } from '../../../../../tuning/stats/matrix.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService } from '../../../../support/simulated/service.js'

const PLAN = /** @type {any} */ ({
  ...{ blocks: 6, warmup_s: 1, duration_s: 2, connections: [64], processes: [1, 2], cores: null },
  haproxy: { program: 'haproxy', version: '2.6.12' },
  mix: { name: 'create-user', seed: 1 },
  slo: { p99_ms: 10_000, success_ratio: 1 },
})
const RECORDS = /** @type {any[]} */ (
  recordsOf(PLAN, (plan, records) => nextTrial(matrixOf(plan), records, []), createService({ capacity_rps: 1000 }))
)

/** @param {any[]} records */
const textOf = (records) => markdownOf(report(analyse(PLAN, records)))

t.test('processes: each set-up once in each block', async (t) => {
  const nameOf = (/** @type {any} */ { processes, front }) => `${processes} ${front}`
  t.strictSame(setupsOf(PLAN).map(nameOf), ['1 direct', '1 haproxy', '2 haproxy'])
  t.equal(RECORDS.length, 18)
  for (let block = 0; block < PLAN.blocks; block++) {
    const own = RECORDS.filter(({ at }) => at.block === block)
    t.strictSame(own.map(({ cell }) => nameOf(cell)).sort(), setupsOf(PLAN).map(nameOf).sort())
  }
})

t.test('processes: a full generator gives no ratio', async (t) => {
  const loaded = (/** @type {(cell: any) => number} */ ratioOf) => {
    return RECORDS.map((record) => ({
      ...record,
      ...{ settings: {}, target: { cores: '0' } },
      traffic: { ...record.traffic, goodput_rps: record.cell.processes === 2 ? 1000 : 990, ok_latency_ms: { p50: 1 } },
      probes: { api: {}, generator: { cpu_core_ratio: ratioOf(record.cell) } },
    }))
  }
  const limited = (/** @type {any[]} */ records) => analyse(PLAN, records).setups.map(({ is_limited }) => is_limited)
  t.strictSame(limited(loaded(() => 0.5)), [false, false, false])
  const full = loaded(({ processes }) => (processes === 2 ? 0.95 : 0.5))
  t.strictSame(limited(full), [false, false, true])
  t.match(textOf(full), /\| 2, behind HAProxy +\| .*\| +the generator was the limit \|/)
  t.match(
    analyse(PLAN, full).kept.conclusion,
    /one without HAProxy: 1\.00x .*, 2 behind it: the generator was the limit\./,
  )
})

t.test('processes: a set-up without a trial that counts is named, and rules out an answer', async (t) => {
  const failed = RECORDS.map((record) => {
    const outcome = { verdict: 'fail', because: 'requests failed' }
    return record.cell.processes === 2 ? { ...record, outcome } : record
  })
  t.equal(analyse(PLAN, failed).problem, '2, behind HAProxy had no trial that counts: requests failed')
  t.match(textOf(failed), /6 of 18 trials were left out: requests failed in 6/)
  t.equal(analyse(PLAN, []).problem, '1, without HAProxy had no trial that counts: no trial')
  t.equal(analyse(PLAN, []).kept.conclusion, 'Nothing was compared.')
  t.equal(analyse(PLAN, RECORDS).problem, null)
})
