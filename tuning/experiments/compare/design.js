import { bestOf, isSettled, isValid } from '../../../load/capacity/ladder.js'
import { nextOfProof, PROOF_S } from '../../../load/capacity/proving.js'
import { isSameCell } from '../../../load/report/format.js'
import { relaxedCell } from '../../../load/verdict/relax.js'
import { coldWarmup, coldWarmups_s, hasStopped } from '../../knobs/sides.js'
import { capacityStep } from '../../stats/capacity-of.js'
import { visitsOf } from '../../stats/design.js'

/**
 * @import { Side } from '../../knobs/sides.js'
 * @import { NotAppliedCell, Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

/** A ladder adds workers, each with a capped rate, until a rung raises the rate by less than the factor GAIN. */
export const WORKERS = [10, 20, 40, 80, 160, 320, 640, 1280, 2560]
const GAIN = 1.05

const WARMUP_S = 0.5
const CLOSED = { loop: /** @type {const} */ ('closed'), rate_rps: null, warmup_s: WARMUP_S }
/** `client` times each phase of a request, which costs the generator so much that a side near its maximum would wait for it. */
const LATENCY_DRIVER = 'client'
const MAXIMUM_DRIVER = 'workers'

const POOL = 'pool-size'

/** Start of a generator and rungs of a usual ladder, only for the estimate of the time left. */
const START_S = 1
const USUAL_RUNGS = 5

/** Statuses that refuse a request, and the share of the answers up to which refusals may be accidental. */
const REFUSALS = ['429', '503']
const REFUSED_RATIO = 0.01

export const SIDES = ['a', 'b']

/**
 * @typedef {TrialRecord[]} Records
 * @typedef {Plan & { sides: Record<string, Side>, concurrency: number[], per_worker_rps: number, blocks: number, ladders: number,
 *   rung_s: number, cold_warmup_s?: number }} ComparePlan ladders: blocks that also look for the maximum; proves: proves the limit of each side that is ours
 */

/**
 * Each block visits both sides in random order: a closed loop at every concurrency, then a ladder. After that, a search finds
 * the rate at which a side begins to refuse requests. The search sends one kind of request, so it is left out for a mix of
 * several. Finally, a proof tests the limit of each side that is ours. All this ends as soon as a side stops answering.
 * @param {ComparePlan} plan @param {Records} records @param {NotAppliedCell[]} [notApplied] @returns {Step | null}
 */
export function design(plan, records, notApplied = []) {
  if (SIDES.some((side) => hasStopped(records, side) && !refuses(records, side))) return null
  const visits = visitsOf({ cells: SIDES, anchor: null, blocks: plan.blocks, seed: plan.mix.seed })
  for (const [i, { block, position, cell: side }] of visits.entries()) {
    const own = records.filter(({ at, cell }) => at.block === block && cell.side === side)
    const next = nextOf(plan, block, own)
    if (!next) continue
    const { phase, ...load } = next
    const left_s = (blocksDuration(plan) * (visits.length - i)) / visits.length + proofsDuration(plan, SIDES)
    // In two visits that follow each other, a side would be cold only in the first.
    const start = { ...(own.length === 0 && { restart: true }), ...coldWarmup(plan, side) }
    return { at: { phase, block, position }, cell: { side }, left_s, ...start, load: { ...CLOSED, ...load } }
  }
  for (const side of plan.mix.entries ? [] : SIDES) {
    const step = refuses(records, side) ? capacityStep('limit', { side }, searchPlan(plan, side), records) : null
    if (step) return step
  }
  for (const [i, side] of SIDES.entries()) {
    const step = proofStep(plan, side, records, notApplied)
    if (step) return { ...step, left_s: step.left_s + proofsDuration(plan, SIDES.slice(i + 1)) }
  }
  return null
}

/** The next trial of a proof: a closed loop with the workers of the best rung. @param {ComparePlan} plan @param {string} side @param {Records} records @param {NotAppliedCell[]} notApplied */
function proofStep(plan, side, records, notApplied) {
  const rungs = records.filter(({ at, cell }) => at.phase === 'maximum' && cell.side === side).filter(isValid)
  if (!plan.proves || !isOurs(plan, side) || rungs.length === 0) return null
  const seen = bestOf(rungs)
  const isAccused = [seen.limit.resource, seen.limit.runner_up].includes(POOL)
  const notch = isAccused ? relaxedCell(POOL, seen) : null
  const load = { ...CLOSED, driver: MAXIMUM_DRIVER, connections: seen.load.connections }
  const larger = notch ? [{ ...seen.cell, ...notch }] : []
  const changed = larger.filter((cell) => !notApplied.some((one) => isSameCell(one.cell, cell)))
  return nextOfProof({ ...plan, warmup_s: WARMUP_S }, records, { seen, load, changed })
}

/** Whether we started a side, and so know its processes. @param {Pick<ComparePlan, 'sides'>} plan @param {string} side */
export function isOurs({ sides }, side) {
  return sides[side].url === null
}

/** The next trial of a visit, or null when it is over. @param {ComparePlan} plan @param {number} block @param {Records} own of the visit */
function nextOf({ concurrency, duration_s, ladders, rung_s, per_worker_rps }, block, own) {
  const isMissing = (/** @type {number} */ workers) => {
    return !isSettled(own.filter(({ at, load }) => at.phase === 'latency' && load.connections === workers))
  }
  const connections = concurrency.find(isMissing)
  if (connections !== undefined) return { phase: 'latency', driver: LATENCY_DRIVER, connections, duration_s }
  if (block >= ladders) return null
  const { next } = ladderOf(own.filter(({ at }) => at.phase === 'maximum'))
  return next && { phase: 'maximum', driver: MAXIMUM_DRIVER, connections: next, duration_s: rung_s, per_worker_rps }
}

/**
 * The progress of a ladder.
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

/** Duration of the whole run, in seconds. @param {ComparePlan} plan */
export function durationOf(plan) {
  return blocksDuration(plan) + proofsDuration(plan, SIDES)
}

/** Duration of the proofs, in seconds. @param {ComparePlan} plan @param {string[]} sides to prove */
function proofsDuration(plan, sides) {
  return plan.proves ? sides.filter((side) => isOurs(plan, side)).length * PROOF_S : 0
}

/** Duration of the blocks, in seconds. @param {ComparePlan} plan */
function blocksDuration(plan) {
  const { blocks, ladders, concurrency, duration_s, rung_s } = plan
  const latency_s = concurrency.length * (duration_s + WARMUP_S + START_S)
  const loads_s = 2 * (blocks * latency_s + ladders * USUAL_RUNGS * (rung_s + WARMUP_S + START_S))
  return loads_s + coldWarmups_s({ ...plan, warmup_s: WARMUP_S })
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

/** Whether a side refused requests in any trial but its proof, which may overload it. @param {Records} records @param {string} side */
export function refuses(records, side) {
  return records.some((record) => record.cell.side === side && record.at.phase !== 'proof' && isRefused(record))
}

/** A search whose trials pass if every answer is a success, however late. @param {ComparePlan} plan @param {string} side @returns {Plan} */
export function searchPlan(plan, side) {
  const { url } = plan.sides[side]
  const times = { warmup_s: WARMUP_S, duration_s: 2 * plan.rung_s }
  return { ...plan, url, searches: true, confirms: false, proves: false, connections: [64], ...times }
}
