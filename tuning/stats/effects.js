import { NONE } from '../../load/report/format.js'
import { typical } from './ranks.js'

/** Of every interval. One in twenty of those around nothing at all misses it. */
export const CONFIDENCE = 0.95

/** Two-sided, of the normal distribution, at the same confidence. */
const NORMAL_WIDTH = 1.96

/**
 * One figure of one visit to a cell: goodput, say, or CPU per request.
 *
 * @typedef {object} Observation
 * @property {number} block
 * @property {string} cell
 * @property {Record<string, string>} levels of the cell's knobs
 * @property {number} value above 0
 *
 * @typedef {object} Noise how far two visits to the same cell in the same block differ
 * @property {number} ratio 95 % of such pairs differ by less than this factor; 1 where there are no pairs
 * @property {number} deviation standard deviation of the difference of their logarithms
 * @property {number} pairs
 *
 * @typedef {object} Effect the ratio to the reference level, all else alike, within a block
 * @property {string} level
 * @property {number} ratio
 * @property {number} low of the interval; 0 and Infinity where there were too few pairs for one
 * @property {number} high
 * @property {number} pairs
 * @property {boolean} tied no difference that the noise could not have made
 */

/**
 * The noise floor, from the cells that were visited more than once in a block: an A/A test.
 *
 * @param {Observation[]} observations
 * @returns {Noise}
 */
export function noiseOf(observations) {
  const groups = [...groupBy(observations, ({ block, cell }) => `${block} ${cell}`).values()]
  const differences = groups.flatMap((own) =>
    own.flatMap(({ value }, i) => own.slice(i + 1).map((other) => Math.log(other.value / value))),
  )
  if (differences.length === 0) return { ratio: 1, deviation: 0, pairs: 0 }
  const deviation = Math.sqrt(differences.reduce((sum, difference) => sum + difference ** 2, 0) / differences.length)
  return { ratio: Math.exp(NORMAL_WIDTH * deviation), deviation, pairs: differences.length }
}

/**
 * What each level of a knob does, as a ratio to its reference level: each pair is the same block and the same levels of
 * all other knobs. The typical ratio and its interval go by ranks (see ranks.js), on logarithms. A level is tied where the
 * interval holds 1, or the noise floor of as many pairs covers the ratio.
 *
 * @param {Observation[]} observations
 * @param {{ name: string, levels: string[] }} knob its first level is the reference
 * @param {Noise} [noise]
 * @returns {Effect[]} of the other levels
 */
export function mainEffects(observations, { name, levels }, noise = noiseOf(observations)) {
  const [reference, ...others] = levels
  const logs = logsOf(observations)
  return others.map((level) => {
    const differences = observedAt(observations, name, level).flatMap((own) => {
      const before = logs.get(keyOf(own.block, { ...own.levels, [name]: reference }))
      const after = Number(logs.get(keyOf(own.block, own.levels)))
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
 * @param {{ name: string, levels: string[] }[]} knobs
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
        const differences = both.flatMap(({ block, levels }) => {
          const [withBoth, withoutOne, withoutOther, withNone] = [
            levels,
            { ...levels, [one.name]: one.levels[0] },
            { ...levels, [other.name]: other.levels[0] },
            { ...levels, [one.name]: one.levels[0], [other.name]: other.levels[0] },
          ].map((cell) => logs.get(keyOf(block, cell)) ?? Number.NaN)
          const difference = withBoth - withoutOne - withoutOther + withNone
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
 * @param {Observation[]} observations
 * @param {string} cell
 * @param {string} reference
 * @param {Noise} [noise]
 * @returns {Effect} its level is the cell
 */
export function ratioOf(observations, cell, reference, noise = noiseOf(observations)) {
  const of = (/** @type {string} */ name) =>
    groupBy(
      observations.filter((observation) => observation.cell === name),
      ({ block }) => String(block),
    )
  const [own, others] = [of(cell), of(reference)]
  const differences = [...own].flatMap(([block, visits]) => {
    const other = others.get(block)
    return other ? [meanLog(visits) - meanLog(other)] : []
  })
  return effectOf(cell, differences, noise)
}

/** @param {string} level @param {number[]} differences of logarithms @param {Noise} noise @returns {Effect} */
function effectOf(level, differences, noise) {
  const { estimate, low, high, pairs } = typical(differences, CONFIDENCE)
  const floor = (NORMAL_WIDTH * noise.deviation) / Math.sqrt(pairs)
  const tied = (low <= 0 && high >= 0) || Math.abs(estimate) <= floor
  return { level, ratio: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high), pairs, tied }
}

/** The mean of the logarithms of each cell in each block. @param {Observation[]} observations */
function logsOf(observations) {
  const groups = groupBy(observations, ({ block, levels }) => keyOf(block, levels))
  return new Map([...groups].map(([key, own]) => [key, meanLog(own)]))
}

/** @param {Observation[]} observations */
function meanLog(observations) {
  return observations.reduce((sum, { value }) => sum + Math.log(value), 0) / observations.length
}

/** One of each cell and block. @param {Observation[]} observations @param {string} name @param {string} level */
function observedAt(observations, name, level) {
  const own = observations.filter(({ levels }) => levels[name] === level)
  return [...groupBy(own, ({ block, levels }) => keyOf(block, levels)).values()].map(([first]) => first)
}

/** @param {number} block @param {Record<string, string>} levels */
function keyOf(block, levels) {
  const sorted = Object.entries(levels).sort(([a], [b]) => (a < b ? -1 : 1))
  return `${block} ${sorted.map((pair) => pair.join('=')).join(' ')}`
}

/** @template T @param {T[]} values @param {(value: T) => string} keyOf */
function groupBy(values, keyOf) {
  /** @type {Map<string, T[]>} */
  const groups = new Map()
  for (const value of values) {
    const key = keyOf(value)
    const own = groups.get(key)
    if (own) own.push(value)
    else groups.set(key, [value])
  }
  return groups
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
