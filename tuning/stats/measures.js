/** @import { TrialRecord } from '../../load/report/record.js' */

/** A trial's goodput, at least 1/s: zero has no logarithm. @param {TrialRecord} record */
export function goodputOf({ traffic }) {
  return Math.max(1, traffic.goodput_rps)
}

/** A trial's success ratio, at least 1e-4: zero has no logarithm. @param {TrialRecord} record */
export function successOf({ traffic }) {
  return Math.max(1e-4, traffic.success_ratio)
}
