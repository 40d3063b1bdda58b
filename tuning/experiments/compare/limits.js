import { count, ratesText } from '../../../load/report/format.js'
import { median } from '../../stats/ranks.js'
import { maximaOf, rateLimit, refused } from './steps.js'
import { boundOf } from './verdict.js'

/** @import { ComparePlan, Name, Records } from './steps.js' */

/** Where the ladder did not find a side's maximum. @param {Name} name @param {Records} records @returns {string[]} */
export function boundSentence(name, records) {
  const bound = boundOf(records, name)
  if (!bound) return []
  const rps = median(maximaOf(records, name).map((maximum) => maximum.rps))
  return [`${name.toUpperCase()}: at least ${count(Math.round(rps))}/s: ${bound}.`]
}

/**
 * Up to which rate a side that refused requests does not, and how it refuses them.
 *
 * @param {ComparePlan} plan
 * @param {Name} name
 * @param {Records} records
 * @returns {string[]}
 */
export function limitSentence(plan, name, records) {
  if (!refused(name, records)) return []
  const side = name.toUpperCase()
  if (plan.mix.entries) {
    return [
      `${side} refused requests (429 or 503); from which rate on was not looked for, since the mix has several requests.`,
    ]
  }
  const { capacity } = rateLimit(plan, name, records)
  if (!capacity?.low_rps || !capacity.high_rps) {
    const found = capacity ? `; without one it took ${ratesText(capacity)}` : ''
    return [`${side} refused requests (429 or 503)${found}.`]
  }
  const between = `between ${count(capacity.low_rps)} and ${count(capacity.high_rps)}/s`
  const answer = commonFailure(name, records)
  if (answer === '429') {
    return [`${side}: rate limit ${between}; what is above it is answered 429, which is no throughput.`]
  }
  if (answer === '503') {
    return [
      `${side}: from somewhere ${between} on it refuses requests (503), which is no throughput; a rate limit is not known.`,
    ]
  }
  const how = answer ? `above all by ${answer}` : 'by taking too long'
  return [`${side} refused requests (429 or 503); ${between} it begins to fail, ${how}: a rate limit is not known.`]
}

/**
 * What the trials of the search that failed were answered most often, instead of a success.
 *
 * @param {Name} name
 * @param {Records} records
 * @returns {string | null} null: there were successes only
 */
function commonFailure(name, records) {
  /** @type {Record<string, number>} */
  const counts = {}
  for (const { cell, experiment, outcome, traffic } of records) {
    if (cell !== name || !experiment.startsWith('limit/') || outcome.verdict !== 'fail') continue
    for (const [key, number] of Object.entries({ ...traffic.status, ...traffic.errors })) {
      if (!/^2\d\d$/.test(key)) counts[key] = (counts[key] ?? 0) + number
    }
  }
  return Object.entries(counts).sort(([, a], [, b]) => b - a)[0]?.[0] ?? null
}
