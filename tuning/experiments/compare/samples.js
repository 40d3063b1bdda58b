import { middleOf } from '../../../load/generators/drivers/client.js'

/** @import { TrialRecord } from '../../../load/report/record.js' */

/** A percentile needs this many samples beyond it. */
const BEYOND = 10

/** @typedef {ReturnType<typeof samplesOf>} Samples */

/** The latencies of several trials, merged: buckets with their counts, rising. @param {TrialRecord[]} records */
export function samplesOf(records) {
  /** @type {Map<number, number>} */
  const counts = new Map()
  for (const { traffic } of records) {
    for (const [name, count] of Object.entries(/** @type {any} */ (traffic).buckets ?? {})) {
      const bucket = Number(name)
      counts.set(bucket, (counts.get(bucket) ?? 0) + Number(count))
    }
  }
  const sorted = [...counts].sort(([a], [b]) => a - b)
  return { total: sorted.reduce((sum, [, count]) => sum + count, 0), sorted }
}

/** In ms; undefined: too few samples. @param {Samples} samples @param {number} share such as 0.99 */
export function percentileOf({ total, sorted }, share) {
  if (Math.round(total * Math.min(share, 1 - share)) < BEYOND) return undefined
  let below = 0
  for (const [bucket, count] of sorted) {
    below += count
    if (below >= share * total) return middleOf(bucket)
  }
  return undefined
}

/**
 * Buckets of the same width over a range, the last one open.
 * @param {Samples} samples @param {{ from_ms: number, to_ms: number, count: number }} range
 * @returns {number[]} shares of all samples
 */
export function histogramOf({ total, sorted }, { from_ms, to_ms, count }) {
  const shares = Array(count).fill(0)
  const width_ms = (to_ms - from_ms) / count
  for (const [bucket, number] of sorted) {
    const index = Math.floor((middleOf(bucket) - from_ms) / width_ms)
    shares[Math.min(count - 1, Math.max(0, index))] += number / total
  }
  return shares
}
