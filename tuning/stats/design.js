import { seededRandom } from '../../load/system/random.js'

/**
 * @import { Cell } from '../../load/report/record.js'
 * @typedef {{ name: string, levels: (string | number)[] }} Factor a knob with the levels that are compared, the reference first
 */

/** Every combination of levels. @param {Factor[]} knobs @returns {Cell[]} the first has every knob at its first level */
export function factorial(knobs) {
  return knobs.reduce(
    (cells, { name, levels }) => cells.flatMap((cell) => levels.map((level) => ({ ...cell, [name]: level }))),
    /** @type {Cell[]} */ ([{}]),
  )
}

/** Every knob at its first level, then each other level of each knob alone. @param {Factor[]} knobs @returns {Cell[]} */
export function oneAtATime(knobs) {
  const base = Object.fromEntries(knobs.map(({ name, levels }) => [name, levels[0]]))
  return [base, ...knobs.flatMap(({ name, levels }) => levels.slice(1).map((level) => ({ ...base, [name]: level })))]
}

/** Scatters seeds that follow each other, so that their first draws have nothing in common (Knuth's multiplicative hash). */
export const SCATTER = 2_654_435_761

/**
 * Blocks, each a pass over all cells: in random order, and in the next block backwards, so that a drift within the blocks affects all
 * cells alike. The anchor, one of the cells, is visited at the start, in the middle and at the end of each block: the difference
 * between its visits is the noise.
 * @template T @param {{ cells: T[], anchor: T | null, blocks: number, seed: number }} design
 */
export function visitsOf({ cells, anchor, blocks, seed }) {
  return Array.from({ length: blocks }, (_, block) => {
    const others = cells.filter((cell) => cell !== anchor)
    const order = shuffle(others, seededRandom(Math.imul(seed + (block >> 1), SCATTER)))
    if (block % 2 === 1) order.reverse()
    if (anchor !== null) order.splice(Math.ceil(order.length / 2), 0, anchor)
    const visits = anchor === null ? order : [anchor, ...order, anchor]
    return visits.map((cell, position) => ({ block, position, cell }))
  }).flat()
}

/** Shuffles in place, by Fisher and Yates. @template T @param {T[]} order @param {() => number} random */
export function shuffle(order, random) {
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[order[i], order[j]] = [order[j], order[i]]
  }
  return order
}

/**
 * Caches what follows from an object that does not change, such as a plan or a record: a design asks for it before every trial.
 * @template {object} P @template T @param {(given: P) => T} compute
 */
export function oncePer(compute) {
  /** @type {WeakMap<P, T>} */
  const known = new WeakMap()
  return (/** @type {P} */ given) => {
    const found = known.get(given) ?? compute(given)
    known.set(given, found)
    return found
  }
}

/** Groups values, in the order of each group's first value. @template T @param {T[]} values @param {(value: T) => string} keyOf */
export function groupBy(values, keyOf) {
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

/** Adds up counts by their names. @param {Record<string, number>[]} counts */
export function totalsOf(counts) {
  /** @type {Record<string, number>} */
  const totals = {}
  for (const [name, number] of counts.flatMap((own) => Object.entries(own))) totals[name] = (totals[name] ?? 0) + number
  return totals
}
