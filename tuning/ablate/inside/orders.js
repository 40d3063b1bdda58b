import { PLANTED } from '../stages.js'

/**
 * What the lab wants, in the process of the API.
 *
 * @typedef {{ without: string[], slow_us: Record<string, number> }} Orders
 *
 * @typedef {Orders & { calls: Record<string, Calls> }} InForce
 * @typedef {{ skipped: number, passed: number }} Calls of a stage, since the orders came
 */

let away = new Set()

/** @type {Orders} */
let orders = { without: [], slow_us: {} }

/** @type {Record<string, Calls>} */
let calls = {}

/** @param {Orders} wanted */
export function obey(wanted) {
  orders = wanted
  away = new Set(wanted.without)
  calls = {}
}

/** What is in force, and what it did: an order alone would only be our own words again. @returns {InForce} */
export function inForce() {
  return { ...orders, calls }
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
  for (const until_ms = performance.now() + slow_us / 1000; performance.now() < until_ms; );
}
