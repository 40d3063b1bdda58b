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
 * @typedef {object} Observation one figure of one visit to a cell, such as goodput or CPU per request
 * @property {number} block
 * @property {Cell} cell
 * @property {number} value above 0
 *
 * @typedef {{ block: number, cell: Cell | string, value: number }} Named the same where cells are only told apart
 *
 * @typedef {object} Noise how far two visits to the same cell in the same block differ
 * @property {number} ratio 95 % of such pairs differ by less than this factor; 1 where there are no pairs
 * @property {number} deviation standard deviation of the difference of their logarithms
 * @property {number} pairs
 *
 * @typedef {object} Effect the ratio to the reference level within a block, with all other knobs equal
 * @property {string | number} level
 * @property {number} ratio
 * @property {number} low of the interval; 0 and Infinity where there were too few pairs for one
 * @property {number} high
 * @property {number} pairs
 * @property {boolean} tied the noise could have made the difference
 */

/** Of a design without repeated visits: the interval alone decides. @type {Noise} */
export const NO_NOISE = { ratio: 1, deviation: 0, pairs: 0 }

/**
 * The values of trials, those without one left out.
 *
 * @param {TrialRecord[]} records with a block in their `at`
 * @param {(record: TrialRecord) => number | undefined} value
 * @returns {Observation[]}
 */
export function observationsOf(records, value) {
  return records.flatMap((record) => {
    const found = Number(value(record))
    return found > 0 ? [{ block: record.at.block, cell: /** @type {Cell} */ (record.cell), value: found }] : []
  })
}

/**
 * The noise floor, from the cells that were visited more than once in a block: an A/A test.
 *
 * @param {Named[]} observations
 * @returns {Noise}
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
 * What each level of a knob does, as a ratio to its reference level. The two cells of a pair are in the same block and have the
 * same levels of all other knobs. The typical ratio and its interval go by ranks (see ranks.js), on logarithms. A level is tied
 * where the interval contains 1, or the noise floor of as many pairs covers the ratio.
 *
 * @param {Observation[]} observations
 * @param {Factor} knob its first level is the reference
 * @param {Noise} [noise]
 * @returns {Effect[]} of the other levels
 */
export function mainEffects(observations, { name, levels }, noise = noiseOf(observations)) {
  const [reference, ...others] = levels
  const logs = logsOf(observations)
  return others.map((level) => {
    const differences = observedAt(observations, name, level).flatMap(({ block, cell }) => {
      const before = logs.get(keyOf(block, { ...cell, [name]: reference }))
      const after = Number(logs.get(keyOf(block, cell)))
      return before === undefined ? [] : [after - before]
    })
    return effectOf(level, differences, noise)
  })
}

/**
 * Whether two knobs change each other's effect: the ratio of two ratios, for each pair of levels that are not the
 * reference of their knob. Above 1: together they bring more than the product of what each brings alone.
 *
 * @param {Observation[]} observations
 * @param {Factor[]} knobs
 * @param {Noise} [noise]
 * @returns {Effect[]} the strongest first; level: such as "POOL_MAX=5 with INSERT_MODE=single"
 */
export function interactions(observations, knobs, noise = noiseOf(observations)) {
  const logs = logsOf(observations)
  const pairs = knobs.flatMap((one, i) => knobs.slice(i + 1).map((other) => [one, other]))
  const found = pairs.flatMap(([one, other]) =>
    one.levels.slice(1).flatMap((a) =>
      other.levels.slice(1).map((b) => {
        const both = observedAt(observedAt(observations, one.name, a), other.name, b)
        const [noOne, noOther] = [{ [one.name]: one.levels[0] }, { [other.name]: other.levels[0] }]
        const differences = both.flatMap(({ block, cell }) => {
          const logAt = (/** @type {Cell} */ changed) => logs.get(keyOf(block, { ...cell, ...changed })) ?? Number.NaN
          const difference = logAt({}) - logAt(noOne) - logAt(noOther) + logAt({ ...noOne, ...noOther })
          return Number.isFinite(difference) ? [difference] : []
        })
        // Of two differences.
        const noise2 = { ...noise, deviation: noise.deviation * Math.SQRT2 }
        return effectOf(`${one.name}=${a} with ${other.name}=${b}`, differences, noise2)
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
    const visits = observations.filter((observation) => isSameCell(observation.cell, one))
    return groupBy(visits, ({ block }) => String(block))
  })
  const differences = [...own].flatMap(([block, visits]) => {
    const other = others.get(block)
    return other ? [meanLog(visits) - meanLog(other)] : []
  })
  return effectOf(cellName(cell), differences, noise)
}

/** @param {string | number} level @param {number[]} differences of logarithms @param {Noise} noise @returns {Effect} */
function effectOf(level, differences, noise) {
  const { estimate, low, high, pairs } = typical(differences, CONFIDENCE)
  const floor = (NORMAL_WIDTH * noise.deviation) / Math.sqrt(pairs)
  const tied = (low <= 0 && high >= 0) || Math.abs(estimate) <= floor
  return { level, ratio: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high), pairs, tied }
}

/** The mean of the logarithms of each cell in each block. @param {Observation[]} observations */
function logsOf(observations) {
  const groups = groupBy(observations, ({ block, cell }) => keyOf(block, cell))
  return new Map([...groups].map(([key, own]) => [key, meanLog(own)]))
}

/** @param {Named[]} observations */
function meanLog(observations) {
  return observations.reduce((sum, { value }) => sum + Math.log(value), 0) / observations.length
}

/** One visit to each such cell in each block. @param {Observation[]} observations @param {string} name @param {string | number} level */
function observedAt(observations, name, level) {
  const own = observations.filter(({ cell }) => cell[name] === level)
  return [...groupBy(own, ({ block, cell }) => keyOf(block, cell)).values()].map(([first]) => first)
}

/** @param {number} block @param {Cell | string} cell */
function keyOf(block, cell) {
  if (typeof cell === 'string') return `${block} ${cell}`
  const sorted = Object.entries(cell).sort(([a], [b]) => (a < b ? -1 : 1))
  return `${block} ${sorted.map((pair) => pair.join('=')).join(' ')}`
}

/**
 * What an effect says about a claim.
 *
 * Reproduced: the interval leaves 1 on the claimed side, and the typical ratio is an effect of interest; for `same`, the whole
 * interval is too close to 1 to be one. Refuted: the whole interval is against the claim.
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
function digits(ratio) {
  if (ratio >= 100) return ratio.toFixed(0)
  return ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2)
}
