import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'dotenv'
import { UsageError } from '../../load/flags.js'
import { openUrl } from '../../load/targets/index.js'
import { openCell } from '../knobs/open-cell.js'
import { KNOBS } from '../knobs.js'

/**
 * One of two targets: a service that runs already, or the local API with the settings of a file, or with its defaults.
 *
 * @typedef {{ url: string, file: null } | { url: null, file: string | null }} Side
 */

/** A flag's `parse` and `expected`. */
export const SIDE = {
  parse: (/** @type {string} */ text) => {
    if (/^https?:\/\//.test(text)) return URL.canParse(text) ? { url: new URL(text).href, file: null } : undefined
    return existsSync(text) ? { url: null, file: text } : undefined
  },
  expected: 'the URL of a service that runs, or a file of settings for the local API (NAME=VALUE, a line each)',
}

/** @param {Side} side */
export function labelOf({ url, file }) {
  return url ?? file ?? 'the local API'
}

/**
 * @param {Side} side
 * @param {import('../../load/run.js').Place} place
 * @returns {Promise<import('../../load/targets/index.js').Target>}
 */
export async function openSide({ url, file }, place) {
  if (url) return openUrl(url)
  const settings = file === null ? {} : settingsOf(file)
  const levels = Object.fromEntries(Object.entries(settings).filter(([name]) => name in KNOBS))
  const others = Object.fromEntries(Object.entries(settings).filter(([name]) => !(name in KNOBS)))
  return openCell(levels, { ...place, env: { ...place.env, ...others } })
}

/** @param {string} file @returns {Record<string, string>} */
function settingsOf(file) {
  const settings = parse(readFileSync(file))
  for (const [name, level] of Object.entries(settings)) {
    if (name in KNOBS && !KNOBS[name].accepts(level)) {
      throw new UsageError(`${file}: expected ${name} to be ${KNOBS[name].expected}, got "${level}"`)
    }
  }
  return settings
}
