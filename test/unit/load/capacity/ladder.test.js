import t from 'tap'
import { capacityOf, contradictedRung, nextRung, unanswered } from '../../../../load/capacity/ladder.js'

/** @param {number | null} rate_rps @param {string} verdict */
function trial(rate_rps, verdict) {
  return /** @type {any} */ ({
    load: { rate_rps, connections: 64, loop: rate_rps === null ? 'closed' : 'open' },
    outcome: { verdict },
  })
}
const rung = (/** @type {number} */ rate_rps) => ({ rate_rps, connections: 64 })

t.test('nextRung takes the rungs in order', async (t) => {
  t.strictSame(nextRung([rung(1), rung(2)], []), rung(1))
  t.strictSame(nextRung([rung(1), rung(2)], [trial(1, 'pass')]), rung(2))
  t.equal(nextRung([rung(1), rung(2)], [trial(1, 'pass'), trial(2, 'fail')]), null)
})

t.test('nextRung repeats an invalid trial, three times at the most', async (t) => {
  const invalid = trial(1, 'invalid')
  t.strictSame(nextRung([rung(1), rung(2)], [invalid, invalid]), rung(1))
  t.strictSame(nextRung([rung(1), rung(2)], [invalid, invalid, invalid]), rung(2))
  t.strictSame(unanswered([rung(1), rung(2)], [invalid, invalid, invalid, trial(2, 'pass')]), [rung(1)])
})

t.test('a rung that is listed twice is measured twice', async (t) => {
  t.strictSame(nextRung([rung(1), rung(1)], [trial(1, 'pass')]), rung(1))
  t.equal(nextRung([rung(1), rung(1)], [trial(1, 'pass'), trial(1, 'fail')]), null)
})

t.test('rates that contradict each other are measured again, until three trials of each decide', async (t) => {
  const rungs = [rung(1), rung(2), rung(3), rung(4)]
  const trials = [trial(1, 'pass'), trial(2, 'fail'), trial(3, 'pass'), trial(4, 'fail')]
  const again = (/** @type {any[]} */ ...more) => contradictedRung(rungs, [...trials, ...more])?.rate_rps ?? null
  t.equal(again(), 2)
  t.equal(again(trial(2, 'pass')), 3, 'one each is a fail as yet; then the other')
  t.equal(
    again(trial(2, 'pass'), trial(2, 'pass')),
    null,
    'it was luck that it failed, and nothing contradicts the others',
  )
  t.strictSame(capacityOf([...trials, trial(2, 'pass'), trial(2, 'pass')]), { low_rps: 3, high_rps: 4, trials: 6 })
  t.equal(again(trial(2, 'fail')), 3, 'the one that was measured less often')
  t.equal(again(trial(2, 'fail'), trial(3, 'pass'), trial(2, 'fail'), trial(3, 'pass')), null, 'enough')
  const invalid = trial(2, 'invalid')
  t.equal(again(invalid, invalid, invalid), 3, 'what cannot be measured again is left')
  t.equal(contradictedRung(rungs, [trial(1, 'pass'), trial(2, 'fail'), trial(3, 'fail')]), null)
  const tied = [trial(1, 'fail'), trial(2, 'pass'), trial(1, 'pass'), trial(2, 'fail')]
  t.strictSame(contradictedRung(rungs, tied), rung(1), 'where all passed as often as they failed, nothing is decided')
  t.equal(contradictedRung(rungs, [...tied, trial(1, 'pass'), trial(2, 'fail')]), null)
  const twice = [trial(1, 'pass'), trial(1, 'fail'), trial(1, 'pass'), trial(1, 'fail')]
  t.strictSame(contradictedRung(rungs, twice), rung(1), 'however often it was asked for')
  t.equal(contradictedRung(rungs, [...twice, trial(1, 'pass')]), null, 'one more decides')
  t.equal(contradictedRung([], [trial(null, 'pass')]), null, 'a closed loop contradicts nothing')
})

t.test('capacityOf gives the highest pass below the lowest fail', async (t) => {
  const rows = [
    [[], null, 'nothing measured, nothing known'],
    [[trial(null, 'pass')], null, 'a closed loop says nothing about a rate'],
    [[trial(1, 'invalid')], null, 'nor does an invalid trial'],
    [[trial(1, 'pass'), trial(2, 'pass')], { low_rps: 2, high_rps: null, trials: 2 }, 'no rate failed'],
    [[trial(1, 'fail')], { low_rps: null, high_rps: 1, trials: 1 }, 'no rate passed'],
    [[trial(1, 'pass'), trial(3, 'fail')], { low_rps: 1, high_rps: 3, trials: 2 }, 'an interval'],
    [
      [trial(1, 'pass'), trial(2, 'fail'), trial(3, 'pass')],
      { low_rps: 1, high_rps: 2, trials: 3 },
      'a pass above a fail was luck',
    ],
  ]
  for (const [trials, capacity, about] of /** @type {[any, any, string][]} */ (rows)) {
    t.strictSame(capacityOf(trials), capacity, about)
  }
})
