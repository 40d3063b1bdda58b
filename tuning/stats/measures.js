/** @import { TrialRecord } from '../../load/report/record.js' */

/** A trial's goodput, at least 1/s: zero has no logarithm. @param {TrialRecord} record */
export function goodputOf({ traffic }) {
  return Math.max(1, traffic.goodput_rps)
}

/** A trial's success ratio, at least 1e-4: zero has no logarithm. @param {TrialRecord} record */
export function successOf({ traffic }) {
  return Math.max(1e-4, traffic.success_ratio)
}

/** Ratios of trials of the same block. @param {TrialRecord[]} own @param {TrialRecord[]} others @param {(record: TrialRecord) => number} value */
export function ratios(own, others, value) {
  return own.flatMap((record) => {
    const other = others.find(({ at }) => at.block === record.at.block)
    return other ? [value(record) / value(other)] : []
  })
}
