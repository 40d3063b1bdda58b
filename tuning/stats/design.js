import { seededRandom } from '../../load/system/random.js'

/**
 * Every combination of levels.
 *
 * @param {{ name: string, levels: string[] }[]} knobs
 * @returns {Record<string, string>[]} the first has every knob at its first level
 */
export function factorial(knobs) {
  return knobs.reduce(
    (cells, { name, levels }) => cells.flatMap((cell) => levels.map((level) => ({ ...cell, [name]: level }))),
    /** @type {Record<string, string>[]} */ ([{}]),
  )
}

/**
 * One knob at a time: every knob at its first level, then each other level of each knob alone.
 *
 * @param {{ name: string, levels: string[] }[]} knobs
 * @returns {Record<string, string>[]}
 */
export function oneAtATime(knobs) {
  const base = Object.fromEntries(knobs.map(({ name, levels }) => [name, levels[0]]))
  return [base, ...knobs.flatMap(({ name, levels }) => levels.slice(1).map((level) => ({ ...base, [name]: level })))]
}

/** The name of a cell, and back. @param {Record<string, string>} levels */
export function nameOf(levels) {
  return Object.entries(levels)
    .map(([name, level]) => `${name}=${level}`)
    .join(' ')
}

/** @param {string} cell @returns {Record<string, string>} */
export function levelsOf(cell) {
  return Object.fromEntries(cell.split(' ').map((part) => part.split('=')))
}

/**
 * Blocks, each a pass over all cells in an order of its own, so that what drifts falls on all alike. The anchor is visited
 * at the start, in the middle and at the end of each block: how far its visits differ is the noise.
 *
 * @param {object} design
 * @param {string[]} design.cells
 * @param {string | null} design.anchor one of them; null: none is visited more often than the others
 * @param {number} design.blocks
 * @param {number} design.seed
 * @returns {Visit[]}
 *
 * @typedef {{ block: number, position: number, cell: string }} Visit
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
 * What follows from a plan alone is computed once: a verb asks for it before every trial.
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
