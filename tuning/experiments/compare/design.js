import { isSettled, isValid } from '../../../load/capacity/ladder.js'
import { capacityStep } from '../../stats/capacity-of.js'
import { visitsOf } from '../../stats/design.js'

/**
 * @import { Side } from '../../knobs/sides.js'
 * @import { Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

/** A ladder adds workers, each with a capped rate, until a rung raises the rate by less than GAIN. */
export const WORKERS = [10, 20, 40, 80, 160, 320, 640]
const GAIN = 1.05

const WARMUP_S = 0.5
const CLOSED = { driver: 'client', loop: /** @type {const} */ ('closed'), rate_rps: null, warmup_s: WARMUP_S }

/** Only for the estimate of the time left: the start of a generator, and the rungs of a usual ladder. */
const START_S = 1
const USUAL_RUNGS = 5

/** Statuses that refuse a request; below this share of the answers, they may be an accident. */
const REFUSALS = ['429', '503']
const REFUSED_RATIO = 0.01

export const SIDES = ['a', 'b']

/**
 * @typedef {TrialRecord[]} Records
 * @typedef {Plan & { sides: Record<string, Side>, concurrency: number[], per_worker_rps: number, blocks: number, ladders: number,
 *   rung_s: number }} ComparePlan ladders: blocks that also look for the maximum
 */

/**
 * Each block visits both sides in random order: a closed loop at every concurrency, then a ladder. After that, a search finds
 * the rate at which a side begins to refuse requests. The search sends one kind of request, so it is left out for a mix of
 * several.
 * @param {ComparePlan} plan @param {Records} records @returns {Step | null}
 */
export function design(plan, records) {
  const visits = visitsOf({ cells: SIDES, anchor: null, blocks: plan.blocks, seed: plan.mix.seed })
  for (const [i, { block, position, cell: side }] of visits.entries()) {
    const own = records.filter(({ at }) => at.block === block && at.position === position)
    const next = nextOf(plan, block, own)
    if (!next) continue
    const { phase, ...load } = next
    const left_s = (durationOf(plan) * (visits.length - i)) / visits.length
    return { at: { phase, block, position }, cell: { side }, left_s, load: { ...CLOSED, ...load } }
  }
  if (plan.mix.entries) return null
  for (const side of SIDES) {
    const step = refuses(records, side) ? capacityStep('limit', { side }, searchPlan(plan, side), records) : null
    if (step) return step
  }
  return null
}

/** The next trial of a visit; null: the visit is over. @param {ComparePlan} plan @param {number} block @param {Records} own of the visit */
function nextOf({ concurrency, duration_s, ladders, rung_s, per_worker_rps }, block, own) {
  const isMissing = (/** @type {number} */ workers) => {
    return !isSettled(own.filter(({ at, load }) => at.phase === 'latency' && load.connections === workers))
  }
  const connections = concurrency.find(isMissing)
  if (connections !== undefined) return { phase: 'latency', connections, duration_s, per_worker_rps: 0 }
  if (block >= ladders) return null
  const { next } = ladderOf(own.filter(({ at }) => at.phase === 'maximum'))
  return next && { phase: 'maximum', connections: next, duration_s: rung_s, per_worker_rps }
}

/**
 * How far a ladder has come.
 * @param {Records} trials of one ladder
 * @returns next: the workers of the next rung, null when the ladder is over; rungs: the valid trial of each rung, if it has
 *   one; rising: the last rung still raised the rate
 */
export function ladderOf(trials) {
  /** @type {(Records[number] | undefined)[]} */
  const rungs = []
  const goodputOf = (/** @type {number} */ i) => rungs.at(i)?.traffic.goodput_rps ?? 0
  for (const workers of WORKERS) {
    const own = trials.filter(({ load }) => load.connections === workers)
    if (!isSettled(own)) return { next: workers, rungs, rising: true }
    rungs.push(own.find(isValid))
    if (goodputOf(-1) < GAIN * goodputOf(-2)) return { next: null, rungs, rising: false }
  }
  return { next: null, rungs, rising: goodputOf(-1) > 0 }
}

/** Seconds. @param {ComparePlan} plan */
export function durationOf({ blocks, ladders, concurrency, duration_s, rung_s }) {
  const latency_s = concurrency.length * (duration_s + WARMUP_S + START_S)
  return 2 * (blocks * latency_s + ladders * USUAL_RUNGS * (rung_s + WARMUP_S + START_S))
}

/** The share of the answers that refused the request. @param {Records[number]} record */
export function refusedRatio({ traffic }) {
  const count = REFUSALS.reduce((sum, status) => sum + (traffic.status[status] ?? 0), 0)
  return traffic.completed === 0 ? 0 : count / traffic.completed
}

/** @param {Records[number]} record */
export function isRefused(record) {
  return refusedRatio(record) > REFUSED_RATIO
}

/** Whether a side refused requests in any trial. @param {Records} records @param {string} side */
export function refuses(records, side) {
  return records.some((record) => record.cell.side === side && isRefused(record))
}

/** A search in which a trial passes if every answer is a success, however late. @param {ComparePlan} plan @param {string} side @returns {Plan} */
export function searchPlan(plan, side) {
  const { url } = plan.sides[side]
  const times = { warmup_s: WARMUP_S, duration_s: 2 * plan.rung_s }
  return { ...plan, url, searches: true, confirms: false, connections: [64], ...times }
}
