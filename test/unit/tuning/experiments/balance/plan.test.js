import t from 'tap'
import { balance } from '../../../../../tuning/experiments/balance/balance.js'
import { refuses } from '../../../../support/refusals.js'

t.test('a command line that makes no sense is refused with one line', async (t) => {
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [['--slow', '2'], /--slow: expected up to 3 endpoints and 1000ms, such as 1x250ms, got "2"/],
    [['--slow', '4x1s'], /--slow: expected up to 3 endpoints and 1000ms, such as 1x250ms, got "4x1s"/],
    [['--slow', '1x2s'], /--slow: expected up to 3 endpoints and 1000ms, such as 1x250ms, got "1x2s"/],
    [['--factor', '0.5'], /--factor: expected a number above 0.5, at most 100/],
    [['--only', 'all'], /--only: expected some of overhead,/],
    [['--only', 'processes'], /--only: expected some of overhead,/],
    [
      ['--only', 'failing,overhead', '--duration', '10s'],
      /--duration: expected a part that it applies to \(strategies, crowded\), got --only overhead,failing/,
    ],
    [['--only', 'failing', '--slow', '2x250ms'], /--slow: expected a part .* got --only failing/],
    [
      ['--only', 'strategies', '--samples', '500'],
      /--samples: expected a part .*\(simulation\), got --only strategies/,
    ],
    [['--only', 'simulation', '--blocks', '2'], /--blocks: expected a part .* got --only simulation/],
    [['--only', 'simulation', '--haproxy', 'haproxy'], /--haproxy: expected a part .* got --only simulation/],
  ]
  await refuses(t, { balance }, wrong)
})
