import t from 'tap'
import { secondOpinion } from '../../../../tuning/experiments/second-opinion/second-opinion.js'
import { recordsOf } from '../../../support/simulated/records.js'
import { createService } from '../../../support/simulated/service.js'

/** @import { TrialRecord } from '../../../support/simulated/record.js' */

t.test('a sweep without a valid closed loop before and after it has no ratio, and the others have theirs', (t) => {
  const plan = /** @type {any} */ (secondOpinion.plan({ blocks: 3, driver: 'autocannon' }, /** @type {any} */ ({})))
  const broken = (/** @type {any} */ { outcome, ...record }, /** @type {any} */ { at }) =>
    at.phase === 'reference' && at.block === 1
      ? { ...record, outcome: { ...outcome, verdict: 'invalid', blame: 'generator' } }
      : { ...record, outcome }
  const serve = createService({ capacity_rps: 4000 })
  const records = recordsOf(plan, secondOpinion.design, serve, { change: broken })
  const found = secondOpinion.analyse(plan, records, /** @type {any} */ ({}))
  t.strictSame(
    found.pairs.map(({ ratio }) => ratio === null),
    [true, false, false],
  )
  t.match(found.problem, /^1 of 3 sweeps lack/)
  t.ok(Number(found.ratio) > 0.8, 'the median is that of the others')
  const text = JSON.stringify(secondOpinion.report(found))
  t.notMatch(text, /NaN/)
  t.match(text, /\(median of 2\)/)
  t.end()
})
