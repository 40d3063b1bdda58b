import { randomAt, seededRandom } from '../../system/random.js'

/**
 * When the requests of an open loop are due, as two questions: how many are due by now, and when was request `i` (from 0) due? So
 * that an open loop needs no queue: what is due and not yet sent is a range of numbers. Times are in ms since the start.
 *
 * @typedef {{ total: number, dueAt_ms: (i: number) => number, dueBy: (elapsed_ms: number) => number }} Schedule
 */

/** Evenly spaced. Pure. @param {number} rate_rps @param {number} duration_s @returns {Schedule} */
export function constantRate(rate_rps, duration_s) {
  const total = totalOf(rate_rps, duration_s)
  const interval_ms = 1000 / rate_rps
  return {
    total,
    dueAt_ms: (i) => i * interval_ms,
    dueBy: (elapsed_ms) => (elapsed_ms < 0 ? 0 : Math.min(total, Math.floor(elapsed_ms / interval_ms) + 1)),
  }
}

/** Number of requests whose times are drawn together. */
const BLOCK = 1000
/** Where requests wait to be sent, the next to be due and the next to be sent are in different blocks. */
const BLOCKS_KEPT = 4

/**
 * At random times, as independent users arrive (a Poisson process); the same seed gives the same times. Given their number, the
 * arrivals of a Poisson process are independent and uniform (Ross, Introduction to Probability Models, 5.3.5). So each block of 1,000
 * requests is spread at random over the time that it takes on average: only the current blocks are in memory, and the rate is exact.
 *
 * @param {number} rate_rps @param {number} duration_s @param {number} seed
 * @returns {Schedule}
 */
export function poissonRate(rate_rps, duration_s, seed) {
  const total = totalOf(rate_rps, duration_s)
  const block_ms = (1000 * BLOCK) / rate_rps
  /** @type {Map<number, Float64Array>} */
  const kept = new Map()

  /** The times of a block, rising. @param {number} block */
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
      return block * BLOCK + countUpTo(timesOf(block), elapsed_ms)
    },
  }
}

/** How many of the sorted times are at or before a time: binary search. @param {Float64Array} times @param {number} time_ms */
function countUpTo(times, time_ms) {
  let [from, to] = [0, times.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (times[middle] <= time_ms) from = middle + 1
    else to = middle
  }
  return from
}

/** @param {number} rate_rps @param {number} duration_s */
function totalOf(rate_rps, duration_s) {
  return Math.max(1, Math.round(rate_rps * duration_s))
}
