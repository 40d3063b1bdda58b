import { UsageError } from '../../../load/command/errors.js'
import { DRIVERS } from '../../../load/generators/drivers/index.js'

/**
 * @import { Driver } from '../../../load/generators/drivers/index.js'
 * @import { Side } from '../../knobs/sides.js'
 * @import { RampPlan } from './design.js'
 */

/** Names of the drivers that load in a closed loop. */
export const CLOSED = Object.keys(DRIVERS).filter((name) => DRIVERS[name].loop === 'closed')

/** Drivers that can check another one, and need no tool. */
const CHECKS = ['client', 'autocannon']

/** The drivers that are asked for; the first one answers. @param {Record<string, any>} given flags @param {Side[]} sides @returns {string[]} */
export function chosenDrivers(given, sides) {
  const isSecure = sides.some(({ url }) => url?.startsWith('https:'))
  const asked = given.driver ?? [isSecure ? 'client' : 'autocannon']
  return given['cross-check'] && asked.length === 1 ? [...new Set([...asked, 'wrk'])] : asked
}

/**
 * The drivers of a plan whose tools are installed. A cross-check goes on with one that needs none.
 * @param {Pick<RampPlan, 'drivers' | 'sides' | 'mix' | 'cross_checks'>} plan @param {Record<string, Driver>} [all]
 * @returns {Promise<{ drivers: Record<string, string>, missing: string[] }>} names with versions; why others are missing
 * @throws {UsageError} where none is left
 */
export async function presentDrivers({ drivers, sides, mix, cross_checks }, all = DRIVERS) {
  const urls = Object.values(sides).map((side) => side?.url ?? 'http://127.0.0.1/')
  /** @type {Record<string, string>} */
  const present = {}
  /** @type {UsageError[]} */
  const refusals = []
  for (const name of new Set([...drivers, ...(cross_checks ? CHECKS : [])])) {
    if (!drivers.includes(name) && Object.keys(present).length >= 2) continue
    try {
      for (const url of urls) all[name].check?.({ url, ...mix })
      present[name] = await all[name].version()
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      if (drivers.includes(name)) refusals.push(error)
    }
  }
  if (!drivers.some((name) => name in present)) throw refusals[0]
  return { drivers: present, missing: refusals.map(({ message }) => message) }
}
