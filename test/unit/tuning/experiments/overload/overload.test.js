import t from 'tap'
import { overload } from '../../../../../tuning/experiments/overload/overload.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService } from '../../../../support/simulated/service.js'

t.test('overload: an invalid trial is marked in the table, and the one in its place is not', async (t) => {
  const plan = overload.plan({ quick: true }, {})
  const serve = createService({ capacity_rps: 3000, refusal: 503 })
  const change = (/** @type {any} */ record) =>
    record.trial === 4 ? { ...record, outcome: { verdict: 'invalid', because: 'noise', blame: 'noise' } } : record
  const records = recordsOf(plan, overload.design, serve, { change })
  const findings = overload.analyse(plan, records, {})
  t.equal(findings.problem, null)
  const loads = overload.report(findings).find((block) => block.kind === 'table')
  t.strictSame(
    /** @type {any} */ (loads).rows.map((/** @type {string[]} */ [load]) => load),
    ['peak', 'crowd', '0.5x', '2x (invalid)', '2x', '0.5x', '3x', '0.5x'],
  )
})
