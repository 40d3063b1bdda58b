import { isSettled, isValid } from '../../../load/capacity/ladder.js'
import { capacityStep } from '../../stats/capacity-of.js'
import { visitsOf } from '../../stats/design.js'

/**
 * @import { Side } from '../../knobs/sides.js'
 * @import { Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

/** A ladder of workers, each limited to a rate of its own, ends with the rung that brings less than GAIN. */
export const WORKERS = [10, 20, 40, 80, 160, 320, 640]
export const GAIN = 1.05

const WARMUP_S = 0.5
const CLOSED = { driver: 'client', loop: /** @type {const} */ ('closed'), rate_rps: null, warmup_s: WARMUP_S }

/** Only for the estimate of the time left: starting a generator, and the usual number of rungs. */
const START_S = 1
const USUAL_RUNGS = 5

/** Statuses that refuse a request. */
const REFUSALS = ['429', '503']

/** Below this share, a refusal may be an accident. */
const REFUSED_RATIO = 0.01

export const SIDES = /** @type {const} */ (['a', 'b'])

/**
 * @typedef {'a' | 'b'} Name
 * @typedef {TrialRecord[]} Records
 * @typedef {{ sides: Record<Name, Side>, concurrency: number[], per_worker_rps: number, blocks: number }} Comparison
 * @typedef {Plan & Comparison & { ladders: number, rung_s: number }} ComparePlan ladders: blocks that also look for the maximum
 */

/**
 * In blocks, both sides in random order, each at every concurrency and then with more and more workers. Then, for a side that
 * refused requests, the rate up to which it does not; an open loop searches for it and sends one kind of request, so a mix of
 * several is not searched.
 * @param {ComparePlan} plan @param {Records} records @returns {Step | null}
 */
export function design(plan, records) {
  const visits = visitsOf({ cells: [...SIDES], anchor: null, blocks: plan.blocks, seed: plan.mix.seed })
  for (const [i, { block, position, cell: side }] of visits.entries()) {
    const own = records.filter(({ at }) => at.block === block && at.position === position)
    const next = nextOf(plan, block, own)
    if (!next) continue
    const left_s = (durationOf(plan) * (visits.length - i)) / visits.length
    return { at: { phase: next.phase, block, position }, cell: { side }, left_s, load: next.load }
  }
  if (plan.mix.entries) return null
  for (const side of SIDES) {
    const step = refuses(records, side) ? capacityStep('limit', { side }, searchPlan(plan, side), records) : null
    if (step) return step
  }
  return null
}

/** Seconds. @param {ComparePlan} plan */
export function durationOf({ blocks, ladders, concurrency, duration_s, rung_s }) {
  const latency_s = concurrency.length * (duration_s + WARMUP_S + START_S)
  return 2 * (blocks * latency_s + ladders * USUAL_RUNGS * (rung_s + WARMUP_S + START_S))
}

/** The share of requests that were refused. @param {Records[number]} record */
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

/** Every answer a success, however late. @param {ComparePlan} plan @param {Name} side @returns {Plan} */
export function searchPlan(plan, side) {
  const { url } = plan.sides[side]
  const times = { warmup_s: WARMUP_S, duration_s: 2 * plan.rung_s }
  return { ...plan, url, searches: true, confirms: false, connections: [64], ...times }
}

/** @param {ComparePlan} plan @param {number} block @param {Records} own of one visit @returns what it lacks; null: nothing */
function nextOf({ concurrency, duration_s, ladders, rung_s, per_worker_rps }, block, own) {
  const trialsAt = (/** @type {string} */ phase, /** @type {number} */ workers) => {
    return own.filter(({ at, load }) => at.phase === phase && load.connections === workers)
  }
  const connections = concurrency.find((workers) => !isSettled(trialsAt('latency', workers)))
  if (connections !== undefined) {
    return { phase: 'latency', load: { ...CLOSED, connections, duration_s, per_worker_rps: 0 } }
  }
  if (block >= ladders) return null
  let before_rps = 0
  for (const workers of WORKERS) {
    const trials = trialsAt('maximum', workers)
    if (!isSettled(trials)) {
      return { phase: 'maximum', load: { ...CLOSED, connections: workers, duration_s: rung_s, per_worker_rps } }
    }
    const goodput_rps = trials.find(isValid)?.traffic.goodput_rps ?? 0
    if (goodput_rps < GAIN * before_rps) return null
    before_rps = goodput_rps
  }
  return null
}
