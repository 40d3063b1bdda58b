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
 * Slices of each side in a block, which are interleaved: all but the last in a closed loop. The first one after a start does not count:
 * measured here, it costs up to a third more, while V8 still compiles.
 */
const SLICES = 4
const CONNECTIONS = 128
const WARMUP_S = 0.5
/** After a start. */
const FIRST_WARMUP_S = 2
const PROFILE_S = 3
/** Share of the throughput that is offered for the latency. */
const LATENCY_SHARE = 0.5
const START_S = 1

/**
 * Blocks, in each of which all sides are started and then loaded in turns. It ends as soon as the verdict is known. If the head has
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

/** Seconds that a block takes. @param {Pick<GatePlan, 'duration_s'>} plan */
export function blockDuration({ duration_s }) {
  return SIDES.length * (START_S + FIRST_WARMUP_S + SLICES * (duration_s + WARMUP_S + START_S))
}

/** @param {GatePlan} plan @param {TrialRecord[]} records @param {number} block @returns {Step | null} */
function blockStep(plan, records, block) {
  const visits = visitsOf({ cells: SIDES, anchor: null, blocks: SLICES, seed: plan.mix.seed + block * SLICES })
  const [next] = visits.filter(({ block: slice, cell: side }) => {
    return !isSettled(records.filter(({ at, cell }) => at.block === block && at.slice === slice && cell.side === side))
  })
  if (!next) return null
  const { block: slice, cell: side } = next
  const isFirst = !records.some(({ at, cell }) => at.block === block && cell.side === side)
  const rate_rps = slice === SLICES - 1 ? latencyRate(records) : null
  const phase = slice === 0 ? 'lead' : rate_rps === null ? 'cost' : 'latency'
  const left_s = (plan.blocks - block) * blockDuration(plan)
  return stepOf(
    plan,
    { phase, block, slice },
    { side, start: block + 1 },
    { rate_rps, isFirst, duration_s: plan.duration_s, left_s },
  )
}

/** Half of what the base gets through; null: not known yet. @param {TrialRecord[]} records */
function latencyRate(records) {
  const closed = records.filter(
    (record) => record.at.phase === 'cost' && record.cell.side !== 'head' && isValid(record),
  )
  const rate_rps = Math.round(LATENCY_SHARE * median(closed.map(({ traffic }) => traffic.goodput_rps)))
  return rate_rps > 0 ? rate_rps : null
}

/** @param {GatePlan} plan @param {TrialRecord[]} records */
function profileStep(plan, records) {
  if (plan.sides.head.ref === null) return null
  const side = ['base', 'head'].find((one) => {
    return !isSettled(records.filter(({ at, cell }) => at.phase === 'profile' && cell.side === one))
  })
  if (!side) return null
  const how = { rate_rps: null, isFirst: true, duration_s: PROFILE_S, left_s: 2 * (START_S + PROFILE_S) }
  return stepOf(plan, { phase: 'profile' }, { side, start: 'profile' }, how)
}

/**
 * @param {GatePlan} plan @param {Step['at']} at @param {Record<string, string | number>} cell
 * @param {{ rate_rps: number | null, isFirst: boolean, duration_s: number, left_s: number }} how @returns {Step}
 */
function stepOf(plan, at, cell, { rate_rps, isFirst, duration_s, left_s }) {
  const warmup_s = isFirst ? FIRST_WARMUP_S : WARMUP_S
  const loop = rate_rps === null ? 'closed' : 'open'
  const driver = rate_rps === null ? plateauDriver(plan) : 'paced'
  return { at, cell, left_s, load: { driver, loop, rate_rps, connections: CONNECTIONS, warmup_s, duration_s } }
}
