import { SETTINGS } from '../../api/settings.js'
import { NotApplied } from '../command/errors.js'
import { ADDED_RTT } from '../system/between.js'

/**
 * @import { Place } from '../targets/index.js'
 * @import { Cell, KernelProbe, Plan, TrialRecord } from '../report/record.js'
 */

/** Upper bound for POOL_MAX: our Postgres allows 200 connections by default, and others need some of them. */
const MOST_CONNECTIONS = 150

/**
 * The causal check: relax a limit that we can set by one notch, large enough to stand out from the noise, and repeat the trial at the
 * edge. Relaxing the true limit moves the capacity; relaxing one that was only correlated does not.
 * @type {Record<string, (settings: Settings, kernel: Partial<KernelProbe>) => Cell | null>}
 * @typedef {Record<string, string | number | null>} Settings as the service reported them
 */
const NOTCHES = {
  'pool-size': times('POOL_MAX', 4, MOST_CONNECTIONS),
  'pool-timeout': times('POOL_CONNECT_TIMEOUT_MS', 100),
  nofile: times('NOFILE', 16),
  'max-connections': times('MAX_CONNECTIONS', 16),
  'accept-queue': (settings, { somaxconn }) => {
    // The kernel cuts a larger backlog down to this, so where it is the bound, relaxing ours would show nothing.
    const isOurs = !somaxconn || somaxconn >= LEAST_LONGER * Number(settings.LISTEN_BACKLOG)
    return isOurs ? times('LISTEN_BACKLOG', 512, SETTINGS.LISTEN_BACKLOG.max)(settings) : null
  },
  'keep-alive-race': ({ KEEP_ALIVE_TIMEOUT_MS: own_ms }) => {
    const usual_ms = SETTINGS.KEEP_ALIVE_TIMEOUT_MS.default
    return Number(own_ms) < usual_ms ? { KEEP_ALIVE_TIMEOUT_MS: usual_ms } : null
  },
  // libuv's threads wait for a core. JavaScript has only one thread and gains nothing from a second core.
  'api-threadpool': () => ({ CORES: 'all' }),
  'api-gc': () => ({ HEAP: 'large' }),
}

/** An accept queue must become so many times longer for its relaxing to stand out from the noise. */
const LEAST_LONGER = 2

/** Node uses the last of repeated flags, so these override earlier ones. */
const LARGE_HEAP = ['--max-old-space-size=2048', '--max-semi-space-size=64']

/**
 * The cell that relaxes a limit, such as { POOL_MAX: 4 }; null: no setting of ours, or none that would change anything.
 * @param {string | null | undefined} resource @param {Pick<TrialRecord, 'settings' | 'probes'> | undefined} seen a trial before
 */
export function relaxedCell(resource, seen) {
  return seen ? (NOTCHES[resource ?? '']?.(seen.settings, seen.probes.kernel) ?? null) : null
}

/**
 * Applies a cell to the place of a target.
 * @template {Place & { allCores: string | null }} P
 * @param {P} place @param {Cell | null} cell null: no change @returns {P}
 */
export function relaxed(place, cell) {
  if (!cell) return place
  const [[name, value]] = Object.entries(cell)
  if (name === ADDED_RTT) return { ...place, added_rtt_ms: Number(value) }
  if (name === 'NOFILE') return { ...place, nofile: Number(value) }
  if (name === 'CORES' && place.allCores === null)
    throw new NotApplied('more cores: expected a service that is pinned to one, got one that may use them all')
  if (name === 'CORES') return { ...place, cores: place.allCores }
  if (name === 'HEAP') return { ...place, nodeFlags: [...(place.nodeFlags ?? []), ...LARGE_HEAP] }
  return { ...place, env: { ...place.env, [name]: String(value) } }
}

/**
 * The plan for a target with this cell: where the target allows more connections, the generator may open more.
 * @template {Pick<Plan, 'target_connections_max'>} P @param {Cell | null} cell @param {P} plan @returns {P}
 */
export function planWith(cell, plan) {
  const { MAX_CONNECTIONS: allowed } = cell ?? {}
  return allowed === undefined ? plan : { ...plan, target_connections_max: Number(allowed) }
}

/** Ratio of goodputs that exceeds the noise between two overloaded trials. */
const GAIN = 1.2

/**
 * Whether relaxing the limit moved the capacity: the target must meet the SLO where it missed it before, or complete clearly more.
 * Returns null if too few trials are valid. Pure.
 * @param {Pick<TrialRecord, 'outcome' | 'cell' | 'traffic'>[]} trials before (cell null) and after relaxing
 */
export function moved(trials) {
  const valid = trials.filter(({ outcome }) => outcome.verdict !== 'invalid')
  const before = valid.filter(({ cell }) => cell === null)
  const after = valid.filter(({ cell }) => cell !== null)
  if (before.length === 0 || after.length === 0) return null
  if (before.some(({ outcome }) => outcome.verdict === 'pass')) return false
  const most_rps = Math.max(...before.map(({ traffic }) => traffic.goodput_rps))
  const better = after.filter((one) => one.outcome.verdict === 'pass' || one.traffic.goodput_rps >= GAIN * most_rps)
  return better.length * 2 > after.length
}

/** @param {string} name @param {number} factor @param {number} [most] @returns {(settings: Settings) => Cell | null} */
function times(name, factor, most = Number.MAX_SAFE_INTEGER) {
  return ({ [name]: value }) => {
    return typeof value === 'number' && value < most ? { [name]: Math.min(value * factor, most) } : null
  }
}
