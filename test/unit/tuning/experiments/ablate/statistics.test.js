import t from 'tap'
import { curvePictures, curvesOf, statisticsOf } from '../../../../../tuning/experiments/ablate/samples.js'
import { closedOf } from '../../../../../tuning/experiments/ablate/speeds.js'
import { nameOf, WHOLE } from '../../../../../tuning/experiments/ablate/stages.js'
import { PLAN, runOf } from '../../../../support/made-up/ablate.js'

/** @param {number} duration_s @param {number[]} seconds @param {string} [variant] */
const trial = (duration_s, seconds, variant = WHOLE) => ({
  ...{
    at: { phase: 'blocks', consumer: 'client', block: 0, position: 0 },
    cell: { variant },
    outcome: { verdict: 'pass' },
    load: { duration_s },
    probes: { generator: {}, api: {} },
  },
  traffic: { goodput_rps: 700, per_second: seconds.map((ok) => ({ ok })) },
})

t.test('statistics are those of whole seconds', async (t) => {
  const records = /** @type {any} */ ([trial(3, [727, 900, 1000, 12]), trial(0.5, [350])])
  const found = statisticsOf(records, 'client', WHOLE)
  t.match(found, { count: 4, min: 700, max: 1000, sum: 3327, mean: 831.75, median: 813.5 })
  t.ok(Math.abs(Number(found?.sd) - 142.94) < 0.01, String(found?.sd))
  t.equal(statisticsOf(records, 'client', nameOf(['log'])), null)
})

t.test('a curve has a point for each sample of its variant, at its time in the load', async (t) => {
  const trials = [
    trial(2, [727, 900, 12]),
    trial(0.5, [350], nameOf(['log'])),
    trial(1, [5, 6], nameOf(['log', 'pool'])),
    trial(1, [8]),
  ]
  const curves = curvesOf(/** @type {any} */ (trials), 'client', ['log', 'pool'])
  const found = curves.map(({ name, points }) => [name, ...points.flat()])
  t.strictSame(found, [[WHOLE, 0.5, 727, 1.5, 900, 4, 8], ['without log', 2.25, 700], ['without pool']])
})

t.test('each picture shows the whole next to as many stages as there are styles', async (t) => {
  const without = (/** @type {string} */ stage) => nameOf([stage])
  const picturesOf = (/** @type {any} */ plan) => closedOf(plan, runOf({ plan })).flatMap(curvePictures)
  const pictures = picturesOf(PLAN)
  t.strictSame(
    pictures.map(({ name, form }) => [name, ...form.series.map((one) => one.name)]),
    [
      ['per-second-autocannon', WHOLE, ...PLAN.stages.slice(0, 4).map(without)],
      ['per-second-autocannon-2', WHOLE, ...PLAN.stages.slice(4).map(without)],
    ],
  )
  for (const { form } of pictures) t.equal(form.series[0].points.length, 24, 'three visits in each of eight blocks')
  t.equal(pictures.length, 2)
  const [, [variant, figures]] = pictures[1].table.rows
  t.equal(variant, 'without commit')
  t.match(figures, /^([\d.k,]+\/s, ){7}[\d.k,]+\/s$/)
  t.strictSame(picturesOf({ ...PLAN, blocks: 1 }), [], 'a single point is no curve')
})
