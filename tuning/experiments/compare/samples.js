import { middleOf } from '../../../load/generators/drivers/client.js'
import { totalsOf } from '../../stats/design.js'

/** @import { TrialRecord } from '../../../load/report/record.js' */

/** A percentile needs this many samples beyond it. */
const BEYOND = 10

const HISTOGRAM_BUCKETS = 11

/** @typedef {ReturnType<typeof samplesOf>} Samples */

/** The latencies of several trials, merged: buckets with their counts, in ascending order. @param {TrialRecord[]} records */
export function samplesOf(records) {
  const counts = totalsOf(records.map(({ traffic }) => /** @type {any} */ (traffic).buckets ?? {}))
  const sorted = Object.entries(counts).map(([bucket, count]) => [Number(bucket), count])
  sorted.sort(([a], [b]) => a - b)
  return { total: sorted.reduce((sum, [, count]) => sum + count, 0), sorted }
}

/** A percentile in ms, or undefined with too few samples. @param {Samples} samples @param {number} share such as 0.99 */
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
 * Histograms over the same buckets, from the lowest percentile that the samples support to the highest; the first and the last
 * bucket include the samples beyond. There are no buckets if there are too few samples.
 * @param {Samples[]} all
 */
export function histogramsOf(all) {
  const ends_ms = all
    .flatMap((own) => [
      percentileOf(own, 0.001) ?? percentileOf(own, 0.1),
      percentileOf(own, 0.99) ?? percentileOf(own, 0.9),
    ])
    .filter((end_ms) => end_ms !== undefined)
  const [least_ms, most_ms] = [Math.min(...ends_ms), Math.max(...ends_ms)]
  const from_ms = Array.from({ length: ends_ms.length > 0 ? HISTOGRAM_BUCKETS : 0 }, (_, i) => {
    return least_ms + (i * (most_ms - least_ms)) / HISTOGRAM_BUCKETS
  })
  const shares = all.map(({ total, sorted }) => {
    const counts = from_ms.map(() => 0)
    for (const [bucket, count] of sorted) {
      const above = from_ms.findLastIndex((start_ms) => middleOf(bucket) >= start_ms)
      counts[Math.max(0, above)] += count
    }
    return counts.map((count) => count / total)
  })
  return { from_ms, shares }
}
