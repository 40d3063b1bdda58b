import { median } from './ranks.js'

/** @import { Value } from '../../load/report/picture.js' */

/**
 * An estimate as a picture has it: without an interval where there is none.
 *
 * @param {{ estimate?: number, ratio?: number, low: number, high: number }} figure
 * @returns {Value | null} null: nothing was measured
 */
export function figureOf({ estimate, ratio, low, high }) {
  const value = Number(estimate ?? ratio)
  if (!Number.isFinite(value)) return null
  return Number.isFinite(high) && Number.isFinite(low) ? { value, low, high } : { value }
}

/** The median, and from the least to the most. @param {number[]} values @returns {Value | null} */
export function spreadOf(values) {
  const known = values.filter((value) => Number.isFinite(value))
  if (known.length === 0) return null
  const value = median(known)
  return known.length === 1 ? { value } : { value, low: Math.min(...known), high: Math.max(...known) }
}
