import { COLD_WARMUP_S, isSettled, isValid } from '../../../../load/capacity/ladder.js'
import { nextOfProof } from '../../../../load/capacity/proving.js'
import { count, isSameCell, milliseconds } from '../../../../load/report/format.js'
import { factorial } from '../../../stats/design.js'
import { OFFERED } from '../presets.js'

/**
 * @import { NotAppliedCell, Step, TrialRecord } from '../../../../load/report/record.js'
 * @import { Factor } from '../../../stats/design.js'
 * @import { TunePlan } from '../design.js'
 */

/** One unnamed statement per row, as in the article, and no request is refused for its age: nothing hides what the three knobs do. */
export const SERVICE = Object.freeze({
  INSERT_MODE: 'single',
  MAX_QUEUE_MS: 0,
  MAX_QUEUE_REQUESTS: 1_000_000,
  MAX_LOOP_DELAY_MS: 0,
})

/** The article's larger pool and its longer timeout. */
const GENEROUS = Object.freeze({ POOL_MAX: 40, POOL_CONNECT_TIMEOUT_MS: 30_000 })
/** In the trials before the matrix. */
export const GENEROUS_CELL = Object.freeze({ ...SERVICE, ...GENEROUS })

/** As many cells as there will usually be, for an estimate. @param {boolean} [isQuick] */
export const expectedCells = (isQuick) => Array.from({ length: isQuick ? 2 * 2 * 2 : 3 * 2 * 3 }, (_, nth) => ({ nth }))

const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, connections: 128 }
const PEAK_LOAD = { ...CLOSED, warmup_s: COLD_WARMUP_S, duration_s: 4 }
const NEED_S = 2
const WARMUP_S = 0.5
/** Duration of both, with their pauses. */
export const FIRST_S = 16
/** Share of what the closed loop got through that the proof offers. */
const OVERLOAD = 1.25

/**
 * What the service needs on this machine, read from two trials.
 * @typedef {{ capacity_rps: number, statement_ms: number, busy: number, wait_ms: number, open_files: number, nofile: number }} Needs
 *   capacity: of a closed loop; busy: database connections at that rate, by Little's law; wait: for a database connection if
 *   all client connections wait for one; nofile: limit of open files that it has by itself
 */

/** @param {TunePlan} plan @param {TrialRecord[]} records @returns {Needs | null} null: not measured yet, or in vain */
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
 * Levels at which each knob can take effect: generous ones, the references; about twice what is needed; and half of it.
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
 * The plan with the levels that follow from its first trials; a plan that has its own is returned as it is.
 * @param {TunePlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied
 * @returns {TunePlan | null} null: its first trials are not done, or failed
 */
export function settledPlan(plan, records, notApplied = []) {
  if (plan.preset !== 'limits') return plan
  const needs = needsOf(plan, records)
  if (!needs) return null
  const all = levelsOf(needs).map(({ name, levels }) => {
    return { name, levels: plan.is_quick ? [...new Set([levels[0], levels[levels.length - 1]])] : levels }
  })
  // Where the limit of open files cannot be set, as on macOS, the other knobs can.
  const isSettable = !notApplied.some(({ cell }) => cell.NOFILE === needs.nofile)
  const knobs = all.filter(({ name }) => name !== 'NOFILE' || isSettable)
  const cells = factorial(knobs).map((cell) => ({ ...SERVICE, ...cell }))
  return { ...plan, knobs, cells, anchor: cells[0], capacity_rps: needs.capacity_rps }
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
  if (plan.capacity_rps === null && !isSettled(phaseOf(records, 'peak'), isValid)) {
    return { ...at('peak'), about: 'what a closed loop gets through', load: PEAK_LOAD }
  }
  const capacity_rps = plan.capacity_rps ?? firstOf(records, 'peak')?.traffic.goodput_rps
  if (!capacity_rps) return null
  const open = { driver: 'paced', loop: /** @type {const} */ ('open'), connections, warmup_s: WARMUP_S }
  if (!isSettled(phaseOf(records, 'need'), isValid)) {
    const rate_rps = Math.max(1, Math.round(OFFERED.below * capacity_rps))
    return {
      ...at('need'),
      about: 'how many database connections and files it needs',
      load: { ...open, rate_rps, duration_s: NEED_S },
    }
  }
  const seen = firstOf(records, 'need')
  if (!seen || !plan.proves) return null
  return nextOfProof({ ...plan, warmup_s: WARMUP_S }, records, {
    seen,
    load: { driver: 'paced', loop: 'open', rate_rps: Math.round(OVERLOAD * capacity_rps), connections },
  })
}

/** The valid trial of a phase. @param {TrialRecord[]} records @param {string} phase */
function firstOf(records, phase) {
  return phaseOf(records, phase).find(isValid)
}

/** @param {TrialRecord[]} records @param {string} phase */
function phaseOf(records, phase) {
  return records.filter(({ at }) => at.phase === phase)
}

/** To two digits. @param {number} value */
function rounded(value) {
  return Math.round(Number(value.toPrecision(2)))
}

/** Why each knob does what it does. @param {Needs} needs @param {number} connections of the clients @returns {Record<string, string>} */
export function reasonsOf({ capacity_rps, statement_ms, busy, wait_ms, open_files }, connections) {
  return {
    POOL_MAX: `By Little's law, ${count(Math.round(capacity_rps))}/s x ${milliseconds(statement_ms)} keep ${busy.toFixed(1)} database connections busy: with more, requests wait in Postgres instead of in the service.`,
    POOL_CONNECT_TIMEOUT_MS: `If all ${count(connections)} client connections wait at once, the last waits for ${milliseconds(wait_ms)}: a longer timeout never expires, and a shorter one expires where requests queue. It also covers the opening of a connection: if that takes longer under load, the pool stays empty.`,
    NOFILE: `At half of the capacity the service had ${count(open_files)} files open, most of them the clients' sockets: a limit above that changes nothing, and one below turns clients away.`,
  }
}
