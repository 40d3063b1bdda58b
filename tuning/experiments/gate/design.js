import { plateauDriver } from '../../../load/capacity/capacity.js'
import { isSettled, isValid } from '../../../load/capacity/ladder.js'
import { median } from '../../../load/verdict/ranks.js'
import { visitsOf } from '../../stats/design.js'
import { criterionOf, pairsOf, verdictOf } from './decision.js'

/**
 * @import { Plan, Step, TrialRecord } from '../../../load/report/record.js'
 * @typedef {{ ref: string | null, url: string | null, shown_url?: string, pid: { pid: number, name: string } | null }} Side ref: of the
 *   repository; url: of a service that runs already
 * @typedef {Plan & { sides: Record<'base' | 'head', Side>, start?: string, build: string | null, path: string, tolerance_ratio: number,
 *   blocks: number, allows_undecided: boolean }} GatePlan
 */

/** The base runs twice: how far it differs from itself is the noise of this machine today. */
export const SIDES = ['base', 'again', 'head']
/**
 * One more base, which a trial of all sides at once is about: what the lab's probes ask of it costs it more CPU than a change may, so its
 * own figure is not compared.
 */
export const WATCHED = 'watched'
/**
 * What each side is loaded for in turns. The first slice after a start does not count: measured here, it costs up to a third more, while
 * V8 still compiles.
 */
const TURNS = /** @type {const} */ (['lead', 'cost', 'cost', 'latency'])
/** Where all sides are also loaded at once, which decides, the turns give figures for information, in the first blocks only. */
const INFORMING_BLOCKS = 2
/** Share of the base's throughput that all get together when they are loaded at once. */
const TOGETHER_SHARE = 0.6
const TOGETHER_S = 4
const CONNECTIONS = 128
const WARMUP_S = 0.5
/** After a start: of one side alone, and of all at once. */
const FIRST_WARMUP_S = { alone: 2, together: 4 }
const PROFILE_S = 3
/** Share of the throughput that is offered for the latency. */
const LATENCY_SHARE = 0.5
const START_S = 1

/**
 * Blocks, in each of which all sides are started and then loaded, in turns and at once. It ends as soon as the verdict is known. If the head has
 * regressed, a profile of each follows. Pure.
 * @param {GatePlan} plan @param {TrialRecord[]} records @returns {Step | null}
 */
export function design(plan, records) {
  for (let block = 0; block < plan.blocks; block++) {
    const before = records.filter(({ at }) => Number(at.block) < block)
    if (verdictSoFar(plan, before) !== 'undecided') break
    const step = blockStep(plan, records, block)
    if (step) return step
  }
  return verdictSoFar(plan, records) === 'regressed' ? profileStep(plan, records) : null
}

/** @param {GatePlan} plan @param {TrialRecord[]} records */
export function verdictSoFar({ tolerance_ratio }, records) {
  const criterion = criterionOf(records)
  return verdictOf(pairsOf(records, criterion), { tolerance_ratio, isBetter: criterion.isBetter })
}

/** Whether all sides can be loaded at once: a base that runs already is one service, which cannot be loaded as two. @param {GatePlan} plan */
export function canTogether({ sides }) {
  return sides.base.url === null
}

/** Seconds that all blocks take from one on. @param {GatePlan} plan @param {number} [from] */
export function blocksDuration(plan, from = 0) {
  const { duration_s, blocks } = plan
  const start_s = (SIDES.length + (canTogether(plan) ? 1 : 0)) * START_S
  const turns_s = SIDES.length * (FIRST_WARMUP_S.alone + TURNS.length * (duration_s + WARMUP_S + START_S))
  if (!canTogether(plan)) return (blocks - from) * (start_s + turns_s)
  const together_s = FIRST_WARMUP_S.together + TOGETHER_S + START_S
  return (blocks - from) * (start_s + together_s) + Math.max(0, Math.min(blocks, INFORMING_BLOCKS) - from) * turns_s
}

/** @param {GatePlan} plan @param {TrialRecord[]} records @param {number} block @returns {Step | null} */
function blockStep(plan, records, block) {
  const left_s = blocksDuration(plan, block)
  const hasTurns = !canTogether(plan) || block < INFORMING_BLOCKS
  return (
    (hasTurns ? turnStep(plan, records, block, left_s) : null) ??
    (canTogether(plan) ? togetherStep(plan, records, block, left_s) : null)
  )
}

/** @param {GatePlan} plan @param {TrialRecord[]} records @param {number} block @param {number} left_s @returns {Step | null} */
function turnStep(plan, records, block, left_s) {
  const visits = visitsOf({
    cells: SIDES,
    anchor: null,
    blocks: TURNS.length,
    seed: plan.mix.seed + block * TURNS.length,
  })
  const [next] = visits.filter(({ block: slice, cell: side }) => {
    return !isSettled(records.filter(({ at, cell }) => at.block === block && at.slice === slice && cell.side === side))
  })
  if (!next) return null
  const { block: slice, cell: side } = next
  const isFirst = !records.some(({ at, cell }) => at.block === block && cell.side === side)
  const rate_rps = TURNS[slice] === 'latency' ? shareOfBase(records, LATENCY_SHARE) : null
  // Nothing is known of a base that answered no request.
  const phase = TURNS[slice] === 'latency' && rate_rps === null ? 'cost' : TURNS[slice]
  const warmup_s = isFirst ? FIRST_WARMUP_S.alone : WARMUP_S
  const how = { rate_rps, warmup_s, duration_s: plan.duration_s, left_s }
  return stepOf(plan, { phase, block, slice }, { side, start: block + 1 }, how)
}

/** All sides at once, beside the one that the lab's probes ask. @param {GatePlan} plan @param {TrialRecord[]} records @param {number} block @param {number} left_s @returns {Step | null} */
function togetherStep(plan, records, block, left_s) {
  const own = records.filter(({ at }) => at.block === block)
  const rate_rps = shareOfBase(records, TOGETHER_SHARE / (SIDES.length + 1))
  if (rate_rps === null || isSettled(own.filter(({ at }) => at.phase === 'together'))) return null
  const warmup_s = own.length === 0 ? FIRST_WARMUP_S.together : WARMUP_S
  const cell = { side: WATCHED, start: block + 1 }
  return stepOf(plan, { phase: 'together', block }, cell, { rate_rps, warmup_s, duration_s: TOGETHER_S, left_s })
}

/** A share of what the base gets through, in requests/s; null: not known. @param {TrialRecord[]} records @param {number} share */
function shareOfBase(records, share) {
  const closed = records.filter(
    (record) => record.at.phase === 'cost' && record.cell.side !== 'head' && isValid(record),
  )
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
  const left_s = 2 * (START_S + PROFILE_S)
  const how = { rate_rps: null, warmup_s: FIRST_WARMUP_S.alone, duration_s: PROFILE_S, left_s }
  return stepOf(plan, { phase: 'profile' }, { side, start: 'profile' }, how)
}

/**
 * @param {GatePlan} plan @param {Step['at']} at @param {Record<string, string | number>} cell
 * @param {{ rate_rps: number | null, warmup_s: number, duration_s: number, left_s: number }} how @returns {Step}
 */
function stepOf(plan, at, cell, { rate_rps, warmup_s, duration_s, left_s }) {
  const loop = rate_rps === null ? 'closed' : 'open'
  const driver = rate_rps === null ? plateauDriver(plan) : 'paced'
  return { at, cell, left_s, load: { driver, loop, rate_rps, connections: CONNECTIONS, warmup_s, duration_s } }
}
