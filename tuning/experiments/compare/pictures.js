import { figureOf } from '../../stats/spread.js'
import { predictedRate } from '../../stats/usl.js'

/**
 * @import { Axis, Picture, Series } from '../../../load/report/picture.js'
 * @import { CompareFindings, Level } from './findings.js'
 */

/** Points of a curve. */
const STEPS = 40

/** @param {CompareFindings} findings @returns {Picture[]} */
export function comparePictures({ plan, sides, levels, differences }) {
  const known = differences.filter(({ ratio, because }) => Number.isFinite(ratio) && because === '')
  const [least, most] = [Math.min(...plan.concurrency), Math.max(...plan.concurrency)]
  const x = { title: 'workers', unit: /** @type {const} */ ('number'), log: most >= 10 * least }
  const curve = Array.from({ length: STEPS + 1 }, (_, i) => least * (most / least) ** (i / STEPS))
  /**
   * What was measured, and the fitted law.
   * @param {Axis} y @param {(level: Level) => number} measured @param {(rate_rps: number, workers: number) => number} predicted
   */
  const against = (y, measured, predicted) => {
    const series = sides.flatMap(({ name, law }, style) => {
      const values = levels.map((both) => [both[style].workers, measured(both[style])])
      const fitted = law ? curve.map((workers) => [workers, predicted(predictedRate(law, workers), workers)]) : []
      return /** @type {Series[]} */ ([
        { name, points: values.filter(([, value]) => Number.isFinite(value)), as: 'dots', style },
        { name: `${name}, fitted`, points: fitted, as: 'line', style },
      ])
    })
    return { kind: /** @type {const} */ ('xy'), x, y, series: series.filter(({ points }) => points.length > 0) }
  }
  const latency_ms = (/** @type {number} */ rate_rps, /** @type {number} */ workers) => (1000 * workers) / rate_rps
  const pictures = [
    {
      name: 'ratios',
      title: 'B to A',
      about:
        'Ratios within a block, with their intervals; an interval that contains 1 is a tie. Less is better for latencies, more for rates.',
      form: {
        kind: /** @type {const} */ ('dots'),
        x: { title: 'ratio of B to A', unit: /** @type {const} */ ('ratio'), log: true },
        labels: known.map(({ about, better }) => `${about} (${better} is better)`),
        series: known.length > 0 ? [{ name: 'ratio', values: known.map(figureOf) }] : [],
        reference: 1,
      },
    },
    {
      name: 'latency',
      title: 'Latency against concurrency',
      about:
        'Mean latency of the successes, medians of the blocks. The lines are the fitted Universal Scalability Law, by which the latency is the concurrency divided by the rate.',
      form: against({ title: 'mean latency', unit: 'ms', log: true }, ({ mean_ms }) => mean_ms, latency_ms),
    },
    {
      name: 'rate',
      title: 'Rate against concurrency',
      about: 'Successes per second, medians of the blocks, and the fitted law.',
      form: against(
        { title: 'successes per second', unit: 'rate' },
        ({ rps }) => rps,
        (rate_rps) => rate_rps,
      ),
    },
  ]
  return pictures.filter(({ form }) => form.series.length > 0)
}
