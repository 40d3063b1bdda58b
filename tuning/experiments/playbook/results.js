import { isSameCell } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { byBlock, CONFIDENCE, pairedRatio, verdictOf } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'
import { MEASURES } from './claims.js'
import { countsIn, EXPERIMENTS } from './experiments.js'

/**
 * @import { Cell, Plan, TrialRecord } from '../../../load/report/record.js'
 * @import { Claim } from './claims.js'
 */

/**
 * @typedef {Plan & { claims: string[], experiments: string[], blocks: number, most_blocks: number }} PlaybookPlan most_blocks: for an
 *   experiment that leaves a claim undecided after `blocks`
 */

/** The second look comes after this many times the blocks of the first. */
const SECOND_LOOK = 3

/**
 * The numbers of blocks after which a claim is looked at, until it is decided, and the confidence of each look: their error rates add up
 * to that of one look at 95 % (Bonferroni). Six blocks suffice for the first.
 * @param {{ blocks: number, most_blocks?: number }} plan older ones had one look @returns {{ blocks: number, confidence: number }[]}
 */
export function looksOf({ blocks, most_blocks = blocks }) {
  if (most_blocks === blocks) return [{ blocks, confidence: CONFIDENCE }]
  const first = { blocks, confidence: 0.968 }
  const second = { blocks: SECOND_LOOK * blocks, confidence: 0.991 }
  if (most_blocks <= second.blocks) return [first, { blocks: most_blocks, confidence: 0.982 }]
  return [first, second, { blocks: most_blocks, confidence: 0.991 }]
}

/**
 * Tests a claim against its trials. Pure.
 * @param {Claim} claim @param {Pick<PlaybookPlan, 'blocks' | 'most_blocks'>} plan @param {TrialRecord[]} records
 */
export function resultOf({ experiment, measure, cell, expect, least_ratio, ...claim }, plan, records) {
  const { cells } = EXPERIMENTS[experiment]
  const [reference, other] = [cells[0], cells[cell]]
  const trials = trialsAt(records, { experiment }, (record) => countsIn(experiment, record))
  const figures = [reference, other].map((one) => {
    const own = trials.filter((record) => isSameCell(record.cell, one))
    return byBlock(own, MEASURES[measure].value)
  })
  const effect = pairedRatio(figures[0], figures[1], confidenceOf(plan, trials))
  return {
    ...claim,
    ...{ expect, least_ratio, effect },
    measure: MEASURES[measure],
    turned: { from: difference(reference, other), to: difference(other, reference) },
    medians: figures.map((own) => median(own.values())),
    verdict: verdictOf({ expect, least_ratio }, effect),
  }
}

/** @typedef {ReturnType<typeof resultOf>} Result */

/** @param {Pick<PlaybookPlan, 'blocks' | 'most_blocks'>} plan @param {TrialRecord[]} trials */
function confidenceOf(plan, trials) {
  const looks = looksOf(plan)
  const last = looks.find(({ blocks }) => trials.every(({ at }) => at.block < blocks))
  return (last ?? looks[looks.length - 1]).confidence
}

/** The levels of one cell that the other does not have. @param {Cell} cell @param {Cell} other @returns {Cell} */
function difference(cell, other) {
  return Object.fromEntries(Object.entries(cell).filter(([name, level]) => other[name] !== level))
}
