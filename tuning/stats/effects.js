import { cellName, NONE } from '../../load/report/format.js'
import { typical } from '../../load/verdict/ranks.js'
import { factorial, groupBy } from './design.js'

/**
 * @import { Factor } from './design.js'
 * @import { Cell, TrialRecord } from '../../load/report/record.js'
 * @typedef {{ block: number, cell: Cell, value: number }} Observation a figure above 0 of one visit to a cell, such as goodput
 * @typedef {ReturnType<typeof noiseOf>} Noise how far two visits to the same cell in the same block differ
 * @typedef {ReturnType<typeof estimated> & { level: string | number }} Effect ratio to the reference level within a block, with all
 *   other knobs equal
 */

/** Confidence of every interval: if there is no effect, one in twenty misses a ratio of 1. */
export const CONFIDENCE = 0.95

/**
 * Confidence of each of several intervals that are looked at together: with CONFIDENCE, none of them misses (Bonferroni: each gets an
 * equal share of the error rate).
 * @param {number} intervals their number
 */
export function confidenceOfEach(intervals) {
  return 1 - (1 - CONFIDENCE) / intervals
}

/** The fewest pairs whose interval is finite: all of n pairs agree by chance in 2 of 2^n cases. @param {number} confidence such as 0.95 */
export function leastPairs(confidence) {
  return Math.ceil(Math.log2(2 / (1 - confidence)))
}

/** Two-sided quantile of the normal distribution at the same confidence. */
const NORMAL_WIDTH = 1.96

/** The noise of a design that visits each cell once per block: the interval alone decides. */
const NO_NOISE = { ratio: 1, deviation: 0, pairs: 0 }

/** The figures that trials have, by block. @param {TrialRecord[]} records @param {(record: TrialRecord) => number | undefined} value */
export function observationsOf(records, value) {
  return records.flatMap((record) => {
    const found = Number(value(record))
    return found > 0 ? [{ block: record.at.block, cell: record.cell, value: found }] : []
  })
}

/**
 * The noise floor, from the cells that were visited more than once in a block: an A/A test. 95 % of the pairs of visits differ by
 * less than the factor `ratio`; deviation: of the difference of their logarithms. @param {Observation[]} observations
 */
export function noiseOf(observations) {
  const differences = [...groupBy(observations, keyOf).values()].flatMap((own) => {
    return own.flatMap(({ value }, i) => own.slice(i + 1).map((other) => Math.log(other.value / value)))
  })
  if (differences.length === 0) return NO_NOISE
  const deviation = Math.sqrt(differences.reduce((sum, difference) => sum + difference ** 2, 0) / differences.length)
  return { ratio: Math.exp(NORMAL_WIDTH * deviation), deviation, pairs: differences.length }
}

/**
 * The effect of each level of a knob relative to its first, the reference. The two cells of a pair are in the same block and have
 * the same levels of all other knobs. The ratio and its interval are based on ranks of logarithms (see ranks.js). A level is tied if
 * the interval contains 1, or if the noise floor of as many pairs covers the ratio.
 * @param {Observation[]} observations @param {Factor} knob @param {Noise} [noise]
 */
export function mainEffects(observations, { name, levels: [reference, ...others] }, noise = noiseOf(observations)) {
  const { visited, logAt } = logsOf(observations)
  return others.map((level) => {
    const differences = visited({ [name]: level }).map((one) => logAt(one) - logAt(one, { [name]: reference }))
    return { level, ...estimated(differences, noise) }
  })
}

/**
 * Tells whether two knobs change each other's effect: the ratio of two ratios, for each pair of levels except the references, the
 * strongest first. Above 1, the two together gain more than the product of their separate gains.
 * @param {Observation[]} observations @param {Factor[]} knobs @param {Noise} [noise]
 * @returns {Effect[]} level: such as "POOL_MAX=5 with INSERT_MODE=single"
 */
export function interactions(observations, knobs, noise = noiseOf(observations)) {
  const { visited, logAt } = logsOf(observations)
  // The noise of the difference of two differences.
  const twice = { ...noise, deviation: noise.deviation * Math.SQRT2 }
  const pairs = knobs.flatMap((one, i) => knobs.slice(i + 1).map((other) => [one, other]))
  const found = pairs.flatMap((pair) => {
    const [noOne, noOther] = pair.map(({ name, levels }) => ({ [name]: levels[0] }))
    return factorial(pair.map(({ name, levels }) => ({ name, levels: levels.slice(1) }))).map((both) => {
      const differences = visited(both).map((cell) => {
        return logAt(cell) - logAt(cell, noOne) - logAt(cell, noOther) + logAt(cell, { ...noOne, ...noOther })
      })
      const [a, b] = Object.entries(both).map((pair) => pair.join('='))
      return { level: `${a} with ${b}`, ...estimated(differences, twice) }
    })
  })
  const strength = (/** @type {Effect} */ { ratio }) => Math.abs(Math.log(ratio))
  return found.filter((effect) => effect.pairs > 0).sort((a, b) => strength(b) - strength(a))
}

/**
 * The ratio of two cells, block by block.
 * @param {Observation[]} observations @param {Cell} cell @param {Cell} reference @param {Noise} [noise]
 * @param {number} [confidence] of the interval
 */
export function ratioOf(observations, cell, reference, noise = noiseOf(observations), confidence = CONFIDENCE) {
  const { logAt } = logsOf(observations)
  const blocks = [...new Set(observations.map(({ block }) => block))]
  const differences = blocks.map((block) => logAt({ block, cell }) - logAt({ block, cell: reference }))
  return { level: cellName(cell), ...estimated(differences, noise, confidence) }
}

/** A figure of each trial, by block; NaN if it is not known. @param {TrialRecord[]} records @param {(record: TrialRecord) => number | undefined} value */
export function byBlock(records, value) {
  return new Map(records.map((record) => [Number(record.at.block), Number(value(record))]))
}

/** How much a series exceeds another, by block; NaN where the other has no figure. @param {Map<number, number>} series @param {Map<number, number>} other */
export function excessOf(series, other) {
  return new Map([...series].map(([block, figure]) => [block, figure - Number(other.get(block))]))
}

/** The typical ratio of two series by block. @param {Map<number, number>} reference @param {Map<number, number>} other @param {number} [confidence] */
export function pairedRatio(reference, other, confidence = CONFIDENCE) {
  const logs = [...reference].map(([block, figure]) => Math.log(Number(other.get(block)) / figure))
  return estimated(logs, NO_NOISE, confidence)
}

/**
 * ratio: NaN without pairs; low and high: 0 and Infinity with too few pairs; tied: the interval contains 1, or noise explains the ratio.
 * @param {number[]} differences of logarithms, not finite if one of a pair is missing @param {Noise} noise
 */
function estimated(differences, noise, confidence = CONFIDENCE) {
  const { estimate, low, high, pairs } = typical(differences.filter(Number.isFinite), confidence)
  const floor = (NORMAL_WIDTH * noise.deviation) / Math.sqrt(pairs)
  const tied = (low <= 0 && high >= 0) || Math.abs(estimate) <= floor
  return { ratio: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high), pairs, tied }
}

/** Each visited cell, once per block, and the mean logarithm of its figures. @param {Observation[]} observations */
function logsOf(observations) {
  const groups = groupBy(observations, keyOf)
  const sumOf = (/** @type {Observation[]} */ own) => own.reduce((sum, { value }) => sum + Math.log(value), 0)
  const logs = new Map([...groups].map(([key, own]) => [key, sumOf(own) / own.length]))
  const cells = [...groups.values()].map(([first]) => first)
  return {
    /** The visited cells with these levels. @param {Cell} levels */
    visited: (levels) => cells.filter(({ cell }) => Object.keys(levels).every((name) => cell[name] === levels[name])),

    /** Returns NaN if the cell was not visited. @param {Place} place @param {Cell} [levels] that differ from the cell's */
    logAt: ({ block, cell }, levels) => logs.get(keyOf({ block, cell: { ...cell, ...levels } })) ?? Number.NaN,
  }
}

/** @param {Place} place @typedef {Pick<Observation, 'block' | 'cell'>} Place */
function keyOf({ block, cell }) {
  const levels = Object.entries(cell).map((level) => level.join('='))
  return `${block} ${levels.sort().join(' ')}`
}

/**
 * Tests a claim against an effect. Reproduced: the interval lies on the claimed side of 1, and the typical ratio is an effect of interest;
 * for `same`, the whole interval is too close to 1. Refuted: the whole interval falls short of such an effect; for `same`, it exceeds one.
 * @param {Claim} claim @param {Pick<Effect, 'ratio' | 'low' | 'high' | 'pairs'>} effect @returns {Verdict}
 * @typedef {{ expect: 'more' | 'less' | 'same', least_ratio: number }} Claim least_ratio: the smallest effect of interest, above 1
 * @typedef {'reproduced' | 'refuted' | 'undecided' | 'not measured'} Verdict
 */
export function verdictOf({ expect, least_ratio }, { ratio, low, high, pairs }) {
  if (pairs === 0) return 'not measured'
  if (!Number.isFinite(high)) return 'undecided'
  if (expect === 'less') {
    return verdictOf({ expect: 'more', least_ratio }, { ratio: 1 / ratio, low: 1 / high, high: 1 / low, pairs })
  }
  if (expect === 'same') {
    if (low >= 1 / least_ratio && high <= least_ratio) return 'reproduced'
    return low > least_ratio || high < 1 / least_ratio ? 'refuted' : 'undecided'
  }
  if (low > 1 && ratio >= least_ratio) return 'reproduced'
  return high < least_ratio ? 'refuted' : 'undecided'
}

/** "25 reproduced, 2 undecided" @param {{ verdict: Verdict }[]} results */
export function verdictsText(results) {
  const counts = [...groupBy(results, ({ verdict }) => verdict)]
  return counts.map(([verdict, own]) => `${own.length} ${verdict}`).join(', ')
}

/** `0.71x [0.66–0.75]` @param {Pick<Effect, 'ratio' | 'low' | 'high'>} effect */
export function ratioText({ ratio, low, high }) {
  if (Number.isNaN(ratio)) return NONE
  const interval = Number.isFinite(high) ? `[${intervalText({ low, high })}]` : '[too few pairs]'
  return `${digits(ratio)}x ${interval}`
}

/** `0.66–0.996`: the end of an interval without 1 has a third digit, where two would make it 1. @param {Pick<Effect, 'low' | 'high'>} interval */
export function intervalText({ low, high }) {
  const excludes = low > 1 || high < 1
  const endText = (/** @type {number} */ end) => {
    const isNear = excludes && digits(end) === '1.00' && end.toFixed(3) !== '1.000'
    return isNear ? end.toFixed(3) : digits(end)
  }
  return `${endText(low)}–${endText(high)}`
}

/** @param {number} ratio */
export function digits(ratio) {
  if (ratio >= 100) return ratio.toFixed(0)
  return ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2)
}
