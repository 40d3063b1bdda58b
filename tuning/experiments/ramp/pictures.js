/**
 * @import { Axis, Picture, Xy } from '../../../load/report/picture.js'
 * @import { Climbed, RampFindings } from './findings.js'
 */

/** Latency and rate against workers, with the ceiling. @param {RampFindings} findings @returns {Picture[]} */
export function rampPictures({ plan, series }) {
  /** @param {Axis} y @param {(rung: Climbed['rungs'][number]) => number} value @returns {Xy} */
  const against = (y, value) => {
    const lines = series.map(({ name, rungs }) => {
      const points = rungs.map((rung) => /** @type {[number, number]} */ ([rung.workers, value(rung)]))
      return { name, points: points.filter(([, known]) => Number.isFinite(known)), as: /** @type {const} */ ('both') }
    })
    const x = /** @type {const} */ ({ title: 'workers', unit: 'number', log: true })
    return { kind: 'xy', x, y, series: lines.filter(({ points }) => points.length > 0) }
  }
  const latency = against({ title: 'mean latency', unit: 'ms', log: true }, ({ mean_ms }) => mean_ms)
  if (latency.series.length === 0) return []
  const met = series.filter(({ workers }) => Number.isFinite(workers)).slice(0, 2)
  const uprights = met.map(({ workers, side }) => {
    return { axis: /** @type {const} */ ('x'), at: Math.round(workers), label: side.toUpperCase() }
  })
  return [
    {
      name: 'latency',
      title: 'Latency against workers',
      about:
        'Mean latency of each rung, medians of the blocks. The upright line shows the number of workers at which it meets the ceiling.',
      form: {
        ...latency,
        marks: [{ axis: 'y', at: plan.ceiling_ms, label: `ceiling: ${plan.ceiling_ms} ms` }, ...uprights],
      },
    },
    {
      name: 'rate',
      title: 'Rate against workers',
      about:
        'Successes per second of each rung, medians of the blocks. Where the line is flat, additional workers only wait.',
      form: against({ title: 'successes per second', unit: 'rate' }, ({ rps }) => rps),
    },
  ]
}
