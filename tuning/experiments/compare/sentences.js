import { count, ratesText } from '../../../load/report/format.js'
import { isBetter, isKnown, reasonsOf } from './differences.js'

/**
 * @import { Difference } from './differences.js'
 * @import { Refusal, SideFindings } from './findings.js'
 */

/** The answer in a sentence. @param {Difference[]} differences */
export function answerSentence(differences) {
  const known = differences.filter(isKnown)
  const left = differences.filter((difference) => reasonsOf(difference) !== '')
  const listed = left.map((one) => `${one.about} (${reasonsOf(one)})`).join(', ')
  const apart = left.length > 0 ? ` Not compared: ${listed}.` : ''
  if (known.length === 0) return `${nothingSentence(differences)}${apart}`
  const found = known.filter(({ tied }) => !tied)
  const ties = known.filter(({ tied }) => tied).map(({ about }) => about)
  if (found.length === 0) return `Tied: nothing tells A from B (${ties.join(', ')}).${apart}`
  const parts = found.map((difference) => {
    const { about, ratio, low, high } = difference
    const word = isBetter(difference) ? 'better' : 'worse'
    return `B is ${word} than A in ${about}: ${ratio.toFixed(2)}x [${low.toFixed(2)}–${high.toFixed(2)}]`
  })
  return `${parts.join('; ')}${ties.length > 0 ? `; tied in ${ties.join(', ')}` : ''}.${apart}`
}

/** @param {Difference[]} differences none of them a verdict */
function nothingSentence(differences) {
  const few = differences.filter((difference) => reasonsOf(difference) === '').map(({ about }) => about)
  const latencies = differences.filter(({ better }) => better === 'less')
  if (latencies.length > 0 && latencies.every(({ refused }) => refused.length > 0)) {
    const who = [...new Set(latencies.flatMap(({ refused }) => refused))].sort().join(' and ')
    const rest = few.length > 0 ? `, and there are too few blocks for the ${few.join(', ')}` : ''
    return `Nothing tells A from B: ${who} refused requests at every concurrency${rest}.`
  }
  return few.length > 0 ? 'Too few blocks to tell A from B.' : 'Nothing was measured that tells A from B.'
}

/** What keeps a side's figures from being its own: a maximum that is a lower bound, and refusals. @param {SideFindings} side */
export function limitSentences({ name, bound, refusal }) {
  return [
    ...(bound ? [`${name}: at least ${count(Math.round(bound.rps))}/s: ${bound.because}.`] : []),
    ...(refusal ? [refusalSentence(name, refusal)] : []),
  ]
}

/** @param {string} name @param {Refusal} refusal */
function refusalSentence(name, { searched, capacity, failure }) {
  const refused = `${name} refused requests (429 or 503)`
  if (!searched) return `${refused}; from which rate on was not looked for, since the mix has several requests.`
  if (!capacity?.low_rps || !capacity.high_rps) {
    return `${refused}${capacity ? `; without one it took ${ratesText(capacity)}` : ''}.`
  }
  const between = `between ${count(capacity.low_rps)} and ${count(capacity.high_rps)}/s`
  if (failure === '429')
    return `${name}: rate limit ${between}; what is above it is answered 429, which is no throughput.`
  if (failure === '503') {
    return `${name}: from somewhere ${between} on it refuses requests (503), which is no throughput; a rate limit is not known.`
  }
  const how = failure ? `above all by ${failure}` : 'by taking too long'
  return `${refused}; ${between} it begins to fail, ${how}: a rate limit is not known.`
}
