import t from 'tap'
import { median } from '../../../../../load/verdict/ranks.js'
import { ratios } from '../../../../../tuning/stats/measures.js'
import { spread } from '../../../../../tuning/stats/tables.js'

t.test('ratios are those of the same block; a spread is median, least and most', async (t) => {
  const of = (/** @type {number[]} */ values) => {
    return values.map((value, block) => /** @type {any} */ ({ at: { block }, value }))
  }
  const value = (/** @type {any} */ record) => record.value
  t.strictSame(ratios(of([10, 30]), of([5, 10]).reverse(), value), [2, 3])
  t.strictSame(ratios(of([10, 30]), of([5]), value), [2])
  t.equal(median([4, 1, 3, 2]), 2.5)
  t.equal(spread([1000, 3000, 2000], 0), '2,000 [1,000–3,000]')
  t.equal(spread([1.234], 1), '1.2')
  t.equal(spread([Number.NaN], 1), '–')
})
