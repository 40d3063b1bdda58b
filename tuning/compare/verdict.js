import { typical } from '../ranks.js'
import { blockOf, isRefused, ladderTrials, latencyTrials } from './steps.js'

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
 */

/**
 * The differences on which the answer rests: the median latency of the successes at each concurrency, and the maximum
 * rate. Pure.
 *
 * @param {Pick<import('./steps.js').ComparePlan, 'concurrency'>} plan
 * @param {Records} records
 * @returns {Difference[]}
 *
 * @typedef {import('./steps.js').Records} Records
 */
export function differencesOf({ concurrency }, records) {
  const confidence = 1 - ERROR_RATE / (concurrency.length + 1)
  const latencies = concurrency.map((workers) => {
    const trialsOf = (/** @type {import('./steps.js').Name} */ name) => latencyTrials(records, name, workers)
    const refused = NAMES.filter((name) => trialsOf(name).some(isRefused)).map((name) => name.toUpperCase())
    const pair = refused.length > 0 ? [] : pairsOf(trialsOf, p50, Math.min)
    const better = /** @type {const} */ ('less')
    return { ...difference(pair, confidence), about: `p50 at ${workers}`, better, refused }
  })
  const pair = pairsOf((name) => ladderTrials(records, name), goodput, Math.max)
  return [
    ...latencies,
    { ...difference(pair, confidence), about: 'maximum rate', better: /** @type {const} */ ('more'), refused: [] },
  ]
}

/**
 * The answer in a sentence.
 *
 * @param {Difference[]} differences
 */
export function answerSentence(differences) {
  const known = differences.filter(({ high }) => Number.isFinite(high))
  const found = known.filter(({ tied }) => !tied)
  const left = differences
    .filter(({ refused }) => refused.length > 0)
    .map(({ about, refused }) => `${about} (${refused.join(' and ')} refused requests)`)
  const apart = left.length > 0 ? ` Not compared: ${left.join(', ')}.` : ''
  if (known.length === 0) return `Too few blocks to tell A from B.${apart}`
  if (found.length === 0) return `Tied: nothing tells A from B (${known.map(({ about }) => about).join(', ')}).${apart}`
  const parts = found.map(({ about, ratio, low, high, better }) => {
    const word = ratio > 1 === (better === 'more') ? 'better' : 'worse'
    return `B is ${word} than A in ${about}: ${ratio.toFixed(2)}x [${low.toFixed(2)}–${high.toFixed(2)}]`
  })
  const ties = known.filter(({ tied }) => tied).map(({ about }) => about)
  return `${parts.join('; ')}${ties.length > 0 ? `; tied in ${ties.join(', ')}` : ''}.${apart}`
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
 * @param {(name: import('./steps.js').Name) => Records} trialsOf
 * @param {(record: Records[number]) => number} value
 * @param {(...values: number[]) => number} best of several in a block
 */
function pairsOf(trialsOf, value, best) {
  const [a, b] = NAMES.map((name) => {
    /** @type {Map<number, number>} */
    const blocks = new Map()
    for (const record of trialsOf(name)) {
      const block = blockOf(record)
      const found = value(record)
      blocks.set(block, blocks.has(block) ? best(Number(blocks.get(block)), found) : found)
    }
    return blocks
  })
  return [...a].flatMap(([block, figure]) => {
    const log = Math.log(Number(b.get(block)) / figure)
    return Number.isFinite(log) ? [log] : []
  })
}

/** @param {Records[number]} record */
function p50({ traffic }) {
  return traffic.ok_latency_ms?.p50 ?? Number.NaN
}

/** @param {Records[number]} record */
function goodput({ traffic }) {
  return traffic.goodput_rps
}
