import { answer, method, table } from '../../../load/report/blocks.js'
import { cellName, count, NONE } from '../../../load/report/format.js'
import { ratioText, verdictsText } from '../../stats/effects.js'
import { spread } from '../../stats/spread.js'
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
  const rows = results.map(({ id, sentence, measure, turned, medians, effect, verdict, ...claim }) => [
    `${sentence} (${id})`,
    [turned.from, turned.to].map((levels) => cellName(levels) || 'default').join(' -> '),
    measure.title,
    medians.map((value) => figure(value, measure.decimals)).join(' -> '),
    ratioText(effect),
    expectedText(claim),
    `**${verdict}**`,
  ])
  return table(['claim', 'knob', 'measure', 'median', 'ratio [interval]', 'claimed', 'verdict'], rows)
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
  const rows = pools.map(({ DB_DELAY_MS, POOL_MAX, held_ms, predicted_rps, goodput_rps }) => [
    `${DB_DELAY_MS} ms`,
    String(POOL_MAX),
    `${held_ms.toFixed(2)} ms`,
    `${figure(predicted_rps, 0)}/s`,
    `${figure(goodput_rps, 0)}/s`,
    (goodput_rps / predicted_rps).toFixed(2),
  ])
  const rates = ['predicted: pool / time', 'measured', 'measured / predicted']
  return table(['delay to the database', 'pool', 'time a statement holds a connection', ...rates], rows)
}

/** Versions of Node next to each other. @param {PlaybookFindings} findings */
export function nodesTable({ nodes }) {
  const rows = nodes.map(({ version, cpu_us, p99_ms, effect }) => [
    String(version),
    spread(cpu_us, 1),
    effect ? ratioText(effect) : '1',
    spread(p99_ms, 1),
  ])
  const head = [
    'Node',
    'CPU us per request [least–most]',
    `ratio to ${nodes[0]?.version} [interval]`,
    'p99 ms [least–most]',
  ]
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
