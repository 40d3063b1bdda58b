import { figureOf } from '../../stats/picture-values.js'
import { median } from '../../stats/ranks.js'
import { predictedRate } from '../../stats/usl.js'
import { lawOf } from './law.js'
import { latencyTrials } from './steps.js'
import { answerSentence, differencesOf, reasonsOf } from './verdict.js'

/**
 * @import { Axis, Picture } from '../../../load/report/picture.js'
 * @import { ComparePlan, Records } from './steps.js'
 */

const NAMES = /** @type {const} */ (['a', 'b'])

/** Points of a curve. */
const STEPS = 40

/**
 * What two sides look like beside each other.
 *
 * @param {any} run
 * @param {Records} records
 * @returns {Picture[]}
 */
export function comparePictures({ plan }, records) {
  return [
    ratiosPicture(plan, records),
    againstPicture(plan, records, {
      name: 'latency',
      title: 'Latency against concurrency',
      about:
        'Mean latency of the successes, medians of the blocks. The lines are the fitted Universal Scalability Law, by which the latency is concurrency by rate.',
      axis: { title: 'mean latency', unit: 'ms', log: true },
      measured: ({ traffic }) => traffic.ok_latency_ms?.mean ?? Number.NaN,
      predicted: (rate_rps, workers) => (1000 * workers) / rate_rps,
    }),
    againstPicture(plan, records, {
      name: 'rate',
      title: 'Rate against concurrency',
      about: 'Successes per second, medians of the blocks, and the fitted law.',
      axis: { title: 'successes per second', unit: 'rate' },
      measured: ({ traffic }) => traffic.goodput_rps,
      predicted: (rate_rps) => rate_rps,
    }),
  ].filter((picture) => picture !== null)
}

/** @param {any} run @param {Records} records */
export function compareSentence({ plan, problem }, records) {
  return `${problem ? `No trustworthy answer: ${problem}. ` : ''}${answerSentence(differencesOf(plan, records))}`
}

/** @param {ComparePlan} plan @param {Records} records @returns {Picture | null} */
function ratiosPicture(plan, records) {
  const known = differencesOf(plan, records).filter((one) => Number.isFinite(one.ratio) && reasonsOf(one) === '')
  if (known.length === 0) return null
  return {
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
  }
}

/**
 * @param {ComparePlan} plan
 * @param {Records} records
 * @param {{ name: string, title: string, about: string, axis: Axis, measured: (record: Records[number]) => number, predicted: (rate_rps: number, workers: number) => number }} what
 * @returns {Picture | null}
 */
function againstPicture(plan, records, { name, title, about, axis, measured, predicted }) {
  const [least, most] = [Math.min(...plan.concurrency), Math.max(...plan.concurrency)]
  const series = NAMES.flatMap((side, style) => {
    const points = plan.concurrency.flatMap((workers) => {
      const value = median(latencyTrials(records, side, workers).map(measured))
      return Number.isFinite(value) ? [/** @type {[number, number]} */ ([workers, value])] : []
    })
    const { law } = lawOf(plan, records, side)
    const curve = law
      ? Array.from({ length: STEPS + 1 }, (_, i) => {
          const workers = least * (most / least) ** (i / STEPS)
          return /** @type {[number, number]} */ ([workers, predicted(predictedRate(law, workers), workers)])
        })
      : []
    const side_ = side.toUpperCase()
    return [
      ...(points.length > 0 ? [{ name: side_, points, as: /** @type {const} */ ('dots'), style }] : []),
      ...(curve.length > 0
        ? [{ name: `${side_}, fitted`, points: curve, as: /** @type {const} */ ('line'), style }]
        : []),
    ]
  })
  if (series.length === 0) return null
  return {
    name,
    title,
    about,
    form: { kind: 'xy', x: { title: 'workers', unit: 'number', log: most >= 10 * least }, y: axis, series },
  }
}
