/**
 * @import { Picture, Series } from '../../../load/report/picture.js'
 * @import { Climbed, RampFindings } from './findings.js'
 */

const X = /** @type {const} */ ({ title: 'workers', unit: 'number', log: true })

/** Latency and rate against workers, with the ceiling. @param {RampFindings} findings @returns {Picture[]} */
export function rampPictures({ plan, series }) {
  /** @param {(rung: Climbed['rungs'][number]) => number} value @returns {Series[]} */
  const lines = (value) =>
    series.flatMap(({ name, rungs }) => {
      const points = rungs.map((rung) => /** @type {[number, number]} */ ([rung.workers, value(rung)]))
      const known = points.filter(([, y]) => Number.isFinite(y))
      return known.length > 0 ? [{ name, points: known, as: 'both' }] : []
    })
  const latency = lines(({ mean_ms }) => mean_ms)
  if (latency.length === 0) return []
  const met = series.filter(({ workers }) => Number.isFinite(workers)).slice(0, 2)
  return [
    {
      name: 'latency',
      title: 'Latency against workers',
      about:
        'Mean latency of each rung, medians of the blocks. Where it meets the ceiling, the upright line tells how many workers that is.',
      form: {
        kind: 'xy',
        x: X,
        y: { title: 'mean latency', unit: 'ms', log: true },
        series: latency,
        marks: [
          { axis: 'y', at: plan.ceiling_ms, label: `ceiling: ${plan.ceiling_ms} ms` },
          ...met.map(({ workers, side }) => {
            return { axis: /** @type {const} */ ('x'), at: Math.round(workers), label: side.toUpperCase() }
          }),
        ],
      },
    },
    {
      name: 'rate',
      title: 'Rate against workers',
      about:
        'Successes per second of each rung, medians of the blocks: where the line is flat, more workers only wait.',
      form: { kind: 'xy', x: X, y: { title: 'successes per second', unit: 'rate' }, series: lines(({ rps }) => rps) },
    },
  ]
}
