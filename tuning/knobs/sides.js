import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'dotenv'
import { SETTINGS } from '../../api/settings.js'
import { isValid } from '../../load/capacity/ladder.js'
import { NotApplied, UsageError } from '../../load/command/errors.js'
import { urlFlag } from '../../load/command/references.js'
import { refuseLone, SSH_FLAGS, sshPlanOf } from '../../load/system/ssh/plan.js'
import { openUrl } from '../../load/targets/index.js'
import { KNOBS } from './knobs.js'
import { openCell } from './open-cell.js'

/**
 * @import { Flag } from '../../load/command/flags.js'
 * @import { Cell, TrialRecord } from '../../load/report/record.js'
 * @import { Place } from '../../load/run/site.js'
 * @import { SshPlan } from '../../load/system/ssh/plan.js'
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
  "the URL of a running service (without user and password), or a file of settings for Redline's API (one NAME=VALUE per line)"

/**
 * One of two targets: a service that already runs, or the API with the settings of a file, or with its defaults.
 * @typedef {{ url: string, shown_url?: string, file: null, ssh?: undefined } |
 *   { url: null, shown_url?: undefined, file: string | null, ssh?: SshPlan }} Side shown_url: the URL without its secrets; a kept plan
 *   has only this one, as its url; ssh: the host on which the API runs, by default this one
 */

/** The local API with its defaults. @type {Side} */
export const LOCAL_SIDE = { url: null, file: null }

/** Flags for the hosts of the sides. @satisfies {Record<string, Flag>} */
export const SIDE_HOST_FLAGS = {
  'ssh-a': {
    ...SSH_FLAGS.ssh,
    about:
      'run A on that host and load it from here: the API, with the file of --a or its defaults; requires --database-url',
  },
  'ssh-b': { ...SSH_FLAGS.ssh, about: 'the same for B; both may be on one host, and share the database' },
  'ssh-config': SSH_FLAGS['ssh-config'],
  'ssh-port': { ...SSH_FLAGS['ssh-port'], about: SSH_FLAGS['ssh-port'].about.replace('that host', 'these hosts') },
}

/**
 * The sides of a command line. One that has a host needs no file: it has the API's defaults.
 * @param {Record<string, any>} flags parsed by sideFlag and SIDE_HOST_FLAGS @returns {{ a?: Side, b?: Side }}
 * @throws {UsageError} if flags contradict each other
 */
export function sidesOf(flags) {
  if (!flags['ssh-a'] && !flags['ssh-b']) refuseLone(flags, '--ssh-a or --ssh-b')
  const sides = ['a', 'b'].flatMap((name) => {
    const [side, host] = [flags[name], flags[`ssh-${name}`]]
    if (!host) return side ? [[name, side]] : []
    if (side?.url)
      throw new UsageError(
        `--ssh-${name}: expected --${name} to be a file of settings, or left out, got a URL, whose service runs already`,
      )
    return [[name, { ...LOCAL_SIDE, ...side, ssh: sshPlanOf({ ...flags, ssh: host }) }]]
  })
  return Object.fromEntries(sides)
}

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
export function labelOf({ url, shown_url, file, ssh }) {
  if (ssh) return `${file ?? 'the API'} on ${ssh.host}`
  return shown_url ?? url ?? file ?? 'the local API'
}

/** Number of valid trials in a row without a success after which a side counts as stopped. */
const STOPPED_TRIALS = 4

/** Whether a side stopped answering, so that measuring it further is a waste of time. @param {TrialRecord[]} records @param {string} side */
export function hasStopped(records, side) {
  const last = records.filter((record) => record.cell.side === side && isValid(record)).slice(-STOPPED_TRIALS)
  return last.length === STOPPED_TRIALS && last.every(({ traffic }) => traffic.ok === 0)
}

/**
 * The reason why there is no trustworthy answer: no request to a side succeeded in any valid trial, or none does any more. Null if each side
 * is fine, or excused.
 * @param {TrialRecord[]} records @param {string[]} sides @param {(side: string) => boolean} [isExcused]
 */
export function silentSide(records, sides, isExcused = () => false) {
  const answered = records.filter((record) => isValid(record) && record.traffic.ok > 0)
  const hasAnswered = (/** @type {string} */ side) => answered.some(({ cell }) => cell.side === side)
  const silent = sides.find((side) => !isExcused(side) && (!hasAnswered(side) || hasStopped(records, side)))
  if (!silent) return null
  const [name, last] = [silent.toUpperCase(), records.findLast(({ cell }) => cell.side === silent)]
  return hasAnswered(silent)
    ? `${name} stopped answering: no request of its last ${STOPPED_TRIALS} trials succeeded (${last?.outcome.because})`
    : `${name} answered not one request with success in a valid trial: ${last?.outcome.because ?? 'no trial'}`
}

/**
 * @param {Side} side @param {Place} place @param {Cell} [changes] of the settings in its file
 * @throws {UsageError} if a setting could not be set, or is not what was read back: without the side there is no answer
 */
export async function openSide(side, place, changes) {
  const { url, shown_url: shownUrl, file } = side
  if (url) return openUrl(url, { shownUrl })
  const settings = { ...(file === null ? {} : settingsOf(file)), ...changes }
  return openCell(settings, placeOf(side, place)).catch((error) => {
    throw error instanceof NotApplied ? new UsageError(`${labelOf(side)}: ${error.message}`) : error
  })
}

/** The place where the API of a side runs: on this machine, or on the side's host. @param {Side} side @param {Place} place @returns {Place} */
export function placeOf({ ssh }, place) {
  if (!ssh) return place
  const there = place.places?.[ssh.host]
  if (!there) throw new Error(`expected a connection to ${ssh.host}, got none`)
  return there
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
