import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'dotenv'
import { SETTINGS } from '../../api/settings.js'
import { isValid } from '../../load/capacity/ladder.js'
import { NotApplied, UsageError } from '../../load/command/errors.js'
import { urlFlag } from '../../load/command/references.js'
import { openUrl } from '../../load/targets/index.js'
import { KNOBS } from './knobs.js'
import { openCell } from './open-cell.js'

/**
 * @import { Cell, TrialRecord } from '../../load/report/record.js'
 * @import { Place } from '../../load/run/site.js'
 */

/** Variables that a run itself sets for the API; in a file they would have no effect. */
const OF_THE_RUN = /^(DATABASE_URL|PG.*|HOST|PORT|ADMIN_HOST|ADMIN_PORT)$/

/**
 * The least warm-up of a side that the run has just started, as part of a step: cold, it takes up to twice the CPU per request, which would
 * be held against the side that is measured first. A quick run has no time for it.
 * @param {{ sides: Record<string, Side>, cold_warmup_s?: number }} plan @param {string} side
 */
export function coldWarmup({ sides, cold_warmup_s }, side) {
  return cold_warmup_s && sides[side].url === null ? { cold_warmup_s } : {}
}

/** Time that these warm-ups add to a run (s). @param {{ sides: Record<string, Side>, cold_warmup_s?: number, warmup_s: number, blocks: number }} plan */
export function coldWarmups_s(plan) {
  const own = Object.keys(plan.sides).map((side) => coldWarmup(plan, side).cold_warmup_s ?? plan.warmup_s)
  return plan.blocks * own.reduce((sum, cold_s) => sum + cold_s - plan.warmup_s, 0)
}

export const SIDE =
  'the URL of a running service (without user and password), or a file of settings for the local API (one NAME=VALUE per line)'

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

/** @param {Side} side */
export function labelOf({ url, shown_url, file }) {
  return shown_url ?? url ?? file ?? 'the local API'
}

/**
 * The reason why there is no trustworthy answer: no request to a side succeeded in any valid trial. Null if each side is fine, or excused.
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
 * @param {Side} side @param {Place} place @param {Cell} [changes] of the settings in its file
 * @throws {UsageError} if a setting could not be set, or is not what was read back: without the side there is no answer
 */
export async function openSide(side, place, changes) {
  const { url, shown_url: shownUrl, file } = side
  if (url) return openUrl(url, { shownUrl })
  return openCell({ ...(file === null ? {} : settingsOf(file)), ...changes }, place).catch((error) => {
    throw error instanceof NotApplied ? new UsageError(`${labelOf(side)}: ${error.message}`) : error
  })
}

/** The settings of a file. @param {string} file @returns {Cell} @throws {UsageError} for a setting that no side can have */
function settingsOf(file) {
  const settings = Object.entries(parse(readFileSync(file))).map(([name, text]) => {
    const knob = KNOBS[name]
    if (!knob && OF_THE_RUN.test(name))
      throw new UsageError(`${file}: expected no ${name}, which the run sets for both sides`)
    if (knob ? knob.by === 'generator' : !(name in SETTINGS)) {
      throw new UsageError(`${file}: expected settings of the API (see .env.example), got ${name}`)
    }
    const level = knob ? knob.parse(text) : text
    if (level === undefined) throw new UsageError(`${file}: expected ${name} to be ${knob.expected}, got "${text}"`)
    return [name, level]
  })
  return Object.fromEntries(settings)
}
