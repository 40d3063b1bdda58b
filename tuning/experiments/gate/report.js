import { answer, heading, method, paragraph, sectionsOf, table } from '../../../load/report/blocks.js'
import { changesTable, largestText } from '../../../load/report/changes.js'
import { count, decimal, mebibytes, milliseconds, percent, tenthPercent } from '../../../load/report/format.js'
import { markdownOf } from '../../../load/report/markdown.js'
import { quoted } from '../../../load/system/ssh/remote.js'
import { estimateOf, LEAST_BLOCKS, ratioText } from '../../stats/twice.js'
import { HEADS, successOf } from './decision.js'
import { MOST_BLOCKS, TOGETHER_WARMUP } from './design.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Run } from '../../../load/report/record.js'
 * @import { Criterion } from './decision.js'
 * @import { GateFindings } from './findings.js'
 */

/** @type {Record<Criterion['name'], (value: number) => string>} */
const UNITS = {
  'CPU per request': (us) => `${decimal(us, 1)} us`,
  throughput: (rps) => `${count(Math.round(rps))}/s`,
  p50: milliseconds,
  p99: milliseconds,
  memory: mebibytes,
}

/** @param {GateFindings} findings @returns {Block[]} */
export function gateReport(findings) {
  const { plan, figures, functions, stages } = findings
  const rows = figures.map(({ criterion: { name }, base, head, estimate }) => {
    const noise = tenthPercent(estimate.noise_ratio - 1)
    return [name, UNITS[name](base), UNITS[name](head), ratioText(estimate), noise, String(estimate.blocks)]
  })
  return [
    answer(sentence(findings)),
    table(['', 'base', 'head', 'head / base', 'noise', 'blocks'], rows, { name: 'figures' }),
    ...changesTable({ what: 'files and packages', column: 'file or package' }, stages),
    ...changesTable({ what: 'functions', column: 'function' }, functions),
    heading('How to read it', { detail: true }),
    paragraph(
      `Medians, and the ratio of head to base with a 95 % interval, over the blocks; noise: by how much two processes of the same version differ in one of twenty blocks. Accepted is ${tenthPercent(plan.tolerance_ratio)} more.`,
    ),
    method([
      `Each block starts the base twice and the head twice, all on one core. For the CPU per request, all are loaded at the same time, so that a change of the core costs all of them the same: at 60 % of the throughput of the base, with random arrivals, after a warm-up of ${count(TOGETHER_WARMUP.requests)} requests to each (${TOGETHER_WARMUP.most_s} s at most); Node programs compile sooner than usual, so that this is over by then. Each second is compared for itself, and the median of the seconds counts. Once the verdict is known, the services of the last block are loaded in turns, for information: as much as they take, and at half of that for the latency, in two rounds, each of which counts as a block. Where loading all at once gives no figures, the turns of each block decide; so they do for services that run already. A fifth of the blocks at either end is left out of the ratio (a trimmed mean), and the verdict is looked for after each block, by intervals of 97.5 % for a loss, and of 99 % for none.`,
    ]),
  ]
}

/** @param {GateFindings} findings */
function sentence({ verdict, deciding, criterion, plan, more, stages, broken, pairs }) {
  const answered = HEADS.map((side) => successOf(broken, side)).filter((ratio) => ratio >= 0)
  if (broken.length > 0)
    return `Regressed: only ${percent(Math.min(...answered))} of the requests to head succeeded, in ${broken.length} trials whose block shows no such failures of base.`
  if (!deciding) return 'Undecided: nothing could be compared.'
  const found = `${criterion.name} of head / base: ${ratioText(deciding.estimate)}`
  const accepted = tenthPercent(plan.tolerance_ratio)
  if (verdict === 'same or better') return `Same or better: ${found}; at most ${accepted} worse is accepted.`
  if (verdict === 'regressed')
    return `Regressed: ${found}; at most ${accepted} worse was accepted. ${largestText(stages)}`.trim()
  if (pairs.length < LEAST_BLOCKS)
    return `Undecided: ${found}, from ${pairs.length} blocks; ${LEAST_BLOCKS} are needed.`
  const wide = `${criterion.name} of head / base: ${ratioText(estimateOf(pairs, 'same'))}`
  return `Undecided: ${wide}; this interval (99 %) holds ${accepted} worse, and this machine differs from itself by ${tenthPercent(deciding.estimate.noise_ratio - 1)}. ${wantedText(Number(more))}`.trim()
}

/** @param {number} more blocks that would decide; Infinity if unknown */
export function wantedText(more) {
  if (!Number.isFinite(more)) return ''
  if (more <= MOST_BLOCKS) return `About ${count(more)} blocks would decide (--blocks).`
  return `Even ${count(MOST_BLOCKS)} blocks would not decide: for this much noise, the difference is too close to what is accepted (--tolerance).`
}

/** The report as a comment for a pull request, with the machine and the command instead of the explanations. @param {GateFindings} findings @param {Run} run */
export function commentOf(findings, { machine, argv, problem, interrupted }) {
  const [{ blocks }] = sectionsOf(gateReport(findings))
  const incomplete = problem ?? (interrupted ? 'the run was interrupted' : null)
  const where = `${machine.cpu_model}, ${machine.cores} cores, ${machine.kernel}`
  const first = incomplete ? [paragraph(`**No trustworthy answer: ${incomplete}.**`)] : []
  const command = `redline gate ${argv.map(quoted).join(' ')}`
  return markdownOf([...first, ...blocks, paragraph(`Measured on ${where}, by \`${command}\`.`)])
}
