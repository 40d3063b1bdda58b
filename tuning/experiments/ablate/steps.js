import { isSettled } from '../../../load/capacity/ladder.js'
import { isSameCell } from '../../../load/report/format.js'
import { groupBy, oncePerPlan, visitsOf } from '../../stats/design.js'
import { isSound, isTimely } from '../../stats/sound.js'
import { BY_TURNS, orderOf, REQUESTS_PER_TURN, turnsOf, variantsOf, WHOLE } from './stages.js'

/** @import { At, NotAppliedCell, Plan, Step, TrialRecord } from '../../../load/report/record.js' */

/**
 * What takes the answers: at a rate that all can serve, so that a request costs what it costs; as fast as it goes, by a
 * client that does next to nothing; and by the client that a program would use.
 *
 * @type {Record<string, { loop: 'open' | 'closed', about: string }>}
 */
export const CONSUMERS = {
  paced: { loop: 'open', about: 'open loop' },
  autocannon: { loop: 'closed', about: 'closed loop' },
  client: { loop: 'closed', about: "closed loop, Node's own HTTP client" },
}

export const CONNECTIONS = 32
const WARMUP_S = 0.1

/** A trial's processes begin and end, and its rows are counted. */
const BETWEEN_TRIALS_S = 0.45

/** Until V8 has compiled what is measured: all variants, then what another load needs. */
const FIRST_WARMUP_S = 4
const OTHER_WARMUP_S = 0.5

/** Of a trial by turns, and the least rounds of it: what was measured is kept, should the run be cut off. */
const TURNS_S = 15
const LEAST_ROUNDS = 3

/** Of a turn's requests: those that have to be let out before it. */
const BEFORE_TURN_RATIO = 0.1

/**
 * @typedef {object} Ablation
 * @property {string[]} stages
 * @property {Record<string, number>} slow_us CPU planted in stages
 * @property {string} [insert_mode] of the API
 * @property {string[]} consumers the budget is that of the first
 * @property {number} rate_rps of the open loop
 * @property {number} rounds about so many, of the budget
 * @property {number} blocks of the closed loops, whose trials last duration_s
 *
 * @typedef {Plan & Ablation} AblatePlan
 * @typedef {TrialRecord[]} Records
 */

/**
 * The next trial: the budget by turns, with the first consumer; then, for what gets through, the closed loops in blocks,
 * all variants in an order that is drawn, the whole at the start, in the middle and at the end. Pure.
 *
 * @param {AblatePlan} plan
 * @param {Records} records
 * @param {NotAppliedCell[]} [notApplied] are left out
 * @returns {Step | null}
 */
export function nextStep(plan, records, notApplied = []) {
  const done = groupBy(records, ({ at }) => keyOf(at))
  const trials = trialsOf(plan)
  const isOut = (/** @type {Step['cell']} */ cell) => notApplied.some((one) => isSameCell(one.cell, cell))
  const next = trials.findIndex(({ key, cell }) => !isOut(cell) && !isSettled(done.get(key) ?? [], isTimely))
  if (next === -1) return null
  const { key, ...step } = trials[next]
  return { ...step, left_s: sumOf(trials.slice(next)) }
}

/** Seconds. @param {AblatePlan} plan */
export function durationOf(plan) {
  return sumOf(trialsOf(plan))
}

/** @param {{ load: { warmup_s: number, duration_s: number } }[]} trials @returns {number} seconds */
function sumOf(trials) {
  return trials.reduce((sum, { load }) => sum + load.warmup_s + load.duration_s + BETWEEN_TRIALS_S, 0)
}

/** Sound trials by turns. @param {Records} records */
export function takenByTurns(records) {
  return records.filter((record) => record.at.phase === 'turns' && isSound(record))
}

/** Sound trials of a consumer in blocks. @param {Records} records @param {string} consumer */
export function consumed(records, consumer) {
  return records.filter((record) => {
    return record.at.phase === 'blocks' && record.at.consumer === consumer && isSound(record)
  })
}

/** @param {Pick<AblatePlan, 'consumers'>} plan */
export function closedLoopsOf({ consumers }) {
  return consumers.filter((name) => CONSUMERS[name].loop === 'closed')
}

/** Trials of older versions: where each was in its design was a string. @param {string} experiment @returns {At} */
export function olderPlace(experiment) {
  const [phase, second, third] = experiment.split('/')
  if (phase === 'first') return { phase, before: second === BY_TURNS ? 'turns' : 'blocks', consumer: third }
  if (phase === 'turns') return { phase, consumer: second, position: Number(third) }
  return { phase: 'blocks', consumer: phase, block: Number(second), position: Number(third) }
}

const trialsOf = oncePerPlan((/** @type {AblatePlan} */ plan) => {
  const [first] = plan.consumers
  const closed = closedLoopsOf(plan)
  const variants = variantsOf({ ...plan, slow_us: {} })
  const blocks = visitsOf({ cells: variants, anchor: variants[0], blocks: plan.blocks, seed: plan.mix.seed })
  const trials = [
    trial(plan, { phase: 'first', before: 'turns', consumer: first }, BY_TURNS, { warmup_s: FIRST_WARMUP_S }),
    ...turnTrialsOf(plan).map((duration_s, position) => {
      return trial(plan, { phase: 'turns', consumer: first, position }, BY_TURNS, { duration_s })
    }),
    ...closed.map((consumer) => {
      return trial(plan, { phase: 'first', before: 'blocks', consumer }, WHOLE, { warmup_s: OTHER_WARMUP_S })
    }),
    ...blocks.flatMap(({ block, position, cell }) => {
      return closed.map((consumer) => trial(plan, { phase: 'blocks', consumer, block, position }, cell.name))
    }),
  ]
  return trials.map((one) => ({ ...one, key: keyOf(one.at) }))
})

/** @param {AblatePlan} plan @param {At} at @param {string} variant @param {{ warmup_s?: number, duration_s?: number }} [times] */
function trial({ rate_rps, duration_s }, at, variant, times) {
  const { loop } = CONSUMERS[at.consumer]
  const rate = loop === 'open' ? rate_rps : null
  const asked = { driver: at.consumer, loop, rate_rps: rate, connections: CONNECTIONS }
  return { at, cell: { variant }, load: { ...asked, warmup_s: WARMUP_S, duration_s, ...times } }
}

/** @param {AblatePlan} plan @returns {number[]} seconds of each */
function turnTrialsOf({ rate_rps, rounds, ...plan }) {
  const visits = orderOf(turnsOf(plan), 0).length
  const round_s = (visits * REQUESTS_PER_TURN * (1 + BEFORE_TURN_RATIO)) / rate_rps
  const fitting = Math.min(rounds, Math.max(LEAST_ROUNDS, Math.floor(TURNS_S / round_s)))
  // The one that is on when it begins does not count.
  const duration_s = Number(((fitting + 1) * round_s).toFixed(3))
  return Array(Math.ceil(rounds / fitting)).fill(duration_s)
}

/** @param {At} at */
function keyOf({ phase, before, consumer, block, position }) {
  return [phase, before, consumer, block, position].join()
}
