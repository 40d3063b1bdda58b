import { answerOf, nextStep } from '../../load/capacity/capacity.js'
import { foundSoFar } from '../../load/capacity/of-records.js'

/**
 * @import { Plan, Step } from '../../load/run/experiment.js'
 * @import { TrialRecord } from '../../load/run/trial.js'
 */

/**
 * The search for the capacity, as `sweep` does it, of one cell among the trials of a larger run.
 *
 * @param {string} phase stands before the experiment's name, so that a cell may be searched twice
 * @param {string} cell
 * @param {Plan} plan
 * @param {TrialRecord[]} records
 * @returns {Step | null}
 */
export function capacityStep(phase, cell, plan, records) {
  const step = nextStep(plan, ownOf(phase, cell, records))
  return step && { ...step, at: undefined, experiment: `${phase}/${step.at?.phase}`, cell }
}

/**
 * @param {string} phase
 * @param {string} cell
 * @param {Plan} plan
 * @param {TrialRecord[]} records
 */
export function capacityOf(phase, cell, plan, records) {
  return answerOf(plan, ownOf(phase, cell, records))
}

/**
 * The rate up to which a cell meets the SLO, without what else `capacityOf` says of it.
 *
 * @param {string} phase
 * @param {string} cell
 * @param {Plan} plan
 * @param {TrialRecord[]} records
 * @returns {number | null}
 */
export function lowestOf(phase, cell, plan, records) {
  return foundSoFar(plan, ownOf(phase, cell, records))?.low_rps ?? null
}

/** @param {string} phase @param {string} cell @param {TrialRecord[]} records */
function ownOf(phase, cell, records) {
  const own = records.filter((record) => record.cell === cell && record.experiment.startsWith(`${phase}/`))
  return own.map((record) => ({ ...record, cell: null, at: { phase: record.experiment.slice(phase.length + 1) } }))
}
