import { plateauDriver } from '../../../load/capacity/capacity.js'
import { isSettled, isValid } from '../../../load/capacity/ladder.js'
import { median } from '../../../load/verdict/ranks.js'
import { visitsOf } from '../../stats/design.js'
import { CRITERIA, decisionOf, LEAST_BLOCKS, pairsOf, SIDES } from './decision.js'

/**
 * @import { Plan, Step, TrialRecord } from '../../../load/report/record.js'
 * @typedef {{ ref: string | null, url: string | null, shown_url?: string, pid: { pid: number, name: string } | null }} Side ref: of the
 *   repository; url: of a service that runs already
 * @typedef {Plan & { sides: Record<'base' | 'head', Side>, start?: string, build: string | null, path: string, tolerance_ratio: number,
 *   blocks: number, allows_undecided: boolean }} GatePlan
 */

/** Of a trial that loads all of them at once. */
export const ALL = 'all'
/**
 * What each side is loaded for in turns. The first slice after a start does not count: measured here, it costs up to a third more, while
 * V8 still compiles.
 */
const TURNS = /** @type {const} */ (['lead', 'cost', 'cost', 'latency'])
/** After all sides were loaded at once: for information only. */
const LATER_TURNS = /** @type {const} */ (['cost', 'latency'])
/** Where all sides are also loaded at once, which decides, the turns give figures for information, in the first blocks only. */
const INFORMING_BLOCKS = 2
/** Share of the base's throughput that all get together when they are loaded at once. */
const TOGETHER_SHARE = 0.6
const TOGETHER_S = 8
/** Load of the trial itself, on none of them. */
const OWN = { rate_rps: 10, connections: 2 }
export const CONNECTIONS = 128
const WARMUP_S = 0.5
/**
 * After a start: of one side alone, of the base for what it takes, and of all at once. Until a process has served some 80,000 requests, V8
 * makes each of them cheaper, by a fifth altogether, and not in all processes at the same moment. No turns come before that: after a
 * pause, a process is dearer again.
 */
const FIRST_WARMUP_S = { alone: 2, peak: 4, together: 10 }
const PROFILE_S = 3
/** Share of the throughput that is offered for the latency. */
const LATENCY_SHARE = 0.5
const START_S = 1

/**
 * Blocks, in each of which all sides are started and then loaded, at once and in turns. It ends as soon as the verdict is known. If the
 * head has regressed, a profile of each follows. Pure.
 * @param {GatePlan} plan @param {TrialRecord[]} records @returns {Step | null}
 */
export function design(plan, records) {
  for (let block = 0; block < plan.blocks; block++) {
    const before = records.filter(({ at }) => Number(at.block) < block)
    const { verdict, pairs } = decisionOf(before, plan.tolerance_ratio)
    // Where so many blocks have shown nothing, more will not.
    if (verdict !== 'undecided' || (block >= LEAST_BLOCKS && pairs.length === 0)) break
    const together = canTogether(plan) ? togetherStep(plan, records, block) : null
    const step = together ?? turnStep(plan, records, block)
    if (step) return { ...step, left_s: blocksDuration(plan, block) }
  }
  const { verdict, broken } = decisionOf(records, plan.tolerance_ratio)
  return verdict === 'regressed' && broken.length === 0 ? profileStep(plan, records) : null
}

/** Whether all sides can be loaded at once: a base that runs already is one service, which cannot be loaded as two. @param {GatePlan} plan */
export function canTogether({ sides }) {
  return sides.base.url === null
}

/** What each side is loaded for in turns, which also count where loading all of them at once gave no figures. @param {GatePlan} plan @param {number} block @param {TrialRecord[]} [records] */
function turnsOf(plan, block, records) {
  if (!canTogether(plan)) return TURNS
  const isUnknown = records && pairsOf(records, CRITERIA[0]).length === 0
  return isUnknown || block < INFORMING_BLOCKS ? LATER_TURNS : []
}

/** Seconds that all blocks take from one on. @param {GatePlan} plan @param {number} [from] */
export function blocksDuration(plan, from = 0) {
  const first_s = SIDES.length * (START_S + (canTogether(plan) ? 0 : FIRST_WARMUP_S.alone))
  const together_s = canTogether(plan) ? FIRST_WARMUP_S.together + TOGETHER_S + START_S : 0
  const later = Array.from({ length: plan.blocks - from }, (_, i) => turnsOf(plan, from + i).length * SIDES.length)
  const turns_s = later.reduce((sum, turns) => sum + turns * (plan.duration_s + WARMUP_S + START_S), 0)
  return later.length * (first_s + together_s) + turns_s
}

/** @param {GatePlan} plan @param {TrialRecord[]} records @param {number} block */
function turnStep(plan, records, block) {
  const own = records.filter(({ at }) => at.block === block)
  const turns = turnsOf(plan, block, own)
  const seed = plan.mix.seed + block * TURNS.length
  const visits = visitsOf({ cells: SIDES, anchor: null, blocks: turns.length, seed })
  const [next] = visits.filter(({ block: slice, cell: side }) => {
    return !isSettled(own.filter(({ at, cell }) => at.slice === slice && cell.side === side))
  })
  if (!next) return null
  const { block: slice, cell: side } = next
  const isFirst = !own.some(({ cell }) => [side, ALL].includes(String(cell.side)))
  const rate_rps = turns[slice] === 'latency' ? shareOfBase(records, LATENCY_SHARE) : null
  // Nothing is known of a base that answered no request.
  const phase = turns[slice] === 'latency' && rate_rps === null ? 'cost' : turns[slice]
  const how = { rate_rps, warmup_s: isFirst ? FIRST_WARMUP_S.alone : WARMUP_S }
  return stepOf(plan, { phase, block, slice }, { side, start: block + 1 }, how)
}

/** All sides at once, at a share of what the base takes, which is found first. @param {GatePlan} plan @param {TrialRecord[]} records @param {number} block */
function togetherStep(plan, records, block) {
  if (isSettled(records.filter(({ at }) => at.block === block && at.phase === 'together'))) return null
  const side_rps = shareOfBase(records, TOGETHER_SHARE / SIDES.length)
  if (side_rps === null) return peakStep(plan, records)
  const how = { ...OWN, warmup_s: FIRST_WARMUP_S.together, duration_s: TOGETHER_S }
  return stepOf(plan, { phase: 'together', block }, { side: ALL, start: block + 1, side_rps }, how)
}

/** What the base takes alone, before the first start that counts; null: it answered no request. @param {GatePlan} plan @param {TrialRecord[]} records */
function peakStep(plan, records) {
  if (isSettled(records.filter(({ at }) => at.phase === 'peak'))) return null
  return stepOf(plan, { phase: 'peak' }, { side: 'base', start: 'peak' }, { warmup_s: FIRST_WARMUP_S.peak })
}

/** A share of what the base gets through, in requests/s; null: not known. @param {TrialRecord[]} records @param {number} share */
function shareOfBase(records, share) {
  const closed = records.filter((record) => {
    return ['peak', 'cost'].includes(String(record.at.phase)) && record.cell.side !== 'head' && isValid(record)
  })
  const rate_rps = Math.round(share * median(closed.map(({ traffic }) => traffic.goodput_rps)))
  return rate_rps > 0 ? rate_rps : null
}

/** @param {GatePlan} plan @param {TrialRecord[]} records */
function profileStep(plan, records) {
  if (plan.sides.head.ref === null) return null
  const side = ['base', 'head'].find((one) => {
    return !isSettled(records.filter(({ at, cell }) => at.phase === 'profile' && cell.side === one))
  })
  if (!side) return null
  const how = { warmup_s: FIRST_WARMUP_S.alone, duration_s: PROFILE_S }
  return { ...stepOf(plan, { phase: 'profile' }, { side, start: 'profile' }, how), left_s: 2 * (START_S + PROFILE_S) }
}

/**
 * A closed loop, or an open one at a rate.
 * @param {GatePlan} plan @param {Step['at']} at @param {Record<string, string | number>} cell
 * @param {{ rate_rps?: number | null, connections?: number, warmup_s: number, duration_s?: number }} how
 * @returns {Omit<Step, 'left_s'>}
 */
function stepOf(plan, at, cell, { rate_rps = null, connections = CONNECTIONS, ...how }) {
  const loop = rate_rps === null ? 'closed' : 'open'
  const driver = rate_rps === null ? plateauDriver(plan) : 'paced'
  return { at, cell, load: { driver, loop, rate_rps, connections, duration_s: plan.duration_s, ...how } }
}
