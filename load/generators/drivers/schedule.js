/**
 * A constant rate as two questions: how many requests are due by now, and when was request `i` due? Pure, so that an
 * open loop needs no queue: what is due and not yet sent is a range of numbers.
 *
 * @param {number} rate_rps
 * @param {number} duration_s
 */
export function constantRate(rate_rps, duration_s) {
  const total = Math.max(1, Math.round(rate_rps * duration_s))
  const interval_ms = 1000 / rate_rps
  return {
    total,

    /** @param {number} i request number from 0 @returns {number} ms after the start */
    dueAt_ms: (i) => i * interval_ms,

    /** @param {number} elapsed_ms since the start @returns {number} how many requests are due, 0 to total */
    dueBy: (elapsed_ms) => (elapsed_ms < 0 ? 0 : Math.min(total, Math.floor(elapsed_ms / interval_ms) + 1)),
  }
}
