import { seededRandom } from '../../../load/system/random.js'
import { shuffle } from '../../stats/design.js'

/** Minimum number of values on either side of a change: the spread of fewer is unknown. */
const LEAST = 3
/** A false alarm costs more than a change that is found some runs later. */
const SIGNIFICANCE = 0.02
/** Number of permutations: with so many, chance hardly moves a probability near the significance (nine values with a jump: 0.016). */
const PERMUTATIONS = 4999
/** Sums in another order differ by less than this share. */
const ROUNDING = 1e-9

/**
 * With fewer values than this, even a perfect jump is too likely in a random order: of all ways to choose which half of them comes first,
 * 126 for nine values and 70 for eight, two are as clear, the lower half and the higher one. 2/126 is below SIGNIFICANCE, 2/70 above.
 */
export const LEAST_TO_CHANGE = 9

/**
 * Finds where a series changes its level or its spread, whatever its distribution: E-divisive (Matteson and James 2014, "A Nonparametric
 * Approach for Multiple Change Point Analysis of Multivariate Data", JASA 109), with an exponent of 1 for the distances. Pure.
 * @param {number[]} values in order of time @param {number} [seed] of the permutations
 * @returns {number[]} indices of the first values after a change, ascending
 */
export function changePoints(values, seed = 1) {
  const random = seededRandom(seed)
  /** @type {number[]} */
  const found = []
  const segments = [{ from: 0, to: values.length }]
  for (const { from, to } of segments) {
    const places = placesOf(values.slice(from, to))
    const best = bestSplit(places)
    if (!best || !isSignificant(places, best.statistic, random)) continue
    const at = from + best.at
    found.push(at)
    segments.push({ from, to: at }, { from: at, to })
  }
  return found.sort((a, b) => a - b)
}

/** Each value with the sum of its distances from all others, which is the same in any order. @param {number[]} values @typedef {ReturnType<typeof placesOf>[number]} Place */
function placesOf(values) {
  return values.map((value) => ({ value, sum: values.reduce((sum, other) => sum + Math.abs(value - other), 0) }))
}

/** Whether so clear a split is rare in random orders of the values. @param {Place[]} places @param {number} statistic @param {() => number} random */
function isSignificant(places, statistic, random) {
  const order = [...places]
  // Otherwise half of the orders that are equally clear would be missed, by rounding.
  const least = statistic * (1 - ROUNDING)
  const most = SIGNIFICANCE * (PERMUTATIONS + 1)
  let asClear = 1
  for (let i = 0; i < PERMUTATIONS && asClear <= most; i++) {
    if (Number(bestSplit(shuffle(order, random))?.statistic) >= least) asClear++
  }
  return asClear <= most
}

/** The split with the largest energy distance between its sides, scaled by their sizes; null if too few values. @param {Place[]} places in any order */
function bestSplit(places) {
  const size = places.length
  /** Sums of distances: among the values on the left, among the values on the right, and across. */
  let [left, right, across] = [0, places.reduce((all, { sum }) => all + sum, 0) / 2, 0]
  /** @type {{ at: number, statistic: number } | null} */
  let best = null
  for (let at = 1; at <= size - LEAST; at++) {
    const { value, sum } = places[at - 1]
    let toLeft = 0
    for (let i = 0; i < at - 1; i++) toLeft += Math.abs(value - places[i].value)
    const toRight = sum - toLeft
    left += toLeft
    right -= toRight
    across += toRight - toLeft
    if (at < LEAST) continue
    const other = size - at
    const energy = (2 * across) / (at * other) - left / ((at * (at - 1)) / 2) - right / ((other * (other - 1)) / 2)
    const statistic = ((at * other) / size) * energy
    if (!best || statistic > best.statistic) best = { at, statistic }
  }
  return best
}
