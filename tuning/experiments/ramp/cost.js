/** As the providers count: 365 days x 24 / 12. */
const HOURS_PER_MONTH = 730

const SECONDS_PER_HOUR = 3600
const MILLION = 1e6

/**
 * @typedef {{ per_hour: number, storage_gb: number, per_gb_month: number }} Price of one machine, in any currency
 * @typedef {{ estimate: number, low: number, high: number }} Interval
 */

/** @param {Price} price machine and storage */
export function perHour({ per_hour, storage_gb, per_gb_month }) {
  return per_hour + (storage_gb * per_gb_month) / HOURS_PER_MONTH
}

/** Of requests at a rate; what is uncertain about the rate is uncertain about the cost. @param {Price} price @param {Interval} rps */
export function costPerMillion(price, rps) {
  return inverse(rps, (rate_rps) => (perHour(price) * MILLION) / (rate_rps * SECONDS_PER_HOUR))
}

/**
 * What the same work costs on B, as a share of what it costs on A.
 * @param {Price} a @param {Price} b @param {Interval} work of one B, in As
 */
export function costRatio(a, b, work) {
  return inverse(work, (count) => replacement(a, b, count).ratio)
}

/** What falls with an estimate. @param {Interval} of @param {(value: number) => number} at @returns {Interval} */
function inverse({ estimate, low, high }, at) {
  return { estimate: at(estimate), low: at(high), high: at(low) }
}

/**
 * The effect of replacing `count` A by one B. saved_ratio: savings as a share of the price of the As; surcharge_ratio: how much
 * more the As cost, as a share of the price of the B.
 * @param {Price} a @param {Price} b @param {number} count
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
