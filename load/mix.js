/**
 * What a request consists of. Request `i` of a trial is the same bytes whenever seed and trial are the same.
 *
 * @typedef {object} Mix
 * @property {string} name
 * @property {string} method
 * @property {[string, string][]} headers without Host and Content-Length
 * @property {(i: number) => string | Buffer} body of request i, empty for none; a string holds nothing but ASCII
 */

/**
 * @typedef {object} MixPlan plain data, so that it can cross to the generator's process
 * @property {string} method
 * @property {[string, string][]} headers
 * @property {string | null} body_base64 the same body for every request; null: a new user each
 * @property {string} name
 * @property {number} seed
 */

/**
 * @param {MixPlan} plan
 * @param {number} trial its number is part of every email, so that a run never sends one twice
 * @returns {Mix}
 */
export function createMix(plan, trial) {
  const { name, method, headers } = plan
  if (plan.body_base64 !== null) {
    const body = Buffer.from(plan.body_base64, 'base64')
    return { name, method, headers, body: () => body }
  }
  const prefix = `${plan.seed.toString(36)}-${trial}`
  return {
    name,
    method,
    headers,
    body: (i) => `{"email":"user-${prefix}-${i}@redline.test","password":"secret-${i}"}`,
  }
}
