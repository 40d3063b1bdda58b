import { answer, method, table } from '../../../load/report/blocks.js'
import { cellName, count, NONE } from '../../../load/report/format.js'
import { ratioText, verdictsText } from '../../stats/effects.js'
import { columnsOf, spread } from '../../stats/tables.js'
import { looksOf } from './results.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { PlaybookFindings } from './playbook.js'
 * @import { Result } from './results.js'
 */

/** @param {PlaybookFindings} findings @returns {Block[]} */
export function playbookReport({ results, ...plan }) {
  const [first, ...later] = looksOf(plan)
  const confidences = [first, ...later].map(({ confidence }) => `${(confidence * 100).toFixed(1)} %`)
  const further =
    later.length > 0
      ? `, and in ${later.map(({ blocks }) => blocks).join(', then ')} where these left a claim undecided (intervals of ${new Intl.ListFormat('en-GB').format(confidences)}, so that all looks together err as often as one of 95 %)`
      : ''
  return [
    answer(`${results.length} ${results.length === 1 ? 'claim' : 'claims'}: ${verdictsText(results)}.`),
    claimsTable(results),
    method([
      `Each experiment: its cells in ${plan.blocks} blocks${further}, the order drawn for each; ratios within a block; the typical ratio and its interval by ranks (Hodges-Lehmann, Wilcoxon's signed ranks).`,
      'Reproduced: the interval excludes 1 on the side that was claimed, and the ratio is at least as large an effect as claimed. `within`: the whole interval has to lie inside the range. Refuted: the whole interval falls short of the claim, or lies outside the range.',
    ]),
  ]
}

/** A row per claim, with its measured effect. @param {Result[]} results */
export function claimsTable(results) {
  const [head, rows] = columnsOf(results, [
    ['claim', ({ id, sentence }) => `${sentence} (${id})`],
    ['knob', ({ turned: { from, to } }) => [from, to].map((levels) => cellName(levels) || 'default').join(' -> ')],
    ['measure', ({ measure }) => measure.title],
    ['median', ({ medians, measure }) => medians.map((value) => figure(value, measure.decimals)).join(' -> ')],
    ['ratio [interval]', ({ effect }) => ratioText(effect)],
    ['claimed', expectedText],
    ['verdict', ({ verdict }) => `**${verdict}**`],
  ])
  return table(head, rows, { align: ['l', 'l', 'l', 'r', 'r', 'r', 'l'] })
}

/** The same claims in three columns. @param {Result[]} results */
export function summaryTable(results) {
  const rows = results.map(({ sentence, measure, effect, verdict }) => {
    return [sentence, `${measure.title.split(',')[0]} ${ratioText(effect)}`, verdict]
  })
  return table(['claim', 'effect [interval]', 'here'], rows)
}

/** Pools against Little's law. @param {PlaybookFindings} findings */
export function littleTable({ pools }) {
  const [head, rows] = columnsOf(pools, [
    ['delay to the database', ({ DB_DELAY_MS }) => `${DB_DELAY_MS} ms`],
    ['pool', ({ POOL_MAX }) => String(POOL_MAX)],
    ['time a statement holds a connection', ({ held_ms }) => `${held_ms.toFixed(2)} ms`],
    ['predicted: pool / time', ({ predicted_rps }) => `${figure(predicted_rps, 0)}/s`],
    ['measured', ({ goodput_rps }) => `${figure(goodput_rps, 0)}/s`],
    ['measured / predicted', ({ goodput_rps, predicted_rps }) => (goodput_rps / predicted_rps).toFixed(2)],
  ])
  return table(head, rows)
}

/** Versions of Node next to each other. @param {PlaybookFindings} findings */
export function nodesTable({ nodes }) {
  const [head, rows] = columnsOf(nodes, [
    ['Node', ({ version }) => String(version)],
    ['CPU us per request [least–most]', ({ cpu_us }) => spread(cpu_us, 1)],
    [`ratio to ${nodes[0]?.version} [interval]`, ({ effect }) => (effect ? ratioText(effect) : '1')],
    ['p99 ms [least–most]', ({ p99_ms }) => spread(p99_ms, 1)],
  ])
  return table(head, rows)
}

/** @param {Pick<Result, 'expect' | 'least_ratio'>} claim */
function expectedText({ expect, least_ratio }) {
  if (expect === 'same') return `within ${(1 / least_ratio).toFixed(2)}–${least_ratio}x`
  return expect === 'more' ? `≥ ${least_ratio}x` : `≤ ${+(1 / least_ratio).toFixed(3)}x`
}

/** @param {number} value @param {number} decimals */
function figure(value, decimals) {
  return Number.isNaN(value) ? NONE : count(Number(value.toFixed(decimals)))
}
