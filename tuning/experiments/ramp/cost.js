/** As the providers count: 365 days x 24 / 12. */
const HOURS_PER_MONTH = 730

const SECONDS_PER_HOUR = 3600
const MILLION = 1e6

/**
 * What a machine costs, in any currency.
 *
 * @typedef {object} Price
 * @property {number} per_hour
 * @property {number} storage_gb
 * @property {number} per_gb_month
 *
 * @typedef {{ estimate: number, low: number, high: number }} Interval
 */

/** @param {Price} price machine and storage */
export function perHour({ per_hour, storage_gb, per_gb_month }) {
  return per_hour + (storage_gb * per_gb_month) / HOURS_PER_MONTH
}

/**
 * Of requests at a rate; what is uncertain about the rate is uncertain about the cost.
 *
 * @param {Price} price
 * @param {Interval} rps
 * @returns {Interval}
 */
export function costPerMillion(price, { estimate, low, high }) {
  const at = (/** @type {number} */ rps) => (perHour(price) * MILLION) / (rps * SECONDS_PER_HOUR)
  return { estimate: at(estimate), low: at(high), high: at(low) }
}

/**
 * What the same work costs on B, as a share of what it costs on A.
 *
 * @param {Price} a
 * @param {Price} b
 * @param {Interval} work of one B, in As
 * @returns {Interval}
 */
export function costRatio(a, b, work) {
  const at = (/** @type {number} */ count) => replacement(a, b, count).ratio
  return { estimate: at(work.estimate), low: at(work.high), high: at(work.low) }
}

/**
 * One B in the place of so many A.
 *
 * @param {Price} a
 * @param {Price} b
 * @param {number} count
 * @returns {{ ratio: number, saved_ratio: number, surcharge_ratio: number, saved_per_hour: number, saved_per_month: number }}
 *   saved_ratio: share of the price of the As; surcharge_ratio: by how much the As are dearer than the B
 */
export function replacement(a, b, count) {
  const [before, after] = [count * perHour(a), perHour(b)]
  const saved_per_hour = before - after
  return {
    ratio: after / before,
    saved_ratio: saved_per_hour / before,
    surcharge_ratio: saved_per_hour / after,
    saved_per_hour,
    saved_per_month: saved_per_hour * HOURS_PER_MONTH,
  }
}

/** A flag's `parse` and `expected`: 0.192/h. */
export const PRICE = {
  parse: (/** @type {string} */ text) => {
    const [, price] = /^(\d+(?:\.\d+)?)\/h$/.exec(text) ?? []
    return Number(price) > 0 ? Number(price) : undefined
  },
  expected: 'a price per hour such as 0.192/h',
}

/** A flag's `parse` and `expected`: 1100GBx0.10. */
export const STORAGE = {
  parse: (/** @type {string} */ text) => {
    const match = /^(\d+(?:\.\d+)?)GBx(\d+(?:\.\d+)?)$/.exec(text)
    return match ? { storage_gb: Number(match[1]), per_gb_month: Number(match[2]) } : undefined
  },
  expected: 'gigabytes and the price of one for a month, such as 1100GBx0.10',
}
