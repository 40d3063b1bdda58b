import { isValid } from '../../../load/capacity/ladder.js'
import { generatorShare, isFullShare } from '../../stats/generator-share.js'
import { median, typical } from '../../stats/ranks.js'
import { blockOf, isRefused, latencyTrials, maximaOf, refused } from './steps.js'

/** @import { ComparePlan } from './steps.js' */

/** Of the whole answer: each of its tests gets its share (Bonferroni), so that two equals are tied in 19 of 20 runs. */
const ERROR_RATE = 0.05

const NAMES = /** @type {const} */ (['a', 'b'])

/**
 * What B is to A, by one figure.
 *
 * @typedef {object} Difference
 * @property {string} about
 * @property {'more' | 'less'} better
 * @property {number} ratio of B to A, the typical one of the blocks; NaN without a block that has both
 * @property {number} low
 * @property {number} high infinite: too few blocks
 * @property {number} pairs
 * @property {boolean} tied
 * @property {string[]} refused the sides that sent requests away there: the rest of theirs is faster for it, and no measure
 * @property {string[]} bounded why what was measured is not the services': the generator's limit, or a ladder too short
 */

/**
 * The differences on which the answer rests: the median latency of the successes at each concurrency, and the maximum
 * rate. Pure.
 *
 * @param {Pick<ComparePlan, 'concurrency'>} plan
 * @param {Records} records
 * @returns {Difference[]}
 *
 * @typedef {import('./steps.js').Records} Records
 * @typedef {import('./steps.js').Name} Name
 */
export function differencesOf({ concurrency }, records) {
  const confidence = 1 - ERROR_RATE / (concurrency.length + 1)
  return [
    ...concurrency.map((workers) => latencyDifference(workers, records, confidence)),
    maximumDifference(records, confidence),
  ]
}

/**
 * Why a side's maximum is a lower bound of what it can do.
 *
 * @param {Records} records
 * @param {Name} name
 * @returns {string | null} null: it is not, or there is none
 */
export function boundOf(records, name) {
  const maxima = maximaOf(records, name)
  if (isFullShare(median(maxima.map(({ generator_share }) => generator_share)))) return 'the generator was the limit'
  const rising = maxima.filter((maximum) => maximum.rising)
  if (maxima.length === 0 || 2 * rising.length <= maxima.length) return null
  return `the last rung, ${rising[0].workers} workers, still brought more`
}

/** @param {number} workers @param {Records} records @param {number} confidence @returns {Difference} */
function latencyDifference(workers, records, confidence) {
  const trialsOf = (/** @type {Name} */ name) => latencyTrials(records, name, workers)
  const those = (/** @type {(own: Records) => boolean} */ are) => {
    return NAMES.filter((name) => are(trialsOf(name))).map((name) => name.toUpperCase())
  }
  const refused = those((own) => own.some(isRefused))
  const full = those((own) => isFullShare(median(own.map(generatorShare))))
  const [a, b] = NAMES.map((name) => new Map(trialsOf(name).map((record) => [blockOf(record), p50(record)])))
  const found = difference(refused.length > 0 ? [] : logsOf(a, b), confidence)
  // It adds the same to both: what is different all the same is so, but equals may be equal by it alone.
  const isTie = found.tied && Number.isFinite(found.high)
  const bounded = isTie && full.length > 0 ? [`the generator was the limit of ${full.join(' and ')}`] : []
  return { ...found, about: `p50 at ${workers}`, better: 'less', refused, bounded }
}

/** @param {Records} records @param {number} confidence @returns {Difference} */
function maximumDifference(records, confidence) {
  const bounded = NAMES.flatMap((name) => {
    const bound = boundOf(records, name)
    return bound ? [`${name.toUpperCase()}: ${bound}`] : []
  })
  const [a, b] = NAMES.map((name) => new Map(maximaOf(records, name).map(({ block, rps }) => [block, rps])))
  const found = difference(bounded.length > 0 ? [] : logsOf(a, b), confidence)
  return { ...found, about: 'maximum rate', better: 'more', refused: [], bounded }
}

/**
 * The answer in a sentence.
 *
 * @param {Difference[]} differences
 */
export function answerSentence(differences) {
  const known = differences.filter((difference) => Number.isFinite(difference.high) && reasonsOf(difference) === '')
  const found = known.filter(({ tied }) => !tied)
  const left = differences.filter((difference) => reasonsOf(difference) !== '')
  const apart =
    left.length > 0 ? ` Not compared: ${left.map((one) => `${one.about} (${reasonsOf(one)})`).join(', ')}.` : ''
  if (known.length === 0) return `${nothingSentence(differences)}${apart}`
  if (found.length === 0) return `Tied: nothing tells A from B (${known.map(({ about }) => about).join(', ')}).${apart}`
  const parts = found.map(({ about, ratio, low, high, better }) => {
    const word = ratio > 1 === (better === 'more') ? 'better' : 'worse'
    return `B is ${word} than A in ${about}: ${ratio.toFixed(2)}x [${low.toFixed(2)}–${high.toFixed(2)}]`
  })
  const ties = known.filter(({ tied }) => tied).map(({ about }) => about)
  return `${parts.join('; ')}${ties.length > 0 ? `; tied in ${ties.join(', ')}` : ''}.${apart}`
}

/** Why a difference is no verdict; empty: it is one, or there were too few blocks. @param {Difference} difference */
export function reasonsOf({ refused, bounded }) {
  const refusal = refused.length > 0 ? [`${refused.join(' and ')} refused requests`] : []
  return [...refusal, ...bounded].join('; ')
}

/**
 * Why there is no answer that can be trusted: a side had no trial that counts, or no success.
 *
 * @param {Records} records
 * @returns {string | null}
 */
export function problemOf(records) {
  const valid = records.filter(isValid)
  const silent = NAMES.find((name) => {
    return valid.every(({ cell, traffic }) => cell !== name || traffic.ok === 0) && !refused(name, valid)
  })
  if (!silent) return null
  const last = records.findLast(({ cell }) => cell === silent)
  return `${silent.toUpperCase()} answered not one request with success in a valid trial: ${last?.outcome.because ?? 'no trial'}`
}

/** @param {Difference[]} differences none of them a verdict */
function nothingSentence(differences) {
  const few = differences.filter((difference) => reasonsOf(difference) === '')
  const latencies = differences.filter(({ better }) => better === 'less')
  if (latencies.length > 0 && latencies.every(({ refused }) => refused.length > 0)) {
    const who = NAMES.map((name) => name.toUpperCase()).filter((name) => {
      return latencies.some(({ refused }) => refused.includes(name))
    })
    const rest =
      few.length > 0 ? `, and there are too few blocks for the ${few.map(({ about }) => about).join(', ')}` : ''
    return `Nothing tells A from B: ${who.join(' and ')} refused requests at every concurrency${rest}.`
  }
  return few.length > 0 ? 'Too few blocks to tell A from B.' : 'Nothing was measured that tells A from B.'
}

/** @param {number[]} logs @param {number} confidence */
function difference(logs, confidence) {
  if (logs.length === 0) return { ratio: Number.NaN, low: 0, high: Number.POSITIVE_INFINITY, pairs: 0, tied: true }
  const { estimate, low, high, pairs } = typical(logs, confidence)
  return { ratio: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high), pairs, tied: low <= 0 && high >= 0 }
}

/**
 * The logarithm of B's figure by A's, in each block that has both.
 *
 * @param {Map<number, number>} a by block
 * @param {Map<number, number>} b
 */
function logsOf(a, b) {
  return [...a].flatMap(([block, figure]) => {
    const log = Math.log(Number(b.get(block)) / figure)
    return Number.isFinite(log) ? [log] : []
  })
}

/** @param {Records[number]} record */
function p50({ traffic }) {
  return traffic.ok_latency_ms?.p50 ?? Number.NaN
}
