import { answerOf, nextStep } from '../../load/capacity/capacity.js'
import { foundSoFar } from '../../load/capacity/of-records.js'
import { isSameCell } from '../../load/report/format.js'

/** @import { Cell, NotAppliedCell, Plan, Step, TrialRecord } from '../../load/report/record.js' */

/**
 * The next step of a search for the capacity of one cell, as `sweep` does it, among the trials of a larger run.
 * @param {string} of `at.of` of the search: a cell may be searched more than once @param {Cell} cell @param {Plan} plan
 * @param {TrialRecord[]} records @param {NotAppliedCell[]} [notApplied] @returns {Step | null}
 */
export function capacityStep(of, cell, plan, records, notApplied = []) {
  const out = notApplied.map((one) => ({ ...one, cell: changeOf(one.cell, cell) }))
  const step = nextStep(plan, ownOf(of, cell, records), out)
  return step && { ...step, at: { of, ...step.at }, cell: { ...cell, ...step.cell } }
}

/** The answer of a cell's search. @param {string} of @param {Cell} cell @param {Plan} plan @param {TrialRecord[]} records */
export function capacityOf(of, cell, plan, records) {
  return answerOf(plan, ownOf(of, cell, records))
}

/** The rate up to which a cell meets the SLO. @param {string} of @param {Cell} cell @param {Plan} plan @param {TrialRecord[]} records */
export function lowestOf(of, cell, plan, records) {
  return foundSoFar(plan, ownOf(of, cell, records))?.low_rps ?? null
}

/** The trials of one search, as a sweep would have recorded them. @param {string} of @param {Cell} cell @param {TrialRecord[]} records */
function ownOf(of, cell, records) {
  const own = records.filter(({ at }) => at.of === of).filter((one) => one.at.relaxed || isSameCell(one.cell, cell))
  return own.map((record) => ({ ...record, cell: changeOf(record.cell, cell) }))
}

/** Levels that one cell changes of another: a search names only these; null if none. @param {Cell} changed @param {Cell} cell @returns {Cell | null} */
function changeOf(changed, cell) {
  const changes = Object.entries(changed).filter(([name, level]) => cell[name] !== level)
  return changes.length === 0 ? null : Object.fromEntries(changes)
}
