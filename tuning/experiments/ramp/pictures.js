import { median } from '../../stats/ranks.js'
import { findingsOf } from './findings.js'
import { nameOf, sentencesOf } from './sentences.js'
import { seriesOf, trialsOf } from './steps.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { RampPlan, Records } from './steps.js'
 */

/**
 * What a ramp looks like: latency and rate against workers, with the ceiling.
 *
 * @param {any} run
 * @param {Records} records
 * @returns {Picture[]}
 */
export function rampPictures({ plan }, records) {
  const x = { title: 'workers', unit: /** @type {const} */ ('number'), log: true }
  const latency = linesOf(plan, records, ({ traffic }) => traffic.latency_ms?.mean)
  const rate = linesOf(plan, records, ({ traffic }) => traffic.goodput_rps)
  const met = findingsOf(plan, records).series.flatMap(({ workers, key }) => {
    const at = Number.isFinite(workers) ? Math.round(workers) : null
    return at === null ? [] : [{ axis: /** @type {const} */ ('x'), at, label: key.split(':')[0].toUpperCase() }]
  })
  if (latency.length === 0) return []
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
      form: { kind: 'xy', x, y: { title: 'successes per second', unit: 'rate' }, series: rate },
    },
  ]
}

/** @param {any} run @param {Records} records */
export function rampSentence({ plan, problem }, records) {
  const [first, second] = sentencesOf(plan, findingsOf(plan, records))
  const found = plan.sides.b && second ? `${first} ${second}` : first
  return `${problem ? `No trustworthy answer: ${problem}. ` : ''}${found ?? ''}`
}

/** @param {RampPlan} plan @param {Records} records @param {(record: Records[number]) => number | undefined} value */
function linesOf(plan, records, value) {
  return seriesOf(plan).flatMap((series) => {
    const trials = trialsOf(records, series.key)
    const workers = [...new Set(trials.map(({ load }) => load.connections))].sort((a, b) => a - b)
    const points = workers.flatMap((number) => {
      const own = trials.filter(({ load }) => load.connections === number)
      const y = median(own.map((record) => value(record) ?? Number.NaN))
      return Number.isFinite(y) ? [/** @type {[number, number]} */ ([number, y])] : []
    })
    return points.length === 0 ? [] : [{ name: nameOf(plan, series), points, as: /** @type {const} */ ('both') }]
  })
}
