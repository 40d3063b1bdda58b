/**
 * @import { CoreShare } from '../../probes/kernel.js'
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
/** A core is full at this share by its own counters. */
export const COUNTED_FULL_RATIO = 0.95
/** Of the connections of a pool, in use on the average. */
export const POOL_FULL_RATIO = 0.9

/** @param {number} reach @param {string[]} evidence @returns {Finding} */
export function finding(reach, ...evidence) {
  return { reach, evidence }
}

/** Utilization of a core: of the time that the host leaves to it, the part in which it had something to do. @param {CoreShare} core */
export function fullness({ busy_ratio, interrupts_ratio, steal_ratio }) {
  return (busy_ratio + interrupts_ratio) / (1 - steal_ratio)
}
