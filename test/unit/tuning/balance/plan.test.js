import t from 'tap'
import { planOf } from '../../../../tuning/balance/plan.js'
import { balance } from '../../../../tuning/balance.js'
import { refuses } from '../../../support/refusals.js'

t.test('a plan that would measure timeouts or the wait for a connection is refused', async (t) => {
  const plan = (/** @type {any} */ flags) => () => planOf({ haproxy: '/nowhere', ...flags })
  t.throws(plan({ slow: { count: 1, extra_ms: 20_000 } }), /--slow: expected less than 9400ms, .* got 20000ms/)
  t.throws(
    plan({ rate: 2000 }),
    /--rate: expected at most 256 requests under way at once, got \d+ \(strategies: 2000\/s/,
  )
  t.throws(plan({ rate: 500 }), /\(crowded: 1250\/s/)
  t.equal(plan({ rate: 2000, only: ['overhead'] })().sizes.strategies.rate_rps, 2000)
  t.equal(plan({ rate: 200 })().sizes.crowded.rate_rps, 500)
  t.equal(plan({ slow: { count: 1, extra_ms: 5000 } })().slow.extra_ms, 5000)
})

t.test('a command line that makes no sense is refused with one line', async (t) => {
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [['--slow', '2'], /--slow: expected a number and a time such as 1x250ms, got "2"/],
    [['--slow', '4x1s'], /--slow: expected at most 3 of 6 endpoints, got 4/],
    [['--endpoints', '3'], /--endpoints: expected a whole number from 4 to 50/],
    [['--factor', '0.5'], /--factor: expected a number above 0.5, at most 100/],
    [['--decay', '1.5'], /--decay: expected a number above 0, at most 1/],
    [['--only', 'all'], /--only: expected some of overhead,/],
  ]
  await refuses(t, { balance }, wrong)
})
