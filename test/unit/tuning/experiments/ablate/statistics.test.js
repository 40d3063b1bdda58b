import t from 'tap'
import { statisticsOf } from '../../../../../tuning/experiments/ablate/speeds.js'
import { nameOf, WHOLE } from '../../../../../tuning/experiments/ablate/stages.js'

t.test('statistics are those of whole seconds', async (t) => {
  const trial = (/** @type {number} */ duration_s, /** @type {number[]} */ seconds) => ({
    ...{
      at: { phase: 'blocks', consumer: 'client', block: 0, position: 0 },
      cell: { variant: WHOLE },
      outcome: { verdict: 'pass' },
      load: { duration_s },
      probes: { generator: {}, api: {} },
    },
    traffic: { goodput_rps: 700, per_second: seconds.map((ok) => ({ ok })) },
  })
  const records = /** @type {any} */ ([trial(3, [727, 900, 1000, 12]), trial(0.5, [350])])
  const found = statisticsOf(records, 'client', WHOLE)
  t.match(found, { count: 4, min: 700, max: 1000, sum: 3327, mean: 831.75, median: 813.5 })
  t.ok(Math.abs(Number(found?.sd) - 142.94) < 0.01, String(found?.sd))
  t.equal(statisticsOf(records, 'client', nameOf(['log'])), null)
})
