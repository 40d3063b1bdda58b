/** Hours per month, as the cloud providers count them: 365 x 24 / 12. */
export const HOURS_PER_MONTH = 730

/** Hours that a million requests take at one per second. */
const HOURS_PER_MILLION = 1e6 / 3600

/**
 * @typedef {{ per_hour: number, storage_gb: number, per_gb_month: number }} Price of one machine, in any currency
 * @typedef {{ estimate: number, low: number, high: number }} Interval
 */

/** @param {Price} price machine and storage */
export function perHour({ per_hour, storage_gb, per_gb_month }) {
  return per_hour + (storage_gb * per_gb_month) / HOURS_PER_MONTH
}

/** The cost of a million requests at a rate. @param {Price} price @param {Interval} rps */
export function costPerMillion(price, rps) {
  return divided(perHour(price) * HOURS_PER_MILLION, rps)
}

/** The cost of the same work on B, as a ratio to its cost on A. @param {Price} a @param {Price} b @param {Interval} work of one B, in As */
export function costRatio(a, b, work) {
  return divided(perHour(b) / perHour(a), work)
}

/** @param {number} dividend @param {Interval} by @returns {Interval} */
function divided(dividend, { estimate, low, high }) {
  return { estimate: dividend / estimate, low: dividend / high, high: dividend / low }
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
  expected: 'gigabytes x monthly price per GB, such as 1100GBx0.10',
}
