import { PLANTED } from '../stages.js'

/**
 * What the lab wants, in the process of the API.
 *
 * @typedef {{ without: string[], slow_us: Record<string, number> }} Orders
 */

let away = new Set()

/** @type {Orders} */
let orders = { without: [], slow_us: {} }

/** @param {Orders} wanted */
export function obey(wanted) {
  orders = wanted
  away = new Set(wanted.without)
}

/** What is in force. */
export function inForce() {
  return orders
}

/** Whether a stage is away. @param {string} stage */
export function isAway(stage) {
  return away.has(stage)
}

/** Burns what was planted in a stage, if anything was. @param {string} stage */
export function burn(stage) {
  const slow_us = orders.slow_us[stage]
  if (!slow_us || away.has(PLANTED)) return
  for (const until_ms = performance.now() + slow_us / 1000; performance.now() < until_ms; );
}
