import { isSettled } from '../../../load/capacity/ladder.js'
import { isSameCell } from '../../../load/report/format.js'
import { groupBy, oncePerPlan, visitsOf } from '../../stats/design.js'
import { trialsAt } from '../../stats/matrix.js'
import { isSound, isTimely } from '../../stats/sound.js'
import { BY_TURNS, orderOf, REQUESTS_PER_TURN, turnsOf, variantsOf, WHOLE } from './stages.js'

/**
 * @import { At, NotAppliedCell, Step, TrialRecord } from '../../../load/report/record.js'
 * @import { planOf } from './ablate.js'
 */

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

/** Of a trial by turns, and the least rounds of it: what was measured is kept if the run is cut off. */
const TURNS_S = 15
const LEAST_ROUNDS = 3

/** Of a turn's requests: those from before the change, which have to end first. */
const BEFORE_TURN_RATIO = 0.1

/**
 * The next trial: the budget by turns, with the first consumer; then the closed loops in blocks, all variants in a random order,
 * the whole at the start, in the middle and at the end. Pure.
 *
 * @param {AblatePlan} plan
 * @param {Records} records
 * @param {NotAppliedCell[]} [notApplied] are left out
 * @returns {Step | null}
 *
 * @typedef {ReturnType<typeof planOf>} AblatePlan
 * @typedef {TrialRecord[]} Records
 */
export function nextStep(plan, records, notApplied = []) {
  const done = groupBy(records, ({ at }) => JSON.stringify(at))
  const trials = trialsOf(plan)
  const next = trials.findIndex(({ at, cell }) => {
    const isOut = notApplied.some((one) => isSameCell(one.cell, cell))
    return !isOut && !isSettled(done.get(JSON.stringify(at)) ?? [], isTimely)
  })
  return next === -1 ? null : { ...trials[next], left_s: sumOf(trials.slice(next)) }
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
  return trialsAt(records, { phase: 'turns' }, isSound)
}

/** Sound trials of a consumer in blocks. @param {Records} records @param {string} consumer */
export function consumed(records, consumer) {
  return trialsAt(records, { phase: 'blocks', consumer }, isSound)
}

/** @param {Pick<AblatePlan, 'consumers'>} plan */
export function closedLoopsOf({ consumers }) {
  return consumers.filter((name) => CONSUMERS[name].loop === 'closed')
}

/** Trials of older versions: the place of each in its design was a string. @param {string} experiment @returns {At} */
export function olderPlace(experiment) {
  const [phase, second, third] = experiment.split('/')
  if (phase === 'first') return { phase, before: second === BY_TURNS ? 'turns' : 'blocks', consumer: third }
  if (phase === 'turns') return { phase, consumer: second, position: Number(third) }
  return { phase: 'blocks', consumer: phase, block: Number(second), position: Number(third) }
}

const trialsOf = oncePerPlan((/** @type {AblatePlan} */ plan) => {
  const { consumers, duration_s, mix } = plan
  const closed = closedLoopsOf(plan)
  const variants = variantsOf({ ...plan, slow_us: {} })
  const visits = visitsOf({ cells: variants, anchor: variants[0], blocks: plan.blocks, seed: mix.seed })
  const trial = (/** @type {At} */ at, /** @type {string} */ variant, times = {}) => {
    const { loop } = CONSUMERS[at.consumer]
    const rate_rps = loop === 'open' ? plan.rate_rps : null
    const load = { driver: at.consumer, loop, rate_rps, connections: CONNECTIONS, warmup_s: WARMUP_S, duration_s }
    return { at, cell: { variant }, load: { ...load, ...times } }
  }
  const [consumer] = consumers
  return [
    trial({ phase: 'first', before: 'turns', consumer }, BY_TURNS, { warmup_s: FIRST_WARMUP_S }),
    ...turnTrialsOf(plan).map((duration_s, position) => {
      return trial({ phase: 'turns', consumer, position }, BY_TURNS, { duration_s })
    }),
    ...closed.map((consumer) => {
      return trial({ phase: 'first', before: 'blocks', consumer }, WHOLE, { warmup_s: OTHER_WARMUP_S })
    }),
    ...visits.flatMap(({ block, position, cell }) => {
      return closed.map((consumer) => trial({ phase: 'blocks', consumer, block, position }, cell.name))
    }),
  ]
})

/** Seconds of each trial by turns. @param {AblatePlan} plan @returns {number[]} */
function turnTrialsOf({ rate_rps, rounds, ...plan }) {
  const visits = orderOf(turnsOf(plan), 0).length
  const round_s = (visits * REQUESTS_PER_TURN * (1 + BEFORE_TURN_RATIO)) / rate_rps
  const fitting = Math.min(rounds, Math.max(LEAST_ROUNDS, Math.floor(TURNS_S / round_s)))
  // The round that is on when the trial begins does not count.
  const duration_s = Number(((fitting + 1) * round_s).toFixed(3))
  return Array(Math.ceil(rounds / fitting)).fill(duration_s)
}
