import t from 'tap'
import { bench, design } from '../../../../../tuning/experiments/bench/bench.js'
import { refuses } from '../../../../support/refusals.js'

t.test('a command line that makes no sense is refused with one line', async (t) => {
  await refuses(t, { bench }, [
    [['--only', 'nobody'], /--only: expected some of no-op,json,.* got "nobody"/],
    [['--blocks', '0'], /--blocks: expected a whole number from 1/],
  ])
})

t.test('closed loops are sent by the driver of the plan', async (t) => {
  const plan = { mix: { seed: 1 }, repeats: 1, duration_s: 3, contenders: ['batched'] }
  const step = design(/** @type {any} */ ({ ...plan, closed_driver: 'wrk' }), [], [])
  t.equal(step?.load.driver, 'wrk')
})
