/** Stands for a credential in what is written. */
const WITHHELD = '(withheld)'

/**
 * A plan as it is kept in run.json, and comes back from there.
 *
 * @template {{ mix: import('./mix.js').MixPlan }} P
 * @param {P} plan
 * @returns {P}
 */
export function keptPlan(plan) {
  const headers = plan.mix.headers.map(([name, value]) => [
    name,
    withoutCredentials(`${name}:${value}`).slice(name.length + 1),
  ])
  return JSON.parse(JSON.stringify({ ...plan, mix: { ...plan.mix, headers } }))
}

/** Whether a plan that was kept cannot be run as it is. @param {object} plan */
export function lacksCredentials(plan) {
  return JSON.stringify(plan).includes(WITHHELD)
}

/** Credentials stay out of the files. @param {string} word a flag, `name:value` of a header, or the URL of a database */
export function withoutCredentials(word) {
  return word
    .replace(/^((?:--header=)?(?:(?:proxy-)?authorization|cookie|(?:x-)?api-key|x-auth-token):).*/i, `$1${WITHHELD}`)
    .replace(/^((?:--database-url=)?postgres(?:ql)?:\/\/).*/i, `$1${WITHHELD}`)
}
