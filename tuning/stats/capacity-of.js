import { answerOf, nextStep } from '../../load/capacity/capacity.js'
import { foundSoFar } from '../../load/capacity/of-records.js'
import { isSameCell } from '../../load/report/format.js'

/** @import { Cell, Plan, Step, TrialRecord } from '../../load/report/record.js' */

/**
 * The next step of a search for the capacity of one cell, as `sweep` does it, among the trials of a larger run.
 * @param {string} of `at.of` of the search: a cell may be searched more than once @param {Cell} cell @param {Plan} plan
 * @param {TrialRecord[]} records @returns {Step | null}
 */
export function capacityStep(of, cell, plan, records) {
  const step = nextStep(plan, ownOf(of, cell, records))
  return step && { ...step, at: { of, ...step.at }, cell }
}

/** The answer of such a search. @param {string} of @param {Cell} cell @param {Plan} plan @param {TrialRecord[]} records */
export function capacityOf(of, cell, plan, records) {
  return answerOf(plan, ownOf(of, cell, records))
}

/** The rate up to which a cell meets the SLO. @param {string} of @param {Cell} cell @param {Plan} plan @param {TrialRecord[]} records */
export function lowestOf(of, cell, plan, records) {
  return foundSoFar(plan, ownOf(of, cell, records))?.low_rps ?? null
}

/** The trials of one search, as a sweep would have recorded them. @param {string} of @param {Cell} cell @param {TrialRecord[]} records */
function ownOf(of, cell, records) {
  const own = records.filter((record) => record.at.of === of && isSameCell(record.cell, cell))
  return own.map((record) => ({ ...record, cell: null }))
}
