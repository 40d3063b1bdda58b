import { count } from '../../report/format.js'

/**
 * @import { limitOf } from '../limit.js'
 * @import { Slo } from '../../report/record.js'
 */

/**
 * How near a resource was to its limit in one trial: `reach`, 1 where it limits, and evidence in sentences; 0 where it
 * could not be seen, or had no part.
 *
 * @typedef {Parameters<typeof limitOf>[0]} Trial
 * @typedef {{ reach: number, evidence: string[] }} Finding
 * @typedef {(trial: Trial, slo: Slo) => Finding} Detect
 */

/** @type {Finding} */
export const NOTHING = Object.freeze({ reach: 0, evidence: [] })

/** Of the requests: less is chance. */
export const ERROR_SHARE = 0.001

/** A core this full has no room for more that has to be in time. */
export const CORE_FULL_RATIO = 0.9

/** @param {Trial} trial @param {string} key of the errors @param {(probes: any, settings: any) => string} why @returns {Finding} */
export function ofErrors({ traffic, probes, settings }, key, why) {
  const errors = traffic.errors[key] ?? 0
  if (errors === 0) return NOTHING
  return {
    reach: errors / traffic.planned / ERROR_SHARE,
    evidence: [`${count(errors)} of ${count(traffic.planned)} requests ended in ${key}`, why(probes, settings)],
  }
}

/** @param {number} ratio */
export function percent(ratio) {
  return `${Math.round(ratio * 100)} %`
}
