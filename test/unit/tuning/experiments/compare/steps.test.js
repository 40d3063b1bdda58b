import t from 'tap'
import { maximaOf, nextStep } from '../../../../../tuning/experiments/compare/steps.js'
import { differencesOf } from '../../../../../tuning/experiments/compare/verdict.js'
import { PLAN, runOf } from '../../../../support/made-up/compare.js'

t.test('a ladder of which a rung could not be had has no maximum', async (t) => {
  const invalid = (/** @type {any} */ { experiment, cell }) => cell === 'a' && /^max\/[02]\/\d\/20$/.test(experiment)
  const records = runOf({ invalid, noise: 0 })
  t.strictSame(
    maximaOf(records, 'a').map(({ block }) => block),
    [1, 3, 4, 5, 6, 7, 8, 9],
  )
  t.equal(differencesOf(PLAN, records)[3].pairs, 8)
  const cutOff = records.slice(
    0,
    records.findLastIndex(({ experiment }) => experiment.startsWith('max/')),
  )
  t.equal(maximaOf(cutOff, 'a').length + maximaOf(cutOff, 'b').length, 17, 'nor one that was cut off')
})

t.test('a run that was cut off goes on with the same trial', async (t) => {
  const records = runOf({})
  for (const length of [0, 1, 7, 33, records.length - 1]) {
    t.match(nextStep(PLAN, records.slice(0, length)), {
      experiment: records[length].experiment,
      cell: records[length].cell,
    })
  }
})
