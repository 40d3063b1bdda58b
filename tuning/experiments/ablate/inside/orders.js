import { burn_us } from '../../../../load/system/cpu.js'
import { takeTurns } from './turns.js'

/** @import { Turn, Turns } from './turns.js' */

/**
 * The lab's orders to the process of the API: which stages to remove (in a trial by turns, they keep changing), and how much CPU
 * time to burn in a stage.
 * @typedef {{ without: string[], slow_us: Record<string, number>, turns?: Turns }} Orders
 * @typedef {Record<string, { skipped: number, passed: number }>} Calls of each stage's hook since the orders arrived
 * @typedef {Orders & { calls: Calls, rounds: Turn[][] }} InForce
 */

const END = Symbol('end')

let away = new Set()
let orders = /** @type {Orders} */ ({ without: [], slow_us: {} })
let calls = /** @type {Calls} */ ({})
let turns = /** @type {ReturnType<typeof takeTurns> | null} */ (null)
let follow = /** @type {(without: string[]) => Promise<unknown>} */ (async () => {})

/** @param {Orders} wanted */
export function obey(wanted) {
  orders = wanted
  away = new Set(wanted.without)
  calls = {}
  turns = wanted.turns ? takeTurns(wanted.turns, change) : null
}

/** Registers a listener that needs time to follow a change of turn. @param {typeof follow} listener */
export function onChange(listener) {
  follow = listener
}

/** @param {string[]} without */
function change(without) {
  away = new Set(without)
  return follow(without)
}

/** The orders and their effect: the orders alone would only echo what the lab sent. @returns {InForce} */
export function inForce() {
  return { ...orders, calls, rounds: turns?.rounds ?? [] }
}

/** @param {any} res the response, by which requestEnded identifies the request */
export function requestBegan(res) {
  res[END] = turns?.began()
}

/** Counts the end of a request once, whether its response or its handler ends first. @param {any} res */
export function requestEnded(res) {
  res[END]?.()
  res[END] = undefined
}

/** Whether a stage is removed; its hook asks once per call. @param {string} stage */
export function isAway(stage) {
  calls[stage] ??= { skipped: 0, passed: 0 }
  const is = away.has(stage)
  calls[stage][is ? 'skipped' : 'passed']++
  return is
}

/**
 * Wraps a function of the API: while its stage is removed, `instead` runs in its place.
 * @param {string} stage @param {(...args: any[]) => any} original @param {(...args: any[]) => any} instead
 */
export function hooked(stage, original, instead) {
  /** @this {any} @param {any[]} args */
  return function (...args) {
    if (isAway(stage)) return instead.apply(this, args)
    burn(stage)
    return original.apply(this, args)
  }
}

/** Burns the CPU time planted in a stage, if any. @param {string} stage */
export function burn(stage) {
  const slow_us = orders.slow_us[stage]
  if (slow_us) burn_us(slow_us)
}
