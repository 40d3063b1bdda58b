import { ratesText } from '../report/format.js'
import { scoreOf } from './score.js'
import { edgesOf, SEARCH_DEFAULTS } from './search.js'

/**
 * @import { NextTrial } from './search.js'
 * @import { Plan, TrialRecord } from '../report/record.js'
 */

/** @typedef {TrialRecord[]} Records */

/** The last word has the long trial: so many times as long as the others. */
export const CONFIRM_TIMES = 4

/** @param {Plan} plan @param {Records} records */
export function searchPlan(plan, records) {
  const max_duration_s = Math.max(plan.duration_s, SEARCH_DEFAULTS.max_duration_s)
  const confirm_s = CONFIRM_TIMES * plan.duration_s
  const { duration_s, precision_ratio = SEARCH_DEFAULTS.precision_ratio } = plan
  return { ...SEARCH_DEFAULTS, plateau_rps: plateauOf(records), duration_s, precision_ratio, max_duration_s, confirm_s }
}

/** @param {Records} records @param {Plan} plan */
export function trialsOf(records, { slo }) {
  return of(records, 'search').map((record) => ({
    rate_rps: Number(record.load.rate_rps),
    duration_s: record.load.duration_s,
    verdict: record.outcome.verdict,
    score: scoreOf(record, slo),
  }))
}

/** @param {Records} records @returns {number} goodput of the best closed loop; 0: nothing to go by */
export function plateauOf(records) {
  const own = of(records, 'plateau').filter(({ outcome }) => outcome.verdict !== 'invalid')
  return Math.max(0, ...own.map(({ traffic }) => traffic.goodput_rps))
}

/** @param {Plan} plan @param {Records} records */
export function foundSoFar(plan, records) {
  return edgesOf(trialsOf(records, plan), searchPlan(plan, records))
}

/** The trials of one phase: plateau, search, relax or relax-runner-up. @param {Records} records @param {string} phase */
export function of(records, phase) {
  return records.filter(({ at }) => at.phase === phase)
}

const PURPOSES = {
  bracket: 'narrowing it down',
  edge: 'this rate once more, since one trial may be luck',
  confirm: 'one long trial to confirm the rate that passed',
}

/**
 * What the search knows, and what it wants to know next.
 *
 * @param {Plan} plan
 * @param {Records} records
 * @param {NextTrial} next
 */
export function thoughtOf(plan, records, { purpose }) {
  const found = foundSoFar(plan, records)
  return found ? `so far ${ratesText(found)}: ${PURPOSES[purpose]}` : 'a first rate, from the closed loops'
}
