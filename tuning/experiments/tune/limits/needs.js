import { COLD_WARMUP_S, isSettled, isValid } from '../../../../load/capacity/ladder.js'
import { of } from '../../../../load/capacity/of-records.js'
import { nextOfProof } from '../../../../load/capacity/proving.js'
import { count, isSameCell, milliseconds } from '../../../../load/report/format.js'
import { factorial } from '../../../stats/design.js'
import { matrixOf, OFFERED } from '../presets.js'

/**
 * @import { NotAppliedCell, Step, TrialRecord } from '../../../../load/report/record.js'
 * @import { Factor } from '../../../stats/design.js'
 * @import { Effect } from '../../../stats/effects.js'
 * @import { TunePlan } from '../design.js'
 */

/** One unnamed statement per row, as in the article, and no waiting request is refused: nothing hides the effects of the three knobs. */
export const SERVICE = Object.freeze({
  INSERT_MODE: 'single',
  MAX_QUEUE_MS: 0,
  MAX_QUEUE_REQUESTS: 1_000_000,
  MAX_LOOP_DELAY_MS: 0,
})

/** The article's larger pool and its longer timeout. */
const GENEROUS = Object.freeze({ POOL_MAX: 40, POOL_CONNECT_TIMEOUT_MS: 30_000 })
/** Cell of the trials before the matrix. */
export const GENEROUS_CELL = Object.freeze({ ...SERVICE, ...GENEROUS })

/** The usual number of cells, for an estimate. @param {boolean} [isQuick] */
export const expectedCells = (isQuick) => Array.from({ length: isQuick ? 2 * 2 * 2 : 3 * 2 * 3 }, (_, nth) => ({ nth }))

/** The closed loops of both designs. */
export const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, connections: 128 }
const OPEN = { driver: 'paced', loop: /** @type {const} */ ('open') }
const PEAK_LOAD = { ...CLOSED, warmup_s: COLD_WARMUP_S, duration_s: 4 }
const NEED_S = 2
const WARMUP_S = 0.5
/** Duration of both first trials, with their pauses. */
export const FIRST_S = 16
/** Rate that the proof offers, as a share of the closed loop's throughput. */
const OVERLOAD = 1.25

/**
 * Needs of the service on this machine, read from two trials.
 * @typedef {{ capacity_rps: number, statement_ms: number, busy: number, wait_ms: number, open_files: number, nofile: number }} Needs
 *   capacity: of a closed loop; busy: database connections at that rate, by Little's law; wait: for a database connection if
 *   all client connections wait for one; nofile: the service's own limit of open files
 */

/** @param {TunePlan} plan @param {TrialRecord[]} records @returns {Needs | null} null if not measured yet, or in vain */
export function needsOf(plan, records) {
  const capacity_rps = plan.capacity_rps ?? firstOf(records, 'peak')?.traffic.goodput_rps
  const seen = firstOf(records, 'need')
  if (!capacity_rps || !seen) return null
  const { statement_mean_ms = 0, open_files = 0 } = seen.probes.api
  return {
    capacity_rps,
    statement_ms: statement_mean_ms,
    busy: (capacity_rps * statement_mean_ms) / 1000,
    wait_ms: (1000 * plan.connections[0]) / capacity_rps,
    open_files,
    nofile: Number(seen.settings.NOFILE),
  }
}

/**
 * Levels at which each knob can take effect: a generous reference, one above the need (except for the timeout), and one below it.
 * @param {Needs} needs @returns {Factor[]}
 */
export function levelsOf({ busy, wait_ms, open_files, nofile }) {
  const all = {
    POOL_MAX: [Math.max(GENEROUS.POOL_MAX, rounded(4 * busy)), Math.max(2, Math.ceil(2 * busy)), Math.floor(busy / 2)],
    POOL_CONNECT_TIMEOUT_MS: [GENEROUS.POOL_CONNECT_TIMEOUT_MS, wait_ms / 2],
    NOFILE: [nofile, ...[1.2 * open_files, 0.7 * open_files].filter((level) => level < nofile)],
  }
  return Object.entries(all).map(([name, [reference, ...others]]) => {
    return { name, levels: [...new Set([reference, ...others.map((level) => Math.max(1, rounded(level)))])] }
  })
}

/**
 * The plan with the levels that follow from its first trials. Returns a plan with levels of its own unchanged.
 * @param {TunePlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied
 * @returns {TunePlan | null} null if its first trials are not done, or failed
 */
export function settledPlan(plan, records, notApplied = []) {
  if (plan.preset !== 'limits') return plan
  const needs = needsOf(plan, records)
  if (!needs) return null
  const all = levelsOf(needs).map(({ name, levels }) => {
    return { name, levels: plan.is_quick ? [...new Set([levels[0], levels[levels.length - 1]])] : levels }
  })
  // If the limit of open files cannot be set, as on macOS, the other knobs still can.
  const isSettable = !notApplied.some(({ cell }) => cell.NOFILE === needs.nofile)
  const knobs = all.filter(({ name }) => name !== 'NOFILE' || isSettable)
  const cells = factorial(knobs).map((cell) => ({ ...SERVICE, ...cell }))
  // With a knob less, as many blocks have fewer pairs.
  const keepsBlocks = isSettable || plan.is_quick || plan.blocks < 2
  const blocks = keepsBlocks ? plan.blocks : Math.max(plan.blocks, matrixOf(knobs).blocks)
  return { ...plan, blocks, knobs, cells, anchor: cells[0], capacity_rps: needs.capacity_rps }
}

/**
 * The trials before the matrix: a closed loop, a light load, and the proof. Pure.
 * @param {TunePlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied @returns {Step | null}
 */
export function firstStep(plan, records, notApplied) {
  const cell = GENEROUS_CELL
  if (notApplied.some((one) => isSameCell(one.cell, cell))) return null
  const at = (/** @type {string} */ phase) => ({ at: { phase }, cell, left_s: FIRST_S })
  const [connections] = plan.connections
  if (plan.capacity_rps === null && !isSettled(of(records, 'peak'))) {
    return { ...at('peak'), about: "a closed loop's throughput", load: PEAK_LOAD }
  }
  const capacity_rps = plan.capacity_rps ?? firstOf(records, 'peak')?.traffic.goodput_rps
  if (!capacity_rps) return null
  if (!isSettled(of(records, 'need'))) {
    const rate_rps = Math.max(1, Math.round(OFFERED.below * capacity_rps))
    const load = { ...OPEN, rate_rps, connections, warmup_s: WARMUP_S, duration_s: NEED_S }
    return { ...at('need'), about: 'how many database connections and files it needs', load }
  }
  const seen = firstOf(records, 'need')
  if (!seen || !plan.proves) return null
  const load = { ...OPEN, rate_rps: Math.round(OVERLOAD * capacity_rps), connections }
  return nextOfProof({ ...plan, warmup_s: WARMUP_S }, records, { seen, load })
}

/** The valid trial of a phase. @param {TrialRecord[]} records @param {string} phase */
function firstOf(records, phase) {
  return of(records, phase).find(isValid)
}

/** Rounds to two significant digits. @param {number} value */
function rounded(value) {
  return Math.round(Number(value.toPrecision(2)))
}

/**
 * The smallest level above the need, if no measure tells it from the reference, which is larger; otherwise null.
 * @param {Factor} knob @param {number} need @param {(Pick<Effect, 'level' | 'tied' | 'high'>)[]} effects of all its levels on all measures
 */
export function enoughOf({ levels: [reference, ...others] }, need, effects) {
  const least = Math.min(...others.map(Number).filter((level) => level > need))
  const own = effects.filter(({ level }) => level === least)
  const isTied = own.length > 0 && own.every(({ tied, high }) => tied && Number.isFinite(high))
  return isTied ? { enough: least, most: Number(reference) } : null
}

/**
 * Reasons for each knob's effect.
 * @param {Needs} needs @param {number} connections of the clients @param {ReturnType<typeof enoughOf>} pool sizes that do the same
 * @returns {Record<string, string>}
 */
export function reasonsOf({ capacity_rps, statement_ms, busy, wait_ms, open_files }, connections, pool) {
  const same =
    pool &&
    ` No difference between ${pool.enough} and ${pool.most} was measured: ${pool.enough} seem to be enough here, and ${pool.most} do no measurable harm.`
  return {
    POOL_MAX: `By Little's law, ${count(Math.round(capacity_rps))}/s x ${milliseconds(statement_ms)} keeps ${busy.toFixed(1)} database connections busy on average: with more, requests wait in Postgres instead of in the service.${same ?? ''}`,
    POOL_CONNECT_TIMEOUT_MS: `If all ${count(connections)} client connections wait at once, the last waits for ${milliseconds(wait_ms)} at that rate: a longer timeout never expires, and a shorter one expires where requests queue. It also covers the opening of a connection: if that takes longer than the timeout under load, the pool stays empty; here, it is full before the load begins.`,
    NOFILE: `At half of that rate the service had ${count(open_files)} files open, most of them the clients' sockets: a limit above that changes nothing, and one below turns clients away.`,
  }
}
