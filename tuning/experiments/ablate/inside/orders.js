import { PLANTED } from '../stages.js'
import { cpu_us, takeTurns } from './turns.js'

/** @import { Turn, Turns } from './turns.js' */

/**
 * What the lab wants, in the process of the API.
 *
 * @typedef {object} Orders
 * @property {string[]} without stages that are away
 * @property {Record<string, number>} slow_us CPU that is burnt in a stage
 * @property {Turns} [turns] which stages are away changes all the time
 *
 * @typedef {Record<string, { skipped: number, passed: number }>} Calls by stage, since the orders came
 * @typedef {Orders & { calls: Calls, rounds: Turn[][] }} InForce
 */

const TURN = Symbol('turn')

let away = new Set()

/** @type {Orders} */
let orders = { without: [], slow_us: {} }

/** @type {Calls} */
let calls = {}

/** @type {ReturnType<typeof takeTurns> | null} */
let turns = null

/** @type {(without: string[]) => Promise<unknown>} */
let follow = () => Promise.resolve()

/** @param {Orders} wanted */
export function obey(wanted) {
  orders = wanted
  away = new Set(wanted.without)
  calls = {}
  turns = wanted.turns ? takeTurns(wanted.turns, change) : null
}

/** For what takes time to follow a change. @param {typeof follow} listener */
export function onChange(listener) {
  follow = listener
}

/** @param {string[]} without */
function change(without) {
  away = new Set(without)
  return follow(without)
}

/** What is in force, and what it did: an order alone would only be our own words again. @returns {InForce} */
export function inForce() {
  return { ...orders, calls, rounds: turns?.rounds() ?? [] }
}

/** @param {any} res its answer, by which its end is known */
export function requestBegan(res) {
  if (turns) res[TURN] = turns.began()
}

/** Answered or given up, whichever is told first; what began under other orders does not count. @param {any} res */
export function requestEnded(res) {
  const turn = res[TURN]
  if (turn === undefined) return
  res[TURN] = undefined
  turns?.ended(turn)
}

/** Whether a stage is away; asked by its hook, for each call. @param {string} stage */
export function isAway(stage) {
  calls[stage] ??= { skipped: 0, passed: 0 }
  const is = away.has(stage)
  if (is) calls[stage].skipped++
  else calls[stage].passed++
  return is
}

/** Burns what was planted in a stage, if anything was. @param {string} stage */
export function burn(stage) {
  const slow_us = orders.slow_us[stage]
  if (!slow_us || isAway(PLANTED)) return
  for (const until_us = cpu_us() + slow_us; cpu_us() < until_us; );
}
