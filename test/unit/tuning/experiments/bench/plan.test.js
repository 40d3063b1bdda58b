import t from 'tap'
import { bench } from '../../../../../tuning/experiments/bench/bench.js'
import { refuses } from '../../../../support/refusals.js'

t.test('a command line that makes no sense is refused with one line', async (t) => {
  await refuses(t, { bench }, [
    [['--only', 'nobody'], /--only: expected some of no-op,json,.* got "nobody"/],
    [['--blocks', '0'], /--blocks: expected a whole number from 1/],
  ])
})
