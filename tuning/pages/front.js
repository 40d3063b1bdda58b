import { list, paragraph, table } from '../../load/report/blocks.js'
import { count, milliseconds, NONE, ratesText } from '../../load/report/format.js'
import { proofPicture, proofText } from '../../load/report/proof.js'
import { sloText } from '../../load/report/slo.js'
import { conditionsOf } from '../../load/run/conditions.js'
import { costNear, sustainedIn } from '../../load/verbs/sweep/answer.js'
import { sweepPictures } from '../../load/verbs/sweep/pictures.js'
import { promisedRate } from '../../load/verbs/sweep/promise.js'
import { RESOURCES } from '../../load/verdict/resources.js'
import { boundText } from '../experiments/bench/report.js'
import { evidence, imageOf } from './evidence/evidence.js'

/**
 * @import { Block } from '../../load/report/blocks.js'
 * @import { Evidence } from './evidence/evidence.js'
 */

/** The beginning of README: the capacity of one core and its bottleneck, the same with a statement per request, and the pictures. */
export function answerBlocks() {
  const [batched, single] = ['sweep-batched', 'sweep-single'].map(evidence)
  const sentence = [
    `**Here one core sustained ${sustainedRate(batched)} durable requests per second for a minute, with ${sloText(batched.run.slo)}; its capacity lies between ${ratesText(batched.run.capacity).replace(' to ', ' and ')}. The bottleneck: ${isText(batched)}.**`,
    `A request costs the API ${costText(batched)} of CPU.`,
    `With one statement per request, the same API has a capacity of ${ratesText(single.run.capacity)}, and the bottleneck is a different one: ${isText(single)}.`,
  ].join(' ')
  const head = ['', '`batched`, the default: requests share a statement', '`single`: a statement per request']
  const all = Object.entries(ROWS).map(([name, of]) => [name, of(batched), of(single)])
  const rows = all.filter(([, ...cells]) => cells.some((cell) => cell !== NONE))
  const proofs = Object.entries({ batched, single }).flatMap(([mode, { findings }]) => {
    return proofText(findings, `Proof of the bottleneck of \`${mode}\``) ?? []
  })
  const [capacity] = sweepPictures({ ...batched.run, records: batched.records })
  const pictures = [capacity, proofPicture(batched.findings)].flatMap((picture) => picture ?? [])
  return [
    paragraph(sentence),
    table(head, rows, { align: ['l', 'l', 'l'] }),
    list(proofs),
    ...pictures.map((picture) => imageOf(batched.folder, picture)),
    list(conditionsOf(batched.run, batched.records)),
    ...benchPicture(),
  ]
}

/** This API next to other frameworks, as bars. @returns {Block[]} */
function benchPicture() {
  const { folder, report, run, findings } = evidence('bench')
  const drawn = report.find((block) => block.kind === 'picture')
  if (drawn?.kind !== 'picture') return []
  const bound = boundText(findings.servers)
  return [
    imageOf(folder, drawn.picture),
    ...(bound ? [paragraph(bound)] : []),
    paragraph(
      `This picture comes from another run, with fewer connections than the sweeps above: compare its bars only with each other. ${run.finished_at?.slice(0, 10)}, Redline ${run.versions.redline_commit} ([all figures](tuning/experiments/bench/README.md)).`,
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
  'evidence, beyond the capacity': ({ run }) => run.limit.evidence[0],
  'runner-up': ({ run }) => `\`${run.limit.runner_up}\``,
  'what to change next': ({ run }) => RESOURCES[run.limit.resource][1],
  'how sure': ({ run: { capacity } }) => `${capacity.trials} trials, confidence ${capacity.confidence.toFixed(2)}`,
  'every trial': ({ folder }) => `[report](tuning/evidence/${folder}/report.md)`,
}

/** @param {Evidence} sweep */
function isText({ run }) {
  return RESOURCES[run.limit.resource][0]
}

/** @param {Evidence} sweep */
function costText({ run, records }) {
  return `${costNear({ capacity: run.capacity, records })?.median_us.toFixed(1)} us`
}

/** Requests/s of the trial that lasted a minute. @param {Evidence} sweep */
function sustainedRate({ records }) {
  return count(Number(sustainedIn(records)?.load.rate_rps))
}
