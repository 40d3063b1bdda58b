/** @import { ProgramEntry } from './mix.js' */

/** Values kept of each name: the latest, from which one is drawn. */
const KEPT = 1000
const VALUE_MAX_CHARACTERS = 4096

/**
 * Values that requests take from the responses to earlier ones: `"take": {"id": "/user/id"}` (JSON Pointer, RFC 6901) is what
 * `{{taken id}}` stands for.
 */
export class TakenValues {
  /** @type {Map<string, { entry: ProgramEntry, values: string[], count: number }>} */
  #byName = new Map()

  /** @param {ProgramEntry[]} entries without two that take the same name, and none that needs what nobody takes */
  constructor(entries) {
    for (const entry of entries) {
      for (const name of Object.keys(entry.take ?? {})) this.#byName.set(name, { entry, values: [], count: 0 })
    }
  }

  get isEmpty() {
    return this.#byName.size === 0
  }

  /** The entry itself, or the one whose response it has to wait for. @param {ProgramEntry} entry @returns {ProgramEntry} */
  readyFor(entry) {
    const lacking = entry.needs?.map((name) => this.#of(name)).find(({ count }) => count === 0)
    return lacking ? this.readyFor(lacking.entry) : entry
  }

  /** One of the latest values of a name. @param {string} name @param {number} random */
  one = (name, random) => {
    const { values } = this.#of(name)
    return values[Math.floor(random * values.length)]
  }

  /** Takes values from the body of a response. @param {Record<string, string>} pointers by name @returns {(body: string) => boolean} false: it lacks one */
  takerFor(pointers) {
    return (body) => {
      const found = Object.entries(pointers).map(
        ([name, pointer]) => /** @type {const} */ ([name, valueAt(body, pointer)]),
      )
      for (const [name, value] of found) {
        const kept = this.#of(name)
        if (value !== null) kept.values[kept.count++ % KEPT] = value
      }
      return found.every(([, value]) => value !== null)
    }
  }

  /** @param {string} name */
  #of(name) {
    return /** @type {{ entry: ProgramEntry, values: string[], count: number }} */ (this.#byName.get(name))
  }
}

/** A text or a number in a JSON document; null: there is none that a request can hold. @param {string} body @param {string} pointer */
function valueAt(body, pointer) {
  try {
    const steps = pointer.split('/').slice(1)
    const found = steps.reduce(
      (value, step) => Object(value)[step.replaceAll('~1', '/').replaceAll('~0', '~')],
      JSON.parse(body),
    )
    const text = ['string', 'number'].includes(typeof found) ? String(found) : ''
    // Half of a character fits into no URL, and a line break would end a header.
    if (text === '' || text.length > VALUE_MAX_CHARACTERS || !text.isWellFormed()) return null
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters meant
    return !/[\u0000-\u001f\u007f]/.test(text) ? text : null
  } catch {
    return null
  }
}
