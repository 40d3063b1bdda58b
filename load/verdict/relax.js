import { SETTINGS } from '../../api/settings.js'

/**
 * @import { Place } from '../targets/index.js'
 * @import { Cell, TrialRecord } from '../report/record.js'
 */

/**
 * The causal check: a limit that is a knob of ours is relaxed by one notch, and the edge is run again. What stood beside
 * the limit by chance does not move the capacity; the limit does. Pure.
 */

/** Of a pool: Postgres has 200 unless it is told otherwise, and others want some, too. */
const MOST_CONNECTIONS = 150

/** One notch has to be felt: half a notch would drown in noise. @type {Record<string, (settings: Settings) => Cell | null>} */
const NOTCHES = {
  'pool-size': times('POOL_MAX', 4, MOST_CONNECTIONS),
  'pool-timeout': times('POOL_CONNECT_TIMEOUT_MS', 100),
  nofile: times('NOFILE', 16),
  'max-connections': times('MAX_CONNECTIONS', 16),
  'accept-queue': times('LISTEN_BACKLOG', 512, SETTINGS.LISTEN_BACKLOG.max),
  'keep-alive-race': () => ({ KEEP_ALIVE_TIMEOUT_MS: SETTINGS.KEEP_ALIVE_TIMEOUT_MS.default }),
  // Its threads wait for a core; JavaScript itself has but one thread, and gains nothing by a second core.
  'api-threadpool': () => ({ CORES: 'all' }),
  'api-gc': () => ({ HEAP: 'large' }),
}

/** The last of the same flags counts for Node. */
const LARGE_HEAP = ['--max-old-space-size=2048', '--max-semi-space-size=64']

/** @typedef {Record<string, string | number | null>} Settings as they were read back */

/** The cell in which a limit is relaxed, such as { POOL_MAX: 4 }; null: no knob of ours. @param {string | null | undefined} resource @param {Settings} settings */
export function relaxedCell(resource, settings) {
  return NOTCHES[resource ?? '']?.(settings) ?? null
}

/**
 * The place of a target, with the limit relaxed that the cell names.
 *
 * @template {Place & { allCores: string | null }} P
 * @param {P} place
 * @param {Cell | null} cell null: as it is
 * @returns {P}
 */
export function relaxed(place, cell) {
  if (!cell) return place
  const [[name, value]] = Object.entries(cell)
  if (name === 'NOFILE') return { ...place, nofile: Number(value) }
  if (name === 'CORES') return { ...place, cores: place.allCores }
  if (name === 'HEAP') return { ...place, nodeFlags: [...(place.nodeFlags ?? []), ...LARGE_HEAP] }
  return { ...place, env: { ...place.env, [name]: String(value) } }
}

/** More than the noise between two trials that offer too much. */
const GAIN = 1.2

/**
 * What the runs of the edge say: relaxed, it has to hold where it did not hold before, or to let clearly more through.
 *
 * @param {Pick<TrialRecord, 'outcome' | 'cell' | 'traffic'>[]} trials as it was (cell null) and relaxed
 * @returns {boolean | null} null: they do not say
 */
export function moved(trials) {
  const valid = trials.filter(({ outcome }) => outcome.verdict !== 'invalid')
  const before = valid.filter(({ cell }) => cell === null)
  const after = valid.filter(({ cell }) => cell !== null)
  if (before.length === 0 || after.length === 0) return null
  if (before.some(({ outcome }) => outcome.verdict === 'pass')) return false
  const most_rps = Math.max(...before.map(({ traffic }) => traffic.goodput_rps))
  const better = after.filter(({ outcome, traffic }) => {
    return outcome.verdict === 'pass' || traffic.goodput_rps >= GAIN * most_rps
  })
  return better.length * 2 > after.length
}

/** @param {string} name @param {number} factor @param {number} [most] @returns {(settings: Settings) => Cell | null} */
function times(name, factor, most = Number.MAX_SAFE_INTEGER) {
  return ({ [name]: value }) => {
    return typeof value === 'number' && value < most ? { [name]: Math.min(value * factor, most) } : null
  }
}
