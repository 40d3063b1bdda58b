import { DRIVERS } from '../../../load/generators/drivers/index.js'

/**
 * @import { Driver } from '../../../load/generators/drivers/index.js'
 * @import { Side } from '../../knobs/sides.js'
 * @import { RampPlan } from './design.js'
 */

/** Names of the drivers that load in a closed loop. */
export const CLOSED = Object.keys(DRIVERS).filter((name) => DRIVERS[name].loop === 'closed')

/** The drivers that are asked for; the first one answers. @param {Record<string, any>} given flags @param {Side[]} sides @returns {string[]} */
export function chosenDrivers(given, sides) {
  const isSecure = sides.some(({ url }) => url?.startsWith('https:'))
  const asked = given.driver ?? [isSecure ? 'client' : 'autocannon']
  return given['cross-check'] && asked.length === 1 ? [...new Set([...asked, 'wrk'])] : asked
}

/**
 * The versions of a plan's drivers, by name.
 * @param {Pick<RampPlan, 'drivers' | 'sides' | 'mix'>} plan @param {Record<string, Driver>} [all]
 * @returns {Promise<Record<string, string>>} @throws {UsageError} for one that cannot load a side, or whose tool is not installed
 */
export async function versionsOf({ drivers, sides, mix }, all = DRIVERS) {
  const versions = drivers.map(async (name) => {
    for (const { url } of Object.values(sides)) all[name].check?.({ url: url ?? 'http://127.0.0.1/', ...mix })
    return [name, await all[name].version()]
  })
  return Object.fromEntries(await Promise.all(versions))
}
