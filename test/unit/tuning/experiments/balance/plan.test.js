import t from 'tap'
import { balance } from '../../../../../tuning/experiments/balance/balance.js'
import { refuses } from '../../../../support/refusals.js'

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
