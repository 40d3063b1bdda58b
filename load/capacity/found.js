import { isValid } from './ladder.js'
import { of, plateauOf, searchPlan, speedOf, trialsOf } from './of-records.js'
import { intervalOf, searchProblem } from './search.js'

/** @import { Plan, TrialRecord } from '../report/record.js' */

/** The capacity that a search found, and why there is no trustworthy one. Pure. @param {Plan} plan @param {TrialRecord[]} records */
export function capacityFound(plan, records) {
  const found = plateauOf(records) > 0 ? intervalOf(trialsOf(records, plan), searchPlan(plan, records)) : null
  const bounded_by = boundOf(records, found)?.outcome.because
  return {
    capacity: found && { ...found, slo: plan.slo, ...(bounded_by && { bounded_by }) },
    problem: problemOf(plan, records, found),
  }
}

/** @param {Plan} plan @param {TrialRecord[]} records @param {ReturnType<typeof intervalOf>} found */
function problemOf(plan, records, found) {
  if (plateauOf(records) === 0) {
    return `the closed loop that looks for the plateau found none: ${records.at(-1)?.outcome.because ?? 'no trial'}`
  }
  const trials = of(records, 'search')
  if (found && found.low_rps === null && trials.every(({ traffic }) => traffic.ok === 0)) {
    return `not one request succeeded: ${trials.at(-1)?.outcome.because}`
  }
  // A lower bound needs no search that has settled above it.
  if (found?.low_rps && boundOf(records, found)?.outcome.blame === 'generator') return null
  return speedProblem(records, found) ?? searchProblem(trialsOf(records, plan), searchPlan(plan, records), found)
}

/**
 * A capacity that is bounded on one side only, with trials of the other side that were made at another speed of the core. Null: it is not.
 * @param {TrialRecord[]} records @param {ReturnType<typeof intervalOf>} found
 */
function speedProblem(records, found) {
  const speed = speedOf(records)
  if (!speed || !found || (found.low_rps !== null && found.high_rps !== null)) return null
  const missing = found.high_rps === null ? 'fail' : 'pass'
  const isBeyond = (/** @type {TrialRecord} */ { load }) =>
    missing === 'pass' || Number(load.rate_rps) > Number(found.low_rps)
  if (!speed.others.some((record) => record.outcome.verdict === missing && isBeyond(record))) return null
  const [least, most] = [speed.least_ms, speed.most_ms].map((ms) => ms.toFixed(1))
  const all = of(records, 'search').length
  const side = missing === 'fail' ? 'above' : 'below'
  return `the service's core changed its speed: the same work took it ${least} to ${most} ms. Without the ${speed.others.length} of ${all} trials at another speed than usual, too few are left to bound the capacity from ${side}`
}

/**
 * The trial that bounded a search from above although it says nothing about the target: the generator or the machine could do no more.
 * The capacity is then only a lower bound. Null: something else ended the search.
 * @param {TrialRecord[]} records @param {{ low_rps: number | null, high_rps: number | null } | null} found
 */
export function boundOf(records, found) {
  if (!found || found.high_rps !== null) return null
  const low_rps = found.low_rps ?? 0
  return of(records, 'search').findLast((trial) => !isValid(trial) && Number(trial.load.rate_rps) > low_rps) ?? null
}
