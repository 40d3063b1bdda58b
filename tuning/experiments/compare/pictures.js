import { figureOf } from '../../stats/spread.js'
import { predictedRate } from '../../stats/usl.js'
import { reasonsOf } from './differences.js'

/**
 * @import { Axis, Picture } from '../../../load/report/picture.js'
 * @import { CompareFindings, Level } from './findings.js'
 */

/** Points of a curve. */
const STEPS = 40

/** @param {CompareFindings} findings @returns {Picture[]} */
export function comparePictures(findings) {
  return [
    ...ratiosPicture(findings),
    ...againstPicture(findings, {
      name: 'latency',
      title: 'Latency against concurrency',
      about:
        'Mean latency of the successes, medians of the blocks. The lines are the fitted Universal Scalability Law, by which the latency is concurrency by rate.',
      y: { title: 'mean latency', unit: 'ms', log: true },
      measured: ({ mean_ms }) => mean_ms,
      predicted: (rate_rps, workers) => (1000 * workers) / rate_rps,
    }),
    ...againstPicture(findings, {
      name: 'rate',
      title: 'Rate against concurrency',
      about: 'Successes per second, medians of the blocks, and the fitted law.',
      y: { title: 'successes per second', unit: 'rate' },
      measured: ({ rps }) => rps,
      predicted: (rate_rps) => rate_rps,
    }),
  ]
}

/** @param {CompareFindings} findings @returns {Picture[]} */
function ratiosPicture({ differences }) {
  const known = differences.filter((one) => Number.isFinite(one.ratio) && reasonsOf(one) === '')
  if (known.length === 0) return []
  return [
    {
      name: 'ratios',
      title: 'B to A',
      about:
        'Ratios within a block, with their intervals; what holds 1 is tied. Of latencies less is better, of rates more.',
      form: {
        kind: 'dots',
        x: { title: 'ratio of B to A', unit: 'ratio', log: true },
        labels: known.map(({ about, better }) => `${about} (${better} is better)`),
        series: [{ name: 'ratio', values: known.map(figureOf) }],
        reference: 1,
      },
    },
  ]
}

/**
 * @param {CompareFindings} findings
 * @param {{ name: string, title: string, about: string, y: Axis, measured: (level: Level) => number, predicted: (rate_rps: number, workers: number) => number }} what
 * @returns {Picture[]}
 */
function againstPicture({ plan, sides }, { name, title, about, y, measured, predicted }) {
  const [least, most] = [Math.min(...plan.concurrency), Math.max(...plan.concurrency)]
  const series = sides.flatMap(({ name: side, levels, law }, style) => {
    const points = levels.map((level) => /** @type {[number, number]} */ ([level.workers, measured(level)]))
    const curve = Array.from({ length: law ? STEPS + 1 : 0 }, (_, i) => {
      const workers = least * (most / least) ** (i / STEPS)
      const rate_rps = predictedRate(/** @type {any} */ (law), workers)
      return /** @type {[number, number]} */ ([workers, predicted(rate_rps, workers)])
    })
    const known = points.filter(([, value]) => Number.isFinite(value))
    return [
      { name: side, points: known, as: /** @type {const} */ ('dots'), style },
      { name: `${side}, fitted`, points: curve, as: /** @type {const} */ ('line'), style },
    ].filter((one) => one.points.length > 0)
  })
  if (series.length === 0) return []
  const x = { title: 'workers', unit: /** @type {const} */ ('number'), log: most >= 10 * least }
  return [{ name, title, about, form: { kind: 'xy', x, y, series } }]
}
