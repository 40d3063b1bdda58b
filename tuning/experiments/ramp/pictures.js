/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { RampFindings } from './findings.js'
 * @import { TableRung } from './rungs.js'
 */

/** Latency and rate against workers, with the ceiling. @param {RampFindings} findings @returns {Picture[]} */
export function rampPictures({ plan, series }) {
  const lines = (/** @type {(rung: TableRung) => number} */ value) =>
    series
      .map(({ name, rungs }) => {
        const points = rungs.map((rung) => /** @type {[number, number]} */ ([rung.workers, value(rung)]))
        return { name, points: points.filter(([, y]) => Number.isFinite(y)), as: /** @type {const} */ ('both') }
      })
      .filter(({ points }) => points.length > 0)
  const latency = lines(({ mean_ms }) => mean_ms)
  if (latency.length === 0) return []
  const x = { title: 'workers', unit: /** @type {const} */ ('number'), log: true }
  const met = series.flatMap(({ found: { workers, side } }) => {
    const mark = { axis: /** @type {const} */ ('x'), at: Math.round(workers), label: side.toUpperCase() }
    return Number.isFinite(workers) ? [mark] : []
  })
  return [
    {
      name: 'latency',
      title: 'Latency against workers',
      about:
        'Mean latency of each rung, medians of the blocks. Where it meets the ceiling, the upright line tells how many workers that is.',
      form: {
        kind: 'xy',
        x,
        y: { title: 'mean latency', unit: 'ms', log: true },
        series: latency,
        marks: [{ axis: 'y', at: plan.ceiling_ms, label: `ceiling: ${plan.ceiling_ms} ms` }, ...met.slice(0, 2)],
      },
    },
    {
      name: 'rate',
      title: 'Rate against workers',
      about:
        'Successes per second of each rung, medians of the blocks: where the line is flat, more workers only wait.',
      form: {
        kind: 'xy',
        x,
        y: { title: 'successes per second', unit: 'rate' },
        series: lines(({ rps }) => rps),
      },
    },
  ]
}
