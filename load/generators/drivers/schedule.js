import { randomAt, seededRandom } from '../../system/random.js'

/**
 * Send times of an open loop, as two functions: how many requests are due by a given time, and when request `i` (from 0) is due.
 * An open loop then needs no queue: requests due but not yet sent are a range of numbers. Times are in ms since the start.
 * @typedef {{ total: number, dueAt_ms: (i: number) => number, dueBy: (elapsed_ms: number) => number }} Schedule
 */

/** Number of requests whose arrival times are drawn together. */
const BLOCK = 1000
/** With a backlog, the next request due and the next one to send are in different blocks. */
const BLOCKS_KEPT = 4

/** Spaces the requests evenly. Pure. @param {number} rate_rps @param {number} duration_s @returns {Schedule} */
export function constantRate(rate_rps, duration_s) {
  const total = requestsIn(rate_rps, duration_s)
  const interval_ms = 1000 / rate_rps
  return {
    total,
    dueAt_ms: (i) => i * interval_ms,
    dueBy: (elapsed_ms) => (elapsed_ms < 0 ? 0 : Math.min(total, Math.floor(elapsed_ms / interval_ms) + 1)),
  }
}

/**
 * Random arrivals, like those of independent users (a Poisson process); the same seed gives the same times. Given their number,
 * Poisson arrivals are independent and uniform (Ross, Introduction to Probability Models, 5.3.5). Each block of 1,000 requests is
 * therefore spread uniformly over its average duration: only the current blocks are in memory, and the rate is exact.
 * @param {number} rate_rps @param {number} duration_s @param {number} seed @returns {Schedule}
 */
export function poissonRate(rate_rps, duration_s, seed) {
  const total = requestsIn(rate_rps, duration_s)
  const block_ms = (1000 * BLOCK) / rate_rps
  /** @type {Map<number, Float64Array>} */
  const kept = new Map()

  /** Returns the sorted arrival times of a block. @param {number} block */
  function timesOf(block) {
    const known = kept.get(block)
    if (known) return known
    const random = seededRandom(Math.floor(randomAt(seed, block) * 2 ** 32))
    const count = Math.min(BLOCK, total - block * BLOCK)
    const length_ms = (block_ms * count) / BLOCK
    const times = Float64Array.from({ length: count }, () => block * block_ms + random() * length_ms).sort()
    if (kept.size === BLOCKS_KEPT) kept.delete(Math.min(...kept.keys()))
    kept.set(block, times)
    return times
  }

  return {
    total,
    dueAt_ms: (i) => timesOf(Math.floor(i / BLOCK))[i % BLOCK],
    dueBy(elapsed_ms) {
      const block = Math.floor(elapsed_ms / block_ms)
      if (block < 0) return 0
      if (block * BLOCK >= total) return total
      const times = timesOf(block)
      return block * BLOCK + countUpTo((i) => times[i], times.length, elapsed_ms)
    },
  }
}

/**
 * Recorded arrivals, repeated as often as needed. One factor scales all arrivals of the phase to the requested rate, so that bursts and
 * pauses keep their proportions; the next arrival after the phase would be due at its end. Pure.
 * @param {{ times_s: Float64Array, span_s: number }} recording times_s: ascending from 0; span_s: above them all; period of repetition
 * @param {number} rate_rps @param {number} duration_s @returns {Schedule}
 */
export function recordedTimes({ times_s, span_s }, rate_rps, duration_s) {
  const total = requestsIn(rate_rps, duration_s)
  const at_s = (/** @type {number} */ i) => {
    return Math.floor(i / times_s.length) * span_s + times_s[i % times_s.length]
  }
  const end_s = at_s(total)
  // All arrivals may share one instant.
  const scale = end_s > 0 ? (1000 * duration_s) / end_s : 0
  const dueAt_ms = (/** @type {number} */ i) => at_s(i) * scale
  return { total, dueAt_ms, dueBy: (elapsed_ms) => countUpTo(dueAt_ms, total, elapsed_ms) }
}

/** Counts the ascending times at or before a given one, by binary search. @param {(i: number) => number} timeAt @param {number} count @param {number} time_ms */
function countUpTo(timeAt, count, time_ms) {
  let [from, to] = [0, count]
  while (from < to) {
    const middle = (from + to) >> 1
    if (timeAt(middle) <= time_ms) from = middle + 1
    else to = middle
  }
  return from
}

/** @param {number} rate_rps @param {number} duration_s */
function requestsIn(rate_rps, duration_s) {
  return Math.max(1, Math.round(rate_rps * duration_s))
}
