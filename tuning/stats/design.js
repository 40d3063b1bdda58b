import { seededRandom } from '../../load/system/random.js'

/** @import { Cell } from '../../load/report/record.js' */

/** @typedef {{ name: string, levels: (string | number)[] }} Factor a knob with the levels that are compared, the reference first */

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

/**
 * Blocks, each a pass over all cells in an order of its own, so that a drift affects all cells alike. The anchor is visited
 * at the start, in the middle and at the end of each block: the difference between its visits is the noise.
 *
 * @template T
 * @param {object} design
 * @param {T[]} design.cells
 * @param {T | null} design.anchor one of them; null: no cell is visited more often than the others
 * @param {number} design.blocks
 * @param {number} design.seed
 * @returns {{ block: number, position: number, cell: T }[]}
 */
export function visitsOf({ cells, anchor, blocks, seed }) {
  return Array.from({ length: blocks }, (_, block) => {
    const others = shuffled(
      cells.filter((cell) => cell !== anchor),
      seed + block,
    )
    const middle = Math.ceil(others.length / 2)
    const order =
      anchor === null ? others : [anchor, ...others.slice(0, middle), anchor, ...others.slice(middle), anchor]
    return order.map((cell, position) => ({ block, position, cell }))
  }).flat()
}

/**
 * Caches what follows from a plan alone: a verb asks for it before every trial.
 *
 * @template {object} P
 * @template T
 * @param {(plan: P) => T} compute
 * @returns {(plan: P) => T}
 */
export function oncePerPlan(compute) {
  /** @type {WeakMap<P, T>} */
  const known = new WeakMap()
  return (plan) => {
    const found = known.get(plan) ?? compute(plan)
    known.set(plan, found)
    return found
  }
}

/** Fisher and Yates, from a seed. @template T @param {T[]} values @param {number} seed @returns {T[]} */
export function shuffled(values, seed) {
  const order = [...values]
  const random = seededRandom(seed)
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const held = order[i]
    order[i] = order[j]
    order[j] = held
  }
  return order
}

/** @template T @param {T[]} values @param {(value: T) => string} keyOf @returns {Map<string, T[]>} in the order of the first of each */
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
