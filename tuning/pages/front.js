import { list, paragraph, table } from '../../load/report/blocks.js'
import { milliseconds, ratesText } from '../../load/report/format.js'
import { conditionsOf } from '../../load/run/conditions.js'
import { costNear, nearCapacity } from '../../load/verbs/sweep/answer.js'
import { sweepPictures } from '../../load/verbs/sweep/pictures.js'
import { RESOURCES } from '../../load/verdict/resources.js'
import { median } from '../stats/ranks.js'
import { evidence } from './evidence.js'

/** @import { Evidence } from './evidence.js' */

/** What README begins with: how much one core takes, and why; the same with a statement per request; the picture. */
export function answerBlocks() {
  const [batched, single] = ['sweep-batched', 'sweep-single'].map(evidence)
  const sentence = [
    `**Here one core takes ${ratesText(batched.run.capacity).replace('/s', '')} durable requests per second with p99 within ${batched.run.slo.p99_ms} ms, and what stops it: ${isText(batched)}.**`,
    `A request costs ${costText(batched)} of its CPU.`,
    `With a statement per request the same API takes ${ratesText(single.run.capacity)}, and what stops it: ${isText(single)}.`,
  ].join(' ')
  return [
    paragraph(sentence),
    figuresTable(batched, single),
    paragraph(pictureText(batched)),
    list(conditionsOf(batched.run)),
  ]
}

/** @type {Record<string, (sweep: Evidence) => string>} */
const ROWS = {
  'durable requests': ({ run }) => ratesText(run.capacity),
  'p99 at the lower of these rates': (sweep) => milliseconds(p99AtLower_ms(sweep)),
  'CPU of the API for each': costText,
  'what stops it': (sweep) => `\`${sweep.run.limit.resource}\`: ${isText(sweep)}`,
  'seen in the trials that failed': ({ run }) => run.limit.evidence[0],
  'runner-up': ({ run }) => `\`${run.limit.runner_up}\``,
  'what to turn next': ({ run }) => RESOURCES[run.limit.resource].turn,
  'how sure': ({ run }) => sureText(run.capacity),
  'every trial': ({ folder }) => `[report](tuning/evidence/${folder}/report.md)`,
}

/** @param {...Evidence} sweeps batched and single */
function figuresTable(...sweeps) {
  const head = ['', '`batched`, the default: requests share a statement', '`single`: a statement per request']
  const rows = Object.entries(ROWS).map(([name, of]) => [name, ...sweeps.map(of)])
  return table(head, rows, { align: ['l', 'l', 'l'] })
}

/** @param {{ trials: number, confidence: number }} capacity */
function sureText({ trials, confidence }) {
  return `${trials} trials, confidence ${confidence.toFixed(2)} of 1`
}

/** @param {Evidence} sweep */
function isText({ run }) {
  return RESOURCES[run.limit.resource].is
}

/** @param {Evidence} sweep */
function costText({ run, records }) {
  return `${costNear({ capacity: run.capacity, records })?.median_us.toFixed(1)} us`
}

/** The median of the trials that passed at the lower end of the capacity. @param {Evidence} sweep */
function p99AtLower_ms({ run, records }) {
  const passed = nearCapacity(run.capacity, records).filter(({ outcome, load }) => {
    return outcome.verdict === 'pass' && load.rate_rps === run.capacity.low_rps
  })
  return median(passed.map(({ traffic }) => Number(traffic.latency_ms?.p99)))
}

/** @param {Evidence} sweep */
function pictureText({ folder, run, records }) {
  const [{ title, about, name }] = sweepPictures({ ...run, records })
  return `![${title}: ${about}](tuning/evidence/${folder}/${name}.svg)`
}
