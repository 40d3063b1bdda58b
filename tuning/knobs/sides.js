import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'dotenv'
import { isValid } from '../../load/capacity/ladder.js'
import { NotApplied, UsageError } from '../../load/command/errors.js'
import { urlFlag } from '../../load/command/references.js'
import { openUrl } from '../../load/targets/index.js'
import { KNOBS } from './knobs.js'
import { openCell } from './open-cell.js'

/**
 * @import { Cell, TrialRecord } from '../../load/report/record.js'
 * @import { Place } from '../../load/run/site.js'
 * @import { Target } from '../../load/targets/index.js'
 */

/** What a run itself sets for the API; in a file it would have no effect. */
const OF_THE_RUN = /^(DATABASE_URL|PG.*|HOST|PORT|ADMIN_HOST|ADMIN_PORT)$/

/**
 * One of two targets: a service that already runs, or the local API with the settings of a file, or with its defaults.
 * @typedef {{ url: string, shown_url?: string, file: null } | { url: null, shown_url?: undefined, file: string | null }} Side
 *   shown_url: the URL without its secrets; a kept plan has only this one, as its url
 */

/** A flag that names a side. @param {string} flag */
export function sideFlag(flag) {
  const { parse: parseUrl, shown } = urlFlag(flag, '')
  return {
    /** @param {string} text @returns {Side | undefined} @throws {UsageError} if a file has settings that no side can have */
    parse: (text) => {
      if (/^(https?:\/\/|\{\{)/i.test(text)) {
        const url = parseUrl(text)
        return url ? { url, file: null } : undefined
      }
      if (!existsSync(text)) return undefined
      settingsOf(text)
      return { url: null, file: text }
    },
    expected: SIDE,
    shown,
  }
}

export const SIDE =
  'the URL of a service that runs, or a file of settings for the local API (NAME=VALUE, a line each); a URL without user and password'

/** @param {Side} side */
export function labelOf({ url, shown_url, file }) {
  return shown_url ?? url ?? file ?? 'the local API'
}

/**
 * Why there is no trustworthy answer: no request to a side succeeded in any valid trial; null: each side is fine, or excused.
 * @param {TrialRecord[]} records @param {string[]} sides @param {(side: string) => boolean} [isExcused]
 */
export function silentSide(records, sides, isExcused = () => false) {
  const answered = records.filter((record) => isValid(record) && record.traffic.ok > 0)
  const silent = sides.find((side) => !answered.some(({ cell }) => cell.side === side) && !isExcused(side))
  if (!silent) return null
  const last = records.findLast(({ cell }) => cell.side === silent)
  return `${silent.toUpperCase()} answered not one request with success in a valid trial: ${last?.outcome.because ?? 'no trial'}`
}

/**
 * @param {Side} side
 * @param {Place} place
 * @returns {Promise<Target>}
 * @throws {UsageError} if a setting could not be set, or is not what was read back: without the side there is no answer
 */
export async function openSide(side, place) {
  const { url, shown_url: shownUrl, file } = side
  if (url) return openUrl(url, { shownUrl })
  const { levels, others } = file === null ? { levels: {}, others: {} } : settingsOf(file)
  const target = await openCell(levels, { ...place, env: { ...place.env, ...others } }).catch((error) => {
    throw error instanceof NotApplied ? new UsageError(`${labelOf(side)}: ${error.message}`) : error
  })
  const ignored = ignoredSetting(others, target.settings)
  if (!ignored) return target
  await target.stop()
  throw new UsageError(`${labelOf(side)}: ${ignored}`)
}

/** What is wrong with the first setting that is not in force. Pure. @param {Record<string, string>} asked @param {Target['settings']} found */
export function ignoredSetting(asked, found) {
  for (const [name, value] of Object.entries(asked)) {
    if (!(name in found)) return `expected settings of the API (see .env.example), got ${name}`
    if (String(found[name]) !== value) return `${name}: expected ${value} when it was read back, got ${found[name]}`
  }
  return null
}

/** The settings of a file, those that are knobs apart. @param {string} file @throws {UsageError} */
function settingsOf(file) {
  /** @type {Cell} */
  const levels = {}
  /** @type {Record<string, string>} */
  const others = {}
  for (const [name, text] of Object.entries(parse(readFileSync(file)))) {
    if (OF_THE_RUN.test(name)) throw new UsageError(`${file}: expected no ${name}, which the run sets for both sides`)
    const knob = KNOBS[name]
    if (knob?.by === 'generator') {
      throw new UsageError(`${file}: expected settings of the API, got ${name}, which is one of the generator`)
    }
    const level = knob?.parse(text)
    if (knob && level === undefined) {
      throw new UsageError(`${file}: expected ${name} to be ${knob.expected}, got "${text}"`)
    }
    if (level === undefined) others[name] = text
    else levels[name] = level
  }
  return { levels, others }
}
