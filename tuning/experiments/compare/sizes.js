import { count, NONE } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { digits } from '../../stats/effects.js'

/**
 * @import { Records } from './design.js'
 * @import { SideFindings } from './findings.js'
 */

/** @typedef {ReturnType<typeof sizesOf>} Sizes */

/** @type {{ about: string, sizeOf: (sizes: Sizes) => number }[]} */
const ROWS = [
  { about: 'response size, bytes', sizeOf: ({ body_bytes }) => body_bytes },
  { about: 'response size with headers, bytes', sizeOf: ({ response_bytes }) => response_bytes },
]

/**
 * Sizes of a side's successes: the median of the trials' medians; NaN if no trial has them, as in runs of older versions.
 * @param {Records} records of one side
 */
export function sizesOf(records) {
  return {
    body_bytes: median(records.map(({ traffic }) => traffic.ok_body_bytes?.p50)),
    response_bytes: median(records.map(({ traffic }) => traffic.ok_response_bytes?.p50)),
  }
}

/**
 * Rows for the table of differences: about, ratio, interval, blocks, verdict. Sizes are facts without noise, so they have no interval
 * and are neither better nor worse. Empty unless the sizes of both sides are known.
 * @param {Pick<SideFindings, 'name' | 'sizes'>[]} sides A and B
 */
export function sizeRows(sides) {
  return ROWS.flatMap(({ about, sizeOf }) => {
    const [a, b] = sides.map(({ sizes }) => sizeOf(sizes))
    if (!Number.isFinite(a) || !Number.isFinite(b)) return []
    const each = sides.map(({ name, sizes }) => `${name} ${count(sizeOf(sizes))}`)
    return [[about, a > 0 ? `${digits(b / a)}x` : NONE, NONE, NONE, each.join(', ')]]
  })
}
