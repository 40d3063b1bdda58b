import { xyPicture } from '../../../load/report/picture.js'

/**
 * @import { Mark, Picture, Series } from '../../../load/report/picture.js'
 * @import { Climbed, RampFindings } from './findings.js'
 */

const WORKERS = /** @type {const} */ ({ title: 'workers', unit: 'number', log: true })

/** Latency and rate against workers, with the ceiling. @param {RampFindings} findings @returns {Picture[]} */
export function rampPictures({ plan, series }) {
  const climbed = series.filter(({ rungs }) => rungs.length > 0)
  if (climbed.length === 0) return []
  const curves = (/** @type {(rung: Climbed['rungs'][number]) => number} */ value) => {
    return climbed.map(({ name, rungs }) => {
      return /** @type {Series} */ ({ name, points: rungs.map((rung) => [rung.workers, value(rung)]), as: 'both' })
    })
  }
  const met = series.filter(({ workers }) => Number.isFinite(workers)).slice(0, 2)
  const uprights = met.map(({ workers, side }) => {
    return /** @type {Mark} */ ({ axis: 'x', at: Math.round(workers), label: side.toUpperCase() })
  })
  return [
    xyPicture(
      'latency',
      'Latency against workers',
      'Mean latency of each rung, medians of the blocks. The upright line shows the number of workers at which it meets the ceiling.',
      {
        x: WORKERS,
        y: { title: 'mean latency', unit: 'ms', log: true },
        series: curves(({ mean_ms }) => mean_ms),
        marks: [{ axis: 'y', at: plan.ceiling_ms, label: `ceiling: ${plan.ceiling_ms} ms` }, ...uprights],
      },
    ),
    xyPicture(
      'rate',
      'Rate against workers',
      'Successes per second of each rung, medians of the blocks. Where the line is flat, additional workers only wait.',
      { x: WORKERS, y: { title: 'successes per second', unit: 'rate' }, series: curves(({ rps }) => rps) },
    ),
  ]
}
