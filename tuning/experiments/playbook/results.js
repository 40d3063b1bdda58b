import { isSameCell } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { CONFIDENCE, observationsOf, pairedRatio, verdictOf } from '../../stats/effects.js'
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

/**
 * Confidence of each look at the same claim: the error rates of both looks add up to that of one look at 95 % (Bonferroni). Six blocks
 * suffice for the first look.
 */
export const FIRST_LOOK = 0.968
export const SECOND_LOOK = 0.982

/**
 * Tests a claim against its trials. Pure.
 * @param {Claim} claim @param {Pick<PlaybookPlan, 'blocks' | 'most_blocks'>} plan @param {TrialRecord[]} records
 */
export function resultOf({ experiment, measure, cell = 1, expect, least_ratio, ...claim }, plan, records) {
  const { cells } = EXPERIMENTS[experiment]
  const [reference, other] = [cells[0], cells[cell]]
  const trials = trialsAt(records, { experiment }, (record) => countsIn(experiment, record))
  const observations = observationsOf(trials, MEASURES[measure].value)
  const figures = [reference, other].map((one) => {
    const own = observations.filter((observation) => isSameCell(observation.cell, one))
    return new Map(own.map(({ block, value }) => [block, value]))
  })
  const effect = pairedRatio(figures[0], figures[1], confidenceOf(plan, trials))
  return {
    ...claim,
    ...{ expect, least_ratio, effect },
    measure: MEASURES[measure],
    turned: { from: difference(reference, other), to: difference(other, reference) },
    medians: figures.map((byBlock) => median(byBlock.values())),
    verdict: verdictOf({ expect, least_ratio }, effect),
  }
}

/** @typedef {ReturnType<typeof resultOf>} Result */

/** @param {Pick<PlaybookPlan, 'blocks' | 'most_blocks'>} plan @param {TrialRecord[]} trials */
function confidenceOf({ blocks, most_blocks }, trials) {
  if (most_blocks === blocks) return CONFIDENCE
  return trials.some(({ at }) => at.block >= blocks) ? SECOND_LOOK : FIRST_LOOK
}

/** The levels of one cell that the other does not have. @param {Cell} cell @param {Cell} other @returns {Cell} */
function difference(cell, other) {
  return Object.fromEntries(Object.entries(cell).filter(([name, level]) => other[name] !== level))
}
