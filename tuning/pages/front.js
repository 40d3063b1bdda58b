import { list, paragraph, table } from '../../load/report/blocks.js'
import { count, milliseconds, NONE, ratesText } from '../../load/report/format.js'
import { changeText, proofPicture } from '../../load/report/proof.js'
import { sloText } from '../../load/report/slo.js'
import { conditionsOf } from '../../load/run/conditions.js'
import { costNear, sustainedIn } from '../../load/verbs/sweep/answer.js'
import { sweepPictures } from '../../load/verbs/sweep/pictures.js'
import { promisedRate } from '../../load/verbs/sweep/promise.js'
import { nextChange, RESOURCES } from '../../load/verdict/resources.js'
import { evidence, imageOf } from './evidence/evidence.js'

/**
 * @import { Block } from '../../load/report/blocks.js'
 * @import { Elasticity } from '../../load/report/record.js'
 * @import { Evidence } from './evidence/evidence.js'
 */

const SWEEPS = ['sweep-batched', 'sweep-single']

/** The answer in the first lines of README: the rate of one core and its bottleneck, and the same with a statement per request. */
export function headlineBlocks() {
  const [batched, single] = SWEEPS.map(evidence)
  const sentences = [
    `**On our machine, one core sustained ${sustainedRate(batched)} durable requests per second for a minute, with ${sloText(batched.run.slo)}. The bottleneck: ${isText(batched)}.**`,
    `With one statement per request, the same API sustained ${sustainedRate(single)}/s, and the bottleneck is a different one: ${isText(single)}.`,
  ]
  return [paragraph(sentences.join(' '))]
}

/** The figures behind the headline, side by side, and the pictures of the first. */
export function answerBlocks() {
  const [batched, single] = SWEEPS.map(evidence)
  const head = ['', '`batched`, the default: requests share a statement', '`single`: a statement per request']
  const rows = Object.entries(ROWS).map(([name, of]) => [name, of(batched), of(single)])
  const [capacity] = sweepPictures({ ...batched.run, records: batched.records })
  const pictures = [capacity, proofPicture(batched.findings)].flatMap((picture) => picture ?? [])
  return [
    table(head, rows, { align: ['l', 'l', 'l'] }),
    list(conditionsOf(batched.run, batched.records)),
    ...pictures.flatMap((picture) => imageOf(batched.folder, picture)),
  ]
}

/** This API next to other frameworks, as bars. @returns {Block[]} */
export function frameworksBlocks() {
  const { folder, report, run } = evidence('bench')
  const drawn = report.find((block) => block.kind === 'picture')
  if (drawn?.kind !== 'picture') return []
  return [
    ...imageOf(folder, drawn.picture),
    paragraph(
      `Measured ${run.finished_at?.slice(0, 10)}, Redline ${run.versions.redline_commit} ([all figures](tuning/experiments/bench/README.md)).`,
    ),
  ]
}

/** @type {Record<string, (sweep: Evidence) => string>} */
const ROWS = {
  'capacity, durable requests': ({ run }) => ratesText(run.capacity),
  'sustained for a minute': (sweep) => {
    return `${sustainedRate(sweep)}/s, with a p99 of ${milliseconds(sustainedIn(sweep.records)?.traffic.latency_ms?.p99)}`
  },
  'safe to promise': ({ run, records }) => `${count(Number(promisedRate({ capacity: run.capacity, records })))}/s`,
  'API CPU per request': costText,
  'the bottleneck': (sweep) => `\`${sweep.run.limit.resource}\`: ${isText(sweep)}`,
  'proof, in throughput [95 % interval]': proofOf,
  'what to change next': ({ run }) => nextChange(run.limit.resource, true),
  'the whole run': ({ folder }) =>
    `[findings](tuning/README.md#how-much-and-what-limits-it), [every trial](tuning/evidence/${folder}/report.md)`,
}

/** @param {Evidence} sweep */
function isText({ run }) {
  return RESOURCES[run.limit.resource][0]
}

/** The cost of slowing the bottleneck. @param {Evidence} sweep */
function proofOf({ run, findings }) {
  const own = findings.elasticities.find((/** @type {Elasticity} */ { resource }) => resource === run.limit.resource)
  return own ? changeText(own) : NONE
}

/** @param {Evidence} sweep */
function costText({ run, records }) {
  return `${costNear({ capacity: run.capacity, records })?.median_us.toFixed(1)} us`
}

/** Requests/s of the trial that lasted a minute. @param {Evidence} sweep */
function sustainedRate({ records }) {
  return count(Number(sustainedIn(records)?.load.rate_rps))
}
