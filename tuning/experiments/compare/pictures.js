import { drawn } from '../../../load/report/blocks.js'
import { xyPicture } from '../../../load/report/picture.js'
import { figureOf } from '../../stats/spread.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { CompareFindings } from './findings.js'
 */

/** Those for which anything was measured. @param {CompareFindings} findings @returns {Block[]} */
export function comparePictures({ plan, sides, levels, differences }) {
  const known = differences.filter(({ ratio }) => Number.isFinite(ratio))
  const series = sides.map(({ name }, i) => {
    const means = levels.map((both) => /** @type {[number, number]} */ ([both[i].workers, both[i].mean_ms]))
    return { name, points: means.filter(([, ms]) => Number.isFinite(ms)), as: /** @type {const} */ ('both') }
  })
  const ratios = drawn({
    name: 'ratios',
    title: 'B to A',
    about:
      'Ratios within a block, with their intervals; an interval that contains 1 is a tie. Less is better for latencies, more for rates.',
    form: {
      kind: 'dots',
      x: { title: 'ratio of B to A', unit: 'ratio', log: true },
      labels: known.map(({ about, better }) => `${about} (${better} is better)`),
      series: [{ name: 'ratio', values: known.map(figureOf) }],
      reference: 1,
    },
  })
  const latency = xyPicture(
    'latency',
    'Latency against concurrency',
    'Mean latency of the successes, medians of the blocks.',
    {
      x: { title: 'workers', unit: 'number', log: Math.max(...plan.concurrency) >= 10 * Math.min(...plan.concurrency) },
      y: { title: 'mean latency', unit: 'ms', log: true },
      series,
    },
  )
  return [
    ...(known.length > 0 ? [ratios] : []),
    ...(series.some(({ points }) => points.length > 0) ? [drawn(latency)] : []),
  ]
}
