import { DRIVERS } from '../../load/drivers/index.js'
import { UsageError } from '../../load/flags.js'

const names = Object.keys(DRIVERS).filter((name) => DRIVERS[name].loop === 'closed')

/** A flag's `parse` and `expected`. */
export const LIST = {
  names,
  parse: (/** @type {string} */ text) => {
    const given = text.split(',')
    return given.every((name, i) => names.includes(name) && given.indexOf(name) === i) ? given : undefined
  },
  expected: `one or more of ${names.join(', ')}`,
}

/**
 * @param {Record<string, any>} given flags
 * @param {import('../compare/sides.js').Side[]} sides
 * @param {import('../../load/mix.js').MixPlan} mix
 * @returns {string[]}
 * @throws {UsageError} where a driver that was named cannot do it
 */
export function chosenDrivers(given, sides, mix) {
  const isSecure = sides.some(({ url }) => url?.startsWith('https:'))
  const asked = given.driver ?? [isSecure ? 'client' : 'autocannon']
  const second = ['wrk', 'client', 'autocannon'].find((name) => names.includes(name) && !asked.includes(name))
  const chosen = given['cross-check'] && asked.length === 1 && second ? [...asked, second] : asked
  for (const { url } of sides) {
    for (const name of url ? chosen : []) DRIVERS[name].check?.({ url: String(url), ...mix })
  }
  return chosen
}

/**
 * The drivers of a plan whose tools are there, with their versions.
 *
 * @param {{ drivers: string[] }} plan
 * @param {(text: string) => void} note told of each that is missing, and how to have it
 * @returns {Promise<Record<string, string>>}
 * @throws {UsageError} where none is left
 */
export async function presentDrivers({ drivers }, note) {
  /** @type {Record<string, string>} */
  const present = {}
  /** @type {string[]} */
  const missing = []
  for (const name of drivers) {
    try {
      present[name] = await DRIVERS[name].version()
    } catch (error) {
      const { message } = /** @type {Error} */ (error)
      missing.push(message)
      note(`without ${name}: ${message}`)
    }
  }
  if (Object.keys(present).length === 0)
    throw new UsageError(`--driver: expected one that is there; ${missing.join('; ')}`)
  return present
}
