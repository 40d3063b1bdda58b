import { nextOfProof, PROOF_S } from '../../../load/capacity/proving.js'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { oncePer, visitsOf } from '../../stats/design.js'
import { nextTrial, trialsAt } from '../../stats/matrix.js'
import { isSound, isTimely } from '../../stats/sound.js'
import { BY_TURNS, nameOf, orderOf, REQUESTS_PER_TURN, variantsOf, WHOLE } from './stages.js'

/**
 * @import { At, NotAppliedCell, Step, TrialRecord } from '../../../load/report/record.js'
 * @import { planOf } from './ablate.js'
 */

/** Generators that send the requests. @type {Record<string, string>} */
export const CONSUMERS = {
  paced: 'an open loop slow enough for every variant',
  autocannon: 'a closed loop that does next to nothing with the responses',
  client: "a closed loop of Node's own HTTP client, which a program would use",
}

const CONNECTIONS = 32
const WARMUP_S = 0.1

/** Time to start and stop a trial's processes, and to count its rows. */
const BETWEEN_TRIALS_S = 0.45

/** Warm-up until V8 has compiled all variants, and the shorter one that each further consumer needs. */
const FIRST_WARMUP_S = 4
const OTHER_WARMUP_S = 0.5

/** Length of a trial by turns, short enough that an interrupted run keeps most of its data, and the fewest rounds in it. */
const TURNS_S = 15
const LEAST_ROUNDS = 3

/** Requests from before a change, which must end first, as a share of a turn's requests. */
const BEFORE_TURN_RATIO = 0.1

/**
 * The next trial: the budget by turns, with the first consumer; then the closed loops in blocks, all variants in a random order, the
 * whole at the start, in the middle and at the end; then the proof of the whole. Pure.
 * @param {AblatePlan} plan @param {Records} records @param {NotAppliedCell[]} [notApplied] cells to skip @returns {Step | null}
 * @typedef {ReturnType<typeof planOf>} AblatePlan
 * @typedef {TrialRecord[]} Records
 */
export function nextStep(plan, records, notApplied = []) {
  const visits = trialsOf(plan)
  const step = nextTrial({ visits, visit_s: 0, counts: isTimely }, records, notApplied)
  if (!step) return proofStep(plan, records)
  const left = visits.slice(visits.findIndex(({ at }) => at === step.at))
  return { ...step, left_s: sumOf(left) + proofOf_s(plan) }
}

/** The next trial of the proof: the closed loop of the blocks, on the whole. @param {AblatePlan} plan @param {Records} records @returns {Step | null} */
function proofStep(plan, records) {
  const seen = consumed(records, String(proverOf(plan)), WHOLE).at(-1)
  if (!seen) return null
  const { driver, loop, rate_rps, connections } = seen.load
  const load = { driver, loop, rate_rps, connections }
  return nextOfProof({ ...plan, warmup_s: OTHER_WARMUP_S }, records, { seen, load })
}

/** The closed loop of the proof, preferably the cheapest, or null if not proven. @param {Pick<AblatePlan, 'consumers' | 'proves'>} plan */
export function proverOf({ consumers, proves }) {
  const [first = null] = closedLoopsOf({ consumers }).sort((a, b) => a.localeCompare(b))
  return proves ? first : null
}

/** @param {AblatePlan} plan */
function proofOf_s(plan) {
  return proverOf(plan) === null ? 0 : PROOF_S
}

/** Duration of the whole run, in seconds. @param {AblatePlan} plan */
export function durationOf(plan) {
  return sumOf(trialsOf(plan)) + proofOf_s(plan)
}

/** @param {{ load: { warmup_s: number, duration_s: number } }[]} trials @returns {number} seconds */
function sumOf(trials) {
  return trials.reduce((sum, { load }) => sum + load.warmup_s + load.duration_s + BETWEEN_TRIALS_S, 0)
}

/** Sound trials by turns. @param {Records} records */
export function takenByTurns(records) {
  return trialsAt(records, { phase: 'turns' }, isSound)
}

/** A consumer's sound trials in blocks, of one variant or all. @param {Records} records @param {string} consumer @param {string} [variant] */
export function consumed(records, consumer, variant) {
  const trials = trialsAt(records, { phase: 'blocks', consumer }, isSound)
  return variant === undefined ? trials : trials.filter(({ cell }) => cell.variant === variant)
}

/** @param {Pick<AblatePlan, 'consumers'>} plan */
export function closedLoopsOf({ consumers }) {
  return consumers.filter((name) => DRIVERS[name].loop === 'closed')
}

const trialsOf = oncePer((/** @type {AblatePlan} */ plan) => {
  const { blocks, consumers, duration_s, mix, rate_rps, stages } = plan
  const closed = closedLoopsOf(plan)
  const [whole, ...others] = variantsOf(stages).map(nameOf)
  const visits = visitsOf({ cells: [whole, ...others], anchor: whole, blocks, seed: mix.seed })
  const trial = (/** @type {At} */ at, /** @type {string} */ variant, times = {}) => {
    const { loop } = DRIVERS[at.consumer]
    const rate = { rate_rps: loop === 'open' ? rate_rps : null, connections: CONNECTIONS }
    return {
      at,
      cell: { variant },
      load: { driver: at.consumer, loop, ...rate, warmup_s: WARMUP_S, duration_s, ...times },
    }
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
      return closed.map((consumer) => trial({ phase: 'blocks', consumer, block, position }, cell))
    }),
  ]
})

/** Duration of each trial by turns, in seconds. @param {AblatePlan} plan @returns {number[]} */
function turnTrialsOf({ rate_rps, rounds, stages }) {
  const visits = orderOf(variantsOf(stages).length, 0).length
  const round_s = (visits * REQUESTS_PER_TURN * (1 + BEFORE_TURN_RATIO)) / rate_rps
  const fitting = Math.min(rounds, Math.max(LEAST_ROUNDS, Math.floor(TURNS_S / round_s)))
  // The round during which the trial begins does not count.
  const duration_s = Number(((fitting + 1) * round_s).toFixed(3))
  return Array(Math.ceil(rounds / fitting)).fill(duration_s)
}
