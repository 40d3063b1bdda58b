import { decimal, NONE } from '../../load/report/format.js'
import { median } from '../../load/verdict/ranks.js'

/** @import { Value } from '../../load/report/picture.js' */

/** The median, with the least and the most; null if nothing was measured. @param {number[]} values @returns {Value | null} */
export function spreadOf(values) {
  const known = values.filter(Number.isFinite)
  if (known.length === 0) return null
  const value = median(known)
  return known.length === 1 ? { value } : { value, low: Math.min(...known), high: Math.max(...known) }
}

/** The same as run.json keeps it. @param {number[]} values */
export function keptSpread(values) {
  const found = spreadOf(values)
  return found && { median: found.value, least: found.low ?? found.value, most: found.high ?? found.value }
}

/** `median [least–most]` @param {number[]} values @param {number} digits */
export function spread(values, digits) {
  const found = spreadOf(values)
  if (found === null) return NONE
  const [value, low, high] = [found.value, found.low, found.high].map((one) => decimal(Number(one), digits))
  return found.low === undefined ? value : `${value} [${low}–${high}]`
}

/** An estimate as a picture shows it, with its interval if known; null if unmeasured. @param {{ estimate?: number, ratio?: number, low: number, high: number }} figure @returns {Value | null} */
export function figureOf({ estimate, ratio, low, high }) {
  const value = Number(estimate ?? ratio)
  if (!Number.isFinite(value)) return null
  return Number.isFinite(high) && Number.isFinite(low) ? { value, low, high } : { value }
}

/**
 * The head and the rows of a table.
 * @template T @typedef {[head: string, text: (item: T) => string]} Column what it says of an item
 */

/** @template T @param {T[]} items one per row @param {(Column<T> | false)[]} columns false: left out @returns {[head: string[], rows: string[][]]} */
export function columnsOf(items, columns) {
  const shown = columns.filter((column) => column !== false)
  return [shown.map(([head]) => head), items.map((item) => shown.map(([, text]) => text(item)))]
}
