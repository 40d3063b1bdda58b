/**
 * @typedef {import('./preflight.js').Finding} Finding
 * @typedef {Pick<Finding, 'check' | 'what' | 'why' | 'mend'>} About what a finding is about, whatever came
 */

/** @param {boolean} isOk @param {boolean} isUsable @returns {'ok' | 'warn' | 'bad'} */
export function levelOf(isOk, isUsable) {
  if (isOk) return 'ok'
  return isUsable ? 'warn' : 'bad'
}

/** @param {About} about @param {string} source @returns {Finding} */
export function unseen(about, source) {
  return { ...about, level: 'unseen', value: `unknown: here is no ${source}`, mend: `look by hand; ${about.mend}` }
}

/** @param {About} about @returns {Finding} */
export function notOurs(about) {
  const value = 'unknown: the service was not started from here'
  return { ...about, level: 'unseen', value, mend: `look where it runs; ${about.mend}` }
}
