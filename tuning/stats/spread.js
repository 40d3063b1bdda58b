import { decimal, NONE } from '../../load/report/format.js'
import { median } from './ranks.js'

/** `median [least–most]` @param {number[]} values @param {number} digits */
export function spread(values, digits) {
  const known = values.filter((value) => Number.isFinite(value))
  if (known.length === 0) return NONE
  const text = (/** @type {number} */ value) => decimal(value, digits)
  const [least, most] = [Math.min(...known), Math.max(...known)]
  return known.length === 1 ? text(least) : `${text(median(known))} [${text(least)}–${text(most)}]`
}
