import t from 'tap'
import { markdownOf } from '../../../../../load/report/markdown.js'
import { typical } from '../../../../../load/verdict/ranks.js'
import { closedOf, effectOf, ratioBlocks } from '../../../../../tuning/experiments/ablate/speeds.js'
import { confidenceOfEach, leastPairs } from '../../../../../tuning/stats/effects.js'
import { runOf, THREE } from '../../../../support/made-up/ablate.js'

t.test('the more intervals are looked at together, the more pairs each of them takes', async (t) => {
  for (const [intervals, pairs] of [
    [1, 6],
    [3, 7],
    [6, 8],
    [16, 10],
    [18, 10],
  ]) {
    const confidence = confidenceOfEach(intervals)
    t.equal(leastPairs(confidence), pairs, `${intervals} intervals`)
    const ends = [pairs - 1, pairs].map((length) => typical(Array(length).fill(7), confidence).high)
    t.strictSame(ends, [Number.POSITIVE_INFINITY, 7])
  }
})

t.test('a ratio that noise can explain is no finding', async (t) => {
  const rows = /** @type {[number, number, boolean, string][]} */ ([
    [1.26, 1.6, true, 'no effect seen'],
    [1.26, 1.6, false, 'faster'],
    [0.94, 0.98, false, 'slower'],
    [1.26, Number.POSITIVE_INFINITY, true, 'not settled'],
  ])
  for (const [ratio, high, tied, effect] of rows) t.equal(effectOf({ ratio, high, tied }), effect)
})

t.test('the table of the throughput says which removals have an effect, and on which closed loop', async (t) => {
  const plan = { ...THREE, blocks: 12 }
  const closed = closedOf(plan, runOf({ plan, noise: 0.01 }))
  const text = markdownOf(ratioBlocks(closed))
  t.match(text, /with 95 % confidence, every interval in this table holds the true value:/)
  t.match(text, /\| nothing \(successes\/s\) \| .* \| +\|/)
  t.match(text, /\| database +\| +1\.5\dx .* \| +1\.5\dx .* \| +faster \|/)
  t.match(text, /\| validate +\| +(?:0\.9|1\.0)\dx .* \| +no effect seen \|/)
  const [first, second] = closed
  const changed = (/** @type {object} */ changes) => {
    const speeds = second.speeds.map((speed) => ({ ...speed, ...changes }))
    return markdownOf(ratioBlocks([first, { ...second, speeds }]))
  }
  const slower = { ratio: 0.5, low: 0.4, high: 0.6, tied: false }
  t.match(changed(slower), /\| database .* \| +faster \(autocannon\); slower \(client\) \|/)
  t.match(changed({ isLimited: true }), /\| database .* \| the generator was the limit \| +faster \|/)
  const few = { ...THREE, blocks: 9 }
  const unsettled = markdownOf(ratioBlocks(closedOf(few, runOf({ plan: few }))))
  t.match(unsettled, /\| database .* \[too few pairs\] .* \| not settled \|/)
})
