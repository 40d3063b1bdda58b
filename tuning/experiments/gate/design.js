import { plateauDriver } from '../../../load/capacity/capacity.js'
import { isSettled, isValid } from '../../../load/capacity/ladder.js'
import { median } from '../../../load/verdict/ranks.js'
import { visitsOf } from '../../stats/design.js'
import { LEAST_BLOCKS } from '../../stats/twice.js'
import { CRITERIA, decidingOf, decisionOf, INFORMING_ROUNDS, pairsOf, SIDES, TOGETHER } from './decision.js'

/**
 * @import { Plan, Step, TrialRecord } from '../../../load/report/record.js'
 * @typedef {{ ref: string | null, url: string | null, shown_url?: string, pid: { pid: number, name: string } | null }} Side ref: in the
 *   repository; url: of a service that already runs
 * @typedef {Plan & { sides: Record<'base' | 'head', Side>, start?: string, build: string | null, path: string, tolerance_ratio: number,
 *   blocks: number, allows_undecided: boolean }} GatePlan
 */

/** Side of a trial that loads all sides at once. */
export const ALL = 'all'
/** The most that --blocks allows. */
export const MOST_BLOCKS = 1000
/**
 * Purpose of each load of a side, in turns. The first slice after a start does not count: measured here, it costs up to a third more,
 * while V8 still compiles.
 */
const TURNS = /** @type {const} */ (['lead', 'cost', 'cost', 'latency'])
const LATER_TURNS = /** @type {const} */ (['cost', 'latency'])
/** Share of the base's throughput that all sides together are offered when they are loaded at once. */
const TOGETHER_SHARE = 0.6
const TOGETHER_S = 8
export const CONNECTIONS = 128
const WARMUP_S = 0.5
const FIRST_WARMUP_S = { alone: 2, peak: 4 }
/**
 * Warm-up of all sides at once, in requests to each: until then, V8 still compiles (see compile-early.js). Two starts of one program then
 * differ for as long as they run, so many short blocks tell more than a few long ones. No turns come before: after a pause, requests cost
 * more.
 */
export const TOGETHER_WARMUP = { requests: 75_000, most_s: 20 }
const PROFILE_S = 3
/** Share of the throughput that is offered to measure the latency. */
const LATENCY_SHARE = 0.5
const START_S = 1

/**
 * Plans blocks, each of which starts all sides and then loads them, at once or in turns. The blocks stop as soon as the verdict is
 * known. Turns for information follow and, if the head has regressed, a profile of base and head. Pure.
 * @param {GatePlan} plan @param {TrialRecord[]} records @returns {Step | null}
 */
export function design(plan, records) {
  // A block begins only while the verdict is open, so those that have begun are over or go on, and are not judged again.
  const last = Math.max(-1, ...decidingOf(records).flatMap(({ at }) => at.block ?? []))
  for (let block = Math.max(0, last); block < plan.blocks; block++) {
    if (block > last && isOver(plan, records, block)) break
    const together = canTogether(plan) ? togetherStep(plan, records, block) : null
    const step = together ?? turnStep(plan, records, { block, turns: turnsOf(plan, records, block) })
    if (step) return { ...step, left_s: blocksDuration(plan, block) }
  }
  const { verdict, broken } = decisionOf(records, plan.tolerance_ratio)
  const isCostlier = verdict === 'regressed' && broken.length === 0 && canTogether(plan)
  return informingStep(plan, records, verdict) ?? (isCostlier ? profileStep(plan, records) : null)
}

/** Whether the blocks before this one have decided, or have shown nothing so often that more will not either. @param {GatePlan} plan @param {TrialRecord[]} records @param {number} block */
function isOver({ tolerance_ratio }, records, block) {
  const before = records.filter(({ at }) => Number(at.block) < block)
  const { verdict, pairs } = decisionOf(before, tolerance_ratio)
  return verdict !== 'undecided' || (block >= LEAST_BLOCKS && pairs.length === 0)
}

/** Whether all sides can be loaded at once: a base that runs already is one service, which cannot be loaded as two. @param {GatePlan} plan */
export function canTogether({ sides }) {
  return sides.base.url === null
}

/** The turns of each side in a block: if all sides can be loaded at once, only where that gave no figures. @param {GatePlan} plan @param {TrialRecord[]} records @param {number} block */
function turnsOf(plan, records, block) {
  if (!canTogether(plan)) return TURNS
  const own = records.filter(({ at }) => at.block === block)
  return pairsOf(own, CRITERIA[0]).length === 0 ? LATER_TURNS : []
}

/** Seconds that all blocks take, from a given block on. @param {GatePlan} plan @param {number} [from] */
export function blocksDuration(plan, from = 0) {
  const turn_s = plan.duration_s + WARMUP_S + START_S
  const block_s = canTogether(plan)
    ? TOGETHER.length * START_S + TOGETHER_WARMUP.most_s + TOGETHER_S + START_S
    : SIDES.length * (START_S + FIRST_WARMUP_S.alone + TURNS.length * turn_s)
  const informing_s = canTogether(plan) ? INFORMING_ROUNDS * LATER_TURNS.length * SIDES.length * turn_s : 0
  return (plan.blocks - from) * block_s + informing_s
}

/**
 * The next slice of turns.
 * @param {GatePlan} plan @param {TrialRecord[]} records
 * @param {{ block: number, start?: number, turns: readonly string[], informs?: true }} round informs: after the verdict
 */
function turnStep(plan, records, { block, start = block + 1, turns, informs }) {
  const own = records.filter(({ at }) => at.block === block)
  const seed = plan.mix.seed + block * TURNS.length
  const visits = visitsOf({ cells: SIDES, anchor: null, blocks: turns.length, seed })
  const [next] = visits.filter(({ block: slice, cell: side }) => {
    return !isSettled(own.filter(({ at, cell }) => at.slice === slice && cell.side === side))
  })
  if (!next) return null
  const { block: slice, cell: side } = next
  const isFirst = !informs && !own.some(({ cell }) => [side, ALL].includes(String(cell.side)))
  const rate_rps = turns[slice] === 'latency' ? shareOfBase(records, LATENCY_SHARE) : null
  // If the base answered no request, its throughput is not known.
  const phase = turns[slice] === 'latency' && rate_rps === null ? 'cost' : turns[slice]
  const how = { rate_rps, warmup_s: isFirst ? FIRST_WARMUP_S.alone : WARMUP_S }
  return stepOf(plan, { phase, block, slice, ...(informs && { informs }) }, { side, start }, how)
}

/** Turns on the services of the last block, once the verdict is known. Each round is a block of its own. @param {GatePlan} plan @param {TrialRecord[]} records @param {string} verdict @returns {Step | null} */
function informingStep(plan, records, verdict) {
  if (pairsOf(records, CRITERIA[0]).length === 0) return null
  const start = Math.max(...records.flatMap(({ at }) => (at.phase === 'together' ? Number(at.block) + 1 : [])))
  for (let round = 0; round < INFORMING_ROUNDS; round++) {
    const step = turnStep(plan, records, { block: start + round, start, turns: LATER_TURNS, informs: true })
    const about = `${verdict}; the throughput, latency and memory follow, for information`
    if (step) return { ...step, about, left_s: blocksDuration(plan, plan.blocks) * (1 - round / INFORMING_ROUNDS) }
  }
  return null
}

/** All sides at once, at a share of the base's throughput, found first. @param {GatePlan} plan @param {TrialRecord[]} records @param {number} block */
function togetherStep(plan, records, block) {
  if (isSettled(records.filter(({ at }) => at.block === block && at.phase === 'together'))) return null
  const side_rps = shareOfBase(records, TOGETHER_SHARE / TOGETHER.length)
  if (side_rps === null) return peakStep(plan, records)
  const warmup_s = Math.min(TOGETHER_WARMUP.requests / side_rps, TOGETHER_WARMUP.most_s)
  // The load of the trial itself is on none of the sides.
  const how = { rate_rps: 10, connections: 2, warmup_s, duration_s: TOGETHER_S }
  return stepOf(plan, { phase: 'together', block }, { side: ALL, start: block + 1, side_rps }, how)
}

/** The base alone, to find its throughput, before the first start that counts; null if it answered nothing. @param {GatePlan} plan @param {TrialRecord[]} records */
function peakStep(plan, records) {
  if (isSettled(records.filter(({ at }) => at.phase === 'peak'))) return null
  return stepOf(plan, { phase: 'peak' }, { side: 'base', start: 'peak' }, { warmup_s: FIRST_WARMUP_S.peak })
}

/** A share of the base's throughput, in requests/s; null if not known. @param {TrialRecord[]} records @param {number} share */
function shareOfBase(records, share) {
  const closed = records.filter((record) => {
    return ['peak', 'cost'].includes(String(record.at.phase)) && record.cell.side !== 'head' && isValid(record)
  })
  const rate_rps = Math.round(share * median(closed.map(({ traffic }) => traffic.goodput_rps)))
  return rate_rps > 0 ? rate_rps : null
}

/** @param {GatePlan} plan @param {TrialRecord[]} records */
function profileStep(plan, records) {
  const side = ['base', 'head'].find((one) => {
    return !isSettled(records.filter(({ at, cell }) => at.phase === 'profile' && cell.side === one))
  })
  if (!side) return null
  const how = { warmup_s: FIRST_WARMUP_S.alone, duration_s: PROFILE_S }
  return { ...stepOf(plan, { phase: 'profile' }, { side, start: 'profile' }, how), left_s: 2 * (START_S + PROFILE_S) }
}

/**
 * A step with a closed loop, or with an open loop if a rate is given.
 * @param {GatePlan} plan @param {Step['at']} at @param {Record<string, string | number>} cell
 * @param {{ rate_rps?: number | null, connections?: number, warmup_s: number, duration_s?: number }} how
 * @returns {Omit<Step, 'left_s'>}
 */
function stepOf(plan, at, cell, { rate_rps = null, connections = CONNECTIONS, ...how }) {
  const loop = rate_rps === null ? 'closed' : 'open'
  const driver = rate_rps === null ? plateauDriver(plan) : 'paced'
  return { at, cell, load: { driver, loop, rate_rps, connections, duration_s: plan.duration_s, ...how } }
}
