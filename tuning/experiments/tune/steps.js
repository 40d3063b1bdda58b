import { byExperiment, isSettled } from '../../../load/capacity/ladder.js'
import { loadOf } from '../../knobs/open-cell.js'
import { capacityStep, lowestOf } from '../../stats/capacity-of.js'
import { levelsOf, nameOf, oncePerPlan, visitsOf } from '../../stats/design.js'
import { recommendationOf } from './recommend.js'

/**
 * @import { NotAppliedCell, Plan, Step } from '../../../load/run/experiment.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 */

/** What each cell is offered in each block, as shares of the anchor's capacity. */
export const OFFERED = Object.freeze({ below: 0.5, at: 1, above: 1.5 })

/** What a request costs is measured last, when everything is compiled. */
const ORDER = /** @type {const} */ (['at', 'above', 'below'])

/** A process that has just started has nothing compiled yet. */
const FIRST_WARMUP_S = 1.5
const WARMUP_S = 0.25
const BETWEEN_TRIALS_S = 0.7
const START_S = 0.8
const SEARCH_S = 30

/**
 * @typedef {object} Matrix
 * @property {string | null} preset
 * @property {{ name: string, levels: string[] }[]} knobs
 * @property {string[]} cells
 * @property {string} anchor
 * @property {number} blocks
 * @property {number | null} capacity_rps of the anchor, as it was given; null: it is searched for
 *
 * @typedef {Plan & Matrix} TunePlan
 * @typedef {TrialRecord[]} Records
 * @typedef {NotAppliedCell[]} NotApplied
 */

/**
 * The next trial of a matrix: the anchor's capacity, every cell in every block at rates that are shares of it, then the
 * capacity of the finalists. Pure.
 *
 * @param {TunePlan} plan
 * @param {Records} records
 * @param {NotApplied} notApplied
 * @returns {Step | null}
 */
export function nextStep(plan, records, notApplied) {
  const isOut = (/** @type {string} */ cell) => notApplied.some((one) => one.cell === cell)
  if (isOut(plan.anchor)) return null
  const first = plan.capacity_rps === null ? searchStep('anchor', plan.anchor, plan, records) : null
  if (first) return { ...first, left_s: first.left_s + durationOf(plan) }
  const capacity_rps = anchorCapacity(plan, records)
  if (capacity_rps === null) return null
  return blockStep(plan, capacity_rps, records, isOut) ?? finalStep(plan, records, isOut)
}

/** Seconds of the blocks, and of the searches of the finalists. @param {TunePlan} plan */
export function durationOf(plan) {
  return visitsTo(plan).length * visitDuration(plan) + 2 * SEARCH_S
}

/** What the rates of a matrix are shares of. @param {TunePlan} plan @param {Records} records */
export function anchorCapacity(plan, records) {
  return plan.capacity_rps ?? lowestOf('anchor', plan.anchor, plan, records)
}

/** The cells that are worth a search of their own, the anchor last, or none if it is the best. @param {TunePlan} plan @param {Records} records */
export function finalistsOf(plan, records) {
  const { levels } = recommendationOf(plan, records)
  const best = nameOf(levels)
  return best === plan.anchor ? [] : [best, plan.anchor]
}

/**
 * @param {TunePlan} plan
 * @param {number} capacity_rps
 * @param {Records} records
 * @param {(cell: string) => boolean} isOut
 * @returns {Step | null}
 */
function blockStep(plan, capacity_rps, records, isOut) {
  const visits = visitsTo(plan)
  const trials = byExperiment(records)
  for (const [i, { cell, places }] of visits.entries()) {
    if (isOut(cell)) continue
    for (const { experiment, kind } of places) {
      if (isSettled(trials.get(experiment) ?? [])) continue
      const load = {
        driver: 'paced',
        loop: /** @type {const} */ ('open'),
        rate_rps: Math.max(1, Math.round(OFFERED[kind] * capacity_rps)),
        connections: plan.connections[0],
        warmup_s: kind === ORDER[0] ? FIRST_WARMUP_S : WARMUP_S,
        duration_s: plan.duration_s,
        ...loadOf(levelsOf(cell)),
      }
      return { experiment, cell, left_s: (visits.length - i) * visitDuration(plan) + 2 * SEARCH_S, load }
    }
  }
  return null
}

/** @param {TunePlan} plan @param {Records} records @param {(cell: string) => boolean} isOut */
function finalStep(plan, records, isOut) {
  const finalists = finalistsOf(plan, records)
  if (finalists.some(isOut)) return null
  for (const cell of finalists) {
    const step = searchStep('final', cell, plan, records)
    if (step) return step
  }
  return null
}

/** @param {string} phase @param {string} cell @param {TunePlan} plan @param {Records} records */
function searchStep(phase, cell, plan, records) {
  const step = capacityStep(phase, cell, plan, records)
  if (step?.load.loop !== 'open') return step
  return { ...step, load: { ...step.load, ...loadOf(levelsOf(cell)) } }
}

const visitsTo = oncePerPlan((/** @type {TunePlan} */ { cells, anchor, blocks, mix }) => {
  return visitsOf({ cells, anchor, blocks, seed: mix.seed }).map(({ block, position, cell }) => ({
    cell,
    places: ORDER.map((kind) => ({ experiment: `block/${block}/${position}/${kind}`, kind })),
  }))
})

/** Seconds. @param {TunePlan} plan */
function visitDuration({ duration_s }) {
  return START_S + FIRST_WARMUP_S + 2 * WARMUP_S + 3 * (duration_s + BETWEEN_TRIALS_S)
}
