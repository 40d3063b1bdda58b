import { PROOF_S } from '../../../load/capacity/proving.js'
import { isSameCell } from '../../../load/report/format.js'
import { loadOf } from '../../knobs/means.js'
import { capacityStep } from '../../stats/capacity-of.js'
import { durationOf, matrixVisits, nextTrial } from '../../stats/matrix.js'
import { anchorCapacity, finalistsOf } from './findings.js'
import { expectedCells, FIRST_S, firstStep, settledPlan } from './limits/needs.js'
import { OFFERED } from './presets.js'

/**
 * @import { Factor } from '../../stats/design.js'
 * @import { Matrix } from '../../stats/matrix.js'
 * @import { Cell, NotAppliedCell, Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

/** The cost of a request is measured last, when everything is compiled. */
const ORDER = /** @type {const} */ (['at', 'above', 'below'])

/** A process that has just started has nothing compiled yet. */
const FIRST_WARMUP_S = 1.5
const WARMUP_S = 0.25
const BETWEEN_TRIALS_S = 0.7
const START_S = 0.8
const SEARCH_S = 30

/**
 * @typedef {Plan & { preset: string | null, blocks: number, knobs: Factor[], cells: Cell[], is_quick?: boolean } & Anchor} TunePlan
 *   the preset `limits` has no knobs and cells before its first trials, from which their levels follow
 * @typedef {{ anchor: Cell, capacity_rps: number | null }} Anchor the first cell, and its capacity as given; null if it is searched for
 */

/**
 * The next trial of a matrix: the anchor's capacity and its proof, every cell in every block at shares of it, then the finalists' capacity. Pure.
 * @param {TunePlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied @returns {Step | null}
 */
export function designMatrix(plan, records, notApplied) {
  if (plan.preset !== 'limits') return stepOf(plan, records, notApplied)
  const first = firstStep(plan, records, notApplied)
  if (first) return { ...first, left_s: first.left_s + durationOf(matrixOf(plan, 0)) }
  const settled = settledPlan(plan, records, notApplied)
  return settled && stepOf(settled, records, notApplied)
}

/** @param {TunePlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied @returns {Step | null} */
function stepOf(plan, records, notApplied) {
  const isOut = (/** @type {Cell} */ cell) => notApplied.some((one) => isSameCell(one.cell, cell))
  if (isOut(plan.anchor)) return null
  const first = plan.capacity_rps === null ? searchStep('anchor', plan.anchor, plan, records, notApplied) : null
  if (first) {
    const proof_s = first.at.phase === 'proof' ? 0 : proofDuration(plan)
    return { ...first, left_s: first.left_s + proof_s + durationOf(matrixOf(plan, 0)) }
  }
  const capacity_rps = anchorCapacity(plan, records)
  if (capacity_rps === null) return null
  const step = nextTrial(matrixOf(plan, capacity_rps), records, notApplied)
  if (step) return step
  const finalists = finalistsOf(plan, records)
  if (finalists.some(isOut)) return null
  for (const cell of finalists) {
    const search = searchStep('final', cell, { ...plan, proves: false }, records)
    if (search) return search
  }
  return null
}

/** Estimated seconds of the whole run. @param {TunePlan} plan */
export function matrixDuration(plan) {
  return (plan.searches ? SEARCH_S : FIRST_S) + proofDuration(plan) + durationOf(matrixOf(plan, 0))
}

/** Seconds of the proof, if there is one. @param {TunePlan} plan */
function proofDuration({ proves }) {
  return proves ? PROOF_S : 0
}

/** @param {TunePlan} plan @param {number} capacity_rps @returns {Matrix} */
function matrixOf({ cells, blocks, mix, connections, duration_s, searches, is_quick }, capacity_rps) {
  const units = (cells.length > 0 ? cells : expectedCells(is_quick)).map((cell) => ({ cell }))
  return {
    visits: matrixVisits({ units, anchor: units[0], blocks, seed: mix.seed }),
    kinds: [...ORDER],
    restarts: true,
    visit_s: START_S + FIRST_WARMUP_S + 2 * WARMUP_S + 3 * (duration_s + BETWEEN_TRIALS_S),
    later_s: searches ? 2 * SEARCH_S : 0,
    loadOf: ({ cell }, kind) => ({
      driver: 'paced',
      loop: 'open',
      rate_rps: Math.max(1, Math.round(OFFERED[/** @type {'at'} */ (kind)] * capacity_rps)),
      connections: connections[0],
      warmup_s: kind === ORDER[0] ? FIRST_WARMUP_S : WARMUP_S,
      duration_s,
      ...loadOf(cell),
    }),
  }
}

/** @param {string} of @param {Cell} cell @param {TunePlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} [notApplied] */
function searchStep(of, cell, plan, records, notApplied) {
  return capacityStep(of, cell, { ...plan, ...loadOf(cell) }, records, notApplied)
}
