import { figureOf } from '../../stats/spread.js'
import { predictedRate } from '../../stats/usl.js'

/**
 * @import { Picture, Series } from '../../../load/report/picture.js'
 * @import { CompareFindings } from './findings.js'
 */

/** Points of a curve. */
const STEPS = 40

/** Those for which anything was measured. @param {CompareFindings} findings */
export function comparePictures({ plan, sides, levels, differences }) {
  const known = differences.filter(({ ratio }) => Number.isFinite(ratio))
  const [least, most] = [Math.min(...plan.concurrency), Math.max(...plan.concurrency)]
  const curve = Array.from({ length: STEPS + 1 }, (_, i) => least * (most / least) ** (i / STEPS))
  const latencies = sides.flatMap(({ name, law }, style) => {
    const measured = levels.map((both) => [both[style].workers, both[style].mean_ms])
    const fitted = law ? curve.map((workers) => [workers, (1000 * workers) / predictedRate(law, workers)]) : []
    return /** @type {Series[]} */ ([
      { name, points: measured.filter(([, ms]) => Number.isFinite(ms)), as: 'dots', style },
      { name: `${name}, fitted`, points: fitted, as: 'line', style },
    ])
  })
  const pictures = /** @type {Picture[]} */ ([
    {
      name: 'ratios',
      title: 'B to A',
      about:
        'Ratios within a block, with their intervals; an interval that contains 1 is a tie. Less is better for latencies, more for rates.',
      form: {
        kind: 'dots',
        x: { title: 'ratio of B to A', unit: 'ratio', log: true },
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
      form: {
        kind: 'xy',
        x: { title: 'workers', unit: 'number', log: most >= 10 * least },
        y: { title: 'mean latency', unit: 'ms', log: true },
        series: latencies.filter(({ points }) => points.length > 0),
      },
    },
  ])
  return pictures.filter(({ form }) => 'series' in form && form.series.length > 0)
}
