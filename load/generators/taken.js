import { attempt } from '../../sql/attempt.js'

/** @import { ProgramEntry } from './mix.js' */

/** Number of values kept per name: a request draws one of the latest. */
const KEPT = 1000
const VALUE_MAX_CHARACTERS = 4096

/**
 * Values that requests take from earlier responses: `"take": {"id": "/user/id"}` (JSON Pointer, RFC 6901) supplies the values
 * of `{{taken id}}`.
 */
export class TakenValues {
  /** @type {Map<string, { entry: ProgramEntry, values: string[], count: number }>} */
  #byName = new Map()

  /** @param {ProgramEntry[]} entries exactly one takes each name that any of them takes or needs */
  constructor(entries) {
    for (const entry of entries) {
      for (const name of Object.keys(entry.take ?? {})) this.#byName.set(name, { entry, values: [], count: 0 })
    }
  }

  get isEmpty() {
    return this.#byName.size === 0
  }

  /** Returns the entry itself, or the one whose response it has to wait for. @param {ProgramEntry} entry @returns {ProgramEntry} */
  readyFor(entry) {
    const lacking = entry.needs?.map((name) => this.#of(name)).find(({ count }) => count === 0)
    return lacking ? this.readyFor(lacking.entry) : entry
  }

  /** Returns one of the latest values of a name. @param {string} name @param {number} random */
  one = (name, random) => {
    const { values } = this.#of(name)
    return values[Math.floor(random * values.length)]
  }

  /** Takes values from a response body. @param {Record<string, string>} pointers by name @returns {(body: string) => boolean} false: one is missing */
  takerFor(pointers) {
    return (body) => {
      const found = Object.entries(pointers).map(([name, pointer]) => ({ name, value: valueAt(body, pointer) }))
      for (const { name, value } of found) {
        const kept = this.#of(name)
        if (value !== null) kept.values[kept.count++ % KEPT] = value
      }
      return found.every(({ value }) => value !== null)
    }
  }

  /** @param {string} name */
  #of(name) {
    return /** @type {{ entry: ProgramEntry, values: string[], count: number }} */ (this.#byName.get(name))
  }
}

/** Returns a text or a number from a JSON document; null if none fits into a request. @param {string} body @param {string} pointer */
function valueAt(body, pointer) {
  const steps = pointer.split('/').slice(1)
  const names = steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const document = attempt(() => JSON.parse(body), undefined)
  const found = names.reduce(memberOf, document)
  const text = ['string', 'number'].includes(typeof found) ? String(found) : ''
  // A lone surrogate fits into no URL, and a line break would end a header.
  if (text === '' || text.length > VALUE_MAX_CHARACTERS || !text.isWellFormed()) return null
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters meant
  return !/[\u0000-\u001f\u007f]/.test(text) ? text : null
}

/** Returns a member of an object, or an element of an array; undefined for all else, such as an array's length. @param {unknown} value @param {string} name */
function memberOf(value, name) {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(name)) return undefined
  return /** @type {Record<string, unknown>} */ (value)[name]
}
