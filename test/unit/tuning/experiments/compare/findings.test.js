import t from 'tap'
import { compare } from '../../../../../tuning/experiments/compare/compare.js'
import { findingsOf, runOf } from '../../../../support/made-up/compare.js'

t.test('the picture of latencies has the medians of what was measured on each side', async (t) => {
  const findings = findingsOf(runOf({ b: 2, noise: 0 }))
  const picture = compare.report(findings).find(({ kind }) => kind === 'picture')
  const { series } = /** @type {any} */ (picture).picture.form
  t.strictSame(
    series.map((/** @type {any} */ { name, points }) => [name, points]),
    ['A', 'B'].map((name, i) => [
      name,
      findings.levels.map((/** @type {any} */ both) => [both[i].workers, both[i].mean_ms]),
    ]),
  )
  t.ok(series[1].points[0][1] > 1.9 * series[0].points[0][1])
  t.notOk(compare.report(findingsOf([])).some(({ kind }) => kind === 'picture'))
})
