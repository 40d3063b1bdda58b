import { cellName, isSameCell, NONE } from '../../load/report/format.js'
import { groupBy } from './design.js'
import { typical } from './ranks.js'

/**
 * @import { Factor } from './design.js'
 * @import { Cell, TrialRecord } from '../../load/report/record.js'
 */

/** Of every interval: one in twenty around no effect misses it. */
export const CONFIDENCE = 0.95

/** Two-sided, of the normal distribution, at the same confidence. */
const NORMAL_WIDTH = 1.96

/**
 * @typedef {{ block: number, cell: Cell, value: number }} Observation one figure of one visit to a cell, such as goodput; above 0
 * @typedef {{ block: number, cell: Cell | string, value: number }} Named the same where cells are only told apart
 *
 * @typedef {ReturnType<typeof noiseOf>} Noise how far two visits to the same cell in the same block differ
 * @typedef {ReturnType<typeof estimated> & { level: string | number }} Effect the ratio to the reference level within a block, with
 *   all other knobs equal
 */

/** Of a design without repeated visits: the interval alone decides. */
export const NO_NOISE = { ratio: 1, deviation: 0, pairs: 0 }

/**
 * The values of trials, without those that have none.
 *
 * @param {TrialRecord[]} records with a block in their `at`
 * @param {(record: TrialRecord) => number | undefined} value
 * @returns {Observation[]}
 */
export function observationsOf(records, value) {
  return records.flatMap((record) => {
    const found = Number(value(record))
    return found > 0 ? [{ block: record.at.block, cell: record.cell, value: found }] : []
  })
}

/**
 * The noise floor, from the cells that were visited more than once in a block: an A/A test. 95 % of the pairs of visits differ by
 * less than the factor `ratio`; deviation: of the difference of their logarithms.
 *
 * @param {Named[]} observations
 */
export function noiseOf(observations) {
  const groups = [...groupBy(observations, ({ block, cell }) => keyOf(block, cell)).values()]
  const differences = groups.flatMap((own) =>
    own.flatMap(({ value }, i) => own.slice(i + 1).map((other) => Math.log(other.value / value))),
  )
  if (differences.length === 0) return NO_NOISE
  const deviation = Math.sqrt(differences.reduce((sum, difference) => sum + difference ** 2, 0) / differences.length)
  return { ratio: Math.exp(NORMAL_WIDTH * deviation), deviation, pairs: differences.length }
}

/**
 * What each level of a knob but its first, the reference, does. The two cells of a pair are in the same block and have the same
 * levels of all other knobs. The typical ratio and its interval go by ranks (see ranks.js), on logarithms. A level is tied where
 * the interval contains 1, or the noise floor of as many pairs covers the ratio.
 *
 * @param {Observation[]} observations
 * @param {Factor} knob
 * @param {Noise} [noise]
 * @returns {Effect[]}
 */
export function mainEffects(observations, { name, levels }, noise = noiseOf(observations)) {
  const [reference, ...others] = levels
  const logs = logsOf(observations)
  return others.map((level) => {
    const differences = observedAt(observations, { [name]: level }).map(({ block, cell }) => {
      return logs(block, cell) - logs(block, { ...cell, [name]: reference })
    })
    return { level, ...estimated(differences, noise) }
  })
}

/**
 * Whether two knobs change each other's effect: the ratio of two ratios, for each pair of levels but their references, the strongest
 * first. Above 1, together they bring more than the product of what each brings alone.
 *
 * @param {Observation[]} observations
 * @param {Factor[]} knobs
 * @param {Noise} [noise]
 * @returns {Effect[]} level: such as "POOL_MAX=5 with INSERT_MODE=single"
 */
export function interactions(observations, knobs, noise = noiseOf(observations)) {
  const logs = logsOf(observations)
  // Of two differences.
  const twice = { ...noise, deviation: noise.deviation * Math.SQRT2 }
  const pairs = knobs.flatMap((one, i) => knobs.slice(i + 1).map((other) => [one, other]))
  const found = pairs.flatMap(([one, other]) =>
    one.levels.slice(1).flatMap((a) =>
      other.levels.slice(1).map((b) => {
        const [noOne, noOther] = [{ [one.name]: one.levels[0] }, { [other.name]: other.levels[0] }]
        const differences = observedAt(observations, { [one.name]: a, [other.name]: b }).map(({ block, cell }) => {
          const logAt = (/** @type {Cell} */ changed) => logs(block, { ...cell, ...changed })
          return logAt({}) - logAt(noOne) - logAt(noOther) + logAt({ ...noOne, ...noOther })
        })
        return { level: `${one.name}=${a} with ${other.name}=${b}`, ...estimated(differences, twice) }
      }),
    ),
  )
  return found
    .filter((effect) => effect.pairs > 0)
    .sort((a, b) => Math.abs(Math.log(b.ratio)) - Math.abs(Math.log(a.ratio)))
}

/**
 * The ratio of two cells, block by block.
 *
 * @param {Named[]} observations
 * @param {Cell | string} cell
 * @param {Cell | string} reference
 * @param {Noise} [noise]
 * @returns {Effect} its level is the cell's name
 */
export function ratioOf(observations, cell, reference, noise = noiseOf(observations)) {
  const [own, others] = [cell, reference].map((one) => {
    return groupBy(
      observations.filter((observation) => isSameCell(observation.cell, one)),
      ({ block }) => String(block),
    )
  })
  const differences = [...own].map(([block, visits]) => meanLog(visits) - meanLog(others.get(block)))
  return { level: cellName(cell), ...estimated(differences, noise) }
}

/**
 * The typical ratio of figures in each block that has both.
 *
 * @param {Map<number, number>} reference by block
 * @param {Map<number, number>} other
 * @param {number} confidence such as 0.95
 */
export function pairedRatio(reference, other, confidence) {
  const logs = [...reference].map(([block, figure]) => Math.log(Number(other.get(block)) / figure))
  return estimated(logs, NO_NOISE, confidence)
}

/**
 * ratio: NaN without pairs; low and high: 0 and Infinity with too few; tied: the interval contains 1, or noise explains the ratio.
 *
 * @param {number[]} differences of logarithms; what is not finite lacks one of a pair
 * @param {Noise} noise
 * @param {number} [confidence]
 */
function estimated(differences, noise, confidence = CONFIDENCE) {
  const { estimate, low, high, pairs } = typical(differences.filter(Number.isFinite), confidence)
  const floor = (NORMAL_WIDTH * noise.deviation) / Math.sqrt(pairs)
  const tied = (low <= 0 && high >= 0) || Math.abs(estimate) <= floor
  return { ratio: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high), pairs, tied }
}

/** Looks up the mean logarithm of a cell in a block; NaN: it was not visited. @param {Observation[]} observations */
function logsOf(observations) {
  const groups = groupBy(observations, ({ block, cell }) => keyOf(block, cell))
  const logs = new Map([...groups].map(([key, own]) => [key, meanLog(own)]))
  return (/** @type {number} */ block, /** @type {Cell} */ cell) => logs.get(keyOf(block, cell)) ?? Number.NaN
}

/** @param {Named[]} [observations] */
function meanLog(observations = []) {
  return observations.reduce((sum, { value }) => sum + Math.log(value), 0) / observations.length
}

/** One visit in each block to each cell with these levels. @param {Observation[]} observations @param {Cell} levels */
function observedAt(observations, levels) {
  const own = observations.filter(({ cell }) => Object.entries(levels).every(([name, level]) => cell[name] === level))
  return [...groupBy(own, ({ block, cell }) => keyOf(block, cell)).values()].map(([first]) => first)
}

/** @param {number} block @param {Cell | string} cell */
function keyOf(block, cell) {
  if (typeof cell === 'string') return `${block} ${cell}`
  const sorted = Object.entries(cell).sort(([a], [b]) => (a < b ? -1 : 1))
  return `${block} ${sorted.map((pair) => pair.join('=')).join(' ')}`
}

/**
 * What an effect says about a claim. Reproduced: the interval leaves 1 on the claimed side, and the typical ratio is an effect of
 * interest; for `same`, the whole interval is too close to 1 to be one. Refuted: the whole interval is against the claim.
 *
 * @param {Claim} claim
 * @param {Pick<Effect, 'ratio' | 'low' | 'high' | 'pairs'>} effect
 * @returns {Verdict}
 *
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

/** `0.71x [0.66–0.75]` @param {Pick<Effect, 'ratio' | 'low' | 'high'>} effect */
export function ratioText({ ratio, low, high }) {
  if (Number.isNaN(ratio)) return NONE
  const interval = Number.isFinite(high) ? `[${digits(low)}–${digits(high)}]` : '[too few pairs]'
  return `${digits(ratio)}x ${interval}`
}

/** @param {number} ratio */
export function digits(ratio) {
  if (ratio >= 100) return ratio.toFixed(0)
  return ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2)
}
