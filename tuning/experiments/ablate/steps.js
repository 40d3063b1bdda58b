import { oncePerPlan, visitsOf } from '../../stats/design.js'
import { isLate, isSound } from '../../stats/sound.js'
import { BY_TURNS, cellsOf, REQUESTS_PER_TURN, turnsOf, WHOLE } from './stages.js'

/**
 * @import { NotAppliedCell, Plan, Step } from '../../../load/run/experiment.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
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
const MAX_INVALID = 2
const WARMUP_S = 0.1

/** A trial's processes begin and end, and its rows are counted. */
const BETWEEN_TRIALS_S = 0.45

/** Until V8 has compiled what is measured: all variants, then what another load needs. */
const FIRST_WARMUP_S = 4
const OTHER_WARMUP_S = 0.5
const FIRST = 'first'

const TURNS = 'turns'

/** Of a trial by turns, and the least rounds of it: what was measured is kept, should the run be cut off. */
const TURNS_S = 15
const LEAST_ROUNDS = 3

/** Of a turn's requests: those that have to be let out before it. */
const BEFORE_TURN_RATIO = 0.1

/**
 * @typedef {object} Ablation
 * @property {string[]} stages
 * @property {Record<string, number>} slow_us CPU planted in stages
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
 * all cells in an order that is drawn, the whole at the start, in the middle and at the end. Pure.
 *
 * @param {AblatePlan} plan
 * @param {Records} records
 * @param {NotAppliedCell[]} [notApplied] are left out
 * @returns {Step | null}
 */
export function nextStep(plan, records, notApplied = []) {
  const done = doneIn(records)
  const trials = trialsOf(plan)
  const out = new Set(notApplied.map(({ cell }) => cell))
  const next = trials.findIndex(({ experiment, cell }) => !done.has(experiment) && !out.has(cell))
  if (next === -1) return null
  return { ...trials[next], left_s: sumOf(trials.slice(next)) }
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
  return records.filter((record) => isByTurns(record) && isSound(record))
}

/** @param {{ experiment: string }} record */
export function isByTurns({ experiment }) {
  return experiment.startsWith(`${TURNS}/`)
}

/** Sound trials of a consumer in blocks. @param {Records} records @param {string} consumer */
export function consumed(records, consumer) {
  return records.filter((record) => isOf(record, consumer) && isSound(record))
}

/** Whether a trial is one of a consumer's blocks. @param {{ experiment: string }} record @param {string} consumer */
export function isOf({ experiment }, consumer) {
  return experiment.startsWith(`${consumer}/`)
}

/** @param {{ experiment: string }} record */
export function blockOf({ experiment }) {
  return Number(experiment.split('/')[1])
}

/** @param {Pick<AblatePlan, 'consumers'>} plan */
export function closedLoopsOf({ consumers }) {
  return consumers.filter((name) => CONSUMERS[name].loop === 'closed')
}

const trialsOf = oncePerPlan((/** @type {AblatePlan} */ plan) => {
  const { consumers, duration_s } = plan
  const [first] = consumers
  const turns = turnTrialsOf(plan).map((duration_s, i) => {
    return { experiment: `${TURNS}/${first}/${i}`, cell: BY_TURNS, load: loadOf(first, plan, duration_s) }
  })
  const warmups = [
    { cell: BY_TURNS, consumer: first, warmup_s: FIRST_WARMUP_S },
    ...closedLoopsOf(plan).map((consumer) => ({ cell: WHOLE, consumer, warmup_s: OTHER_WARMUP_S })),
  ].map(({ cell, consumer, warmup_s }) => {
    return { experiment: `${FIRST}/${cell}/${consumer}`, cell, load: loadOf(consumer, plan, duration_s, warmup_s) }
  })
  return [warmups[0], ...turns, ...warmups.slice(1), ...blockTrialsOf(plan)]
})

/** @param {AblatePlan} plan @returns {number[]} seconds of each */
function turnTrialsOf({ rate_rps, rounds, ...plan }) {
  const visits = visitsOf({ cells: turnsOf(plan), anchor: WHOLE, blocks: 1, seed: 0 }).length
  const round_s = (visits * REQUESTS_PER_TURN * (1 + BEFORE_TURN_RATIO)) / rate_rps
  const fitting = Math.min(rounds, Math.max(LEAST_ROUNDS, Math.floor(TURNS_S / round_s)))
  // The one that is on when it begins does not count.
  const duration_s = Number(((fitting + 1) * round_s).toFixed(3))
  return Array.from({ length: Math.ceil(rounds / fitting) }, () => duration_s)
}

/** @param {AblatePlan} plan */
function blockTrialsOf(plan) {
  const closed = closedLoopsOf(plan)
  const { blocks, mix, duration_s } = plan
  return visitsOf({ cells: cellsOf({ ...plan, slow_us: {} }), anchor: WHOLE, blocks, seed: mix.seed }).flatMap(
    ({ block, position, cell }) => {
      return closed.map((consumer) => {
        return { experiment: `${consumer}/${block}/${position}`, cell, load: loadOf(consumer, plan, duration_s) }
      })
    },
  )
}

/** @param {string} consumer @param {AblatePlan} plan @param {number} duration_s @param {number} [warmup_s] */
function loadOf(consumer, { rate_rps }, duration_s, warmup_s = WARMUP_S) {
  const { loop } = CONSUMERS[consumer]
  const rate = loop === 'open' ? rate_rps : null
  return { driver: consumer, loop, rate_rps: rate, connections: CONNECTIONS, warmup_s, duration_s }
}

/** Those that have a trial that tells something, or are given up. @param {Records} records */
function doneIn(records) {
  /** @type {Map<string, number>} */
  const tries = new Map()
  for (const record of records) {
    const { experiment, outcome } = record
    const weight = outcome.verdict === 'invalid' || isLate(record) ? 1 : MAX_INVALID
    tries.set(experiment, (tries.get(experiment) ?? 0) + weight)
  }
  return new Set([...tries].flatMap(([experiment, count]) => (count >= MAX_INVALID ? experiment : [])))
}
