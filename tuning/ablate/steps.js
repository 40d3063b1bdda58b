import { visitsOf } from '../design.js'
import { cellsOf, WHOLE } from './stages.js'

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

/** Until V8 has compiled what is measured: the whole, and what runs instead of each stage. */
const FIRST_WARMUP_S = 1.5
const FIRST = 'first'

/**
 * @typedef {object} Ablation
 * @property {string[]} stages
 * @property {Record<string, number>} slow_us busy waits planted in stages
 * @property {string[]} consumers the budget is that of the first
 * @property {number} rate_rps of the open loop
 * @property {number} blocks
 * @property {number} other_blocks of the consumers behind the first
 *
 * @typedef {import('../../load/run.js').Plan & Ablation} AblatePlan
 * @typedef {import('../../load/trial.js').TrialRecord[]} Records
 */

/**
 * The next trial: in blocks, all cells in an order that is drawn, the whole at the start, in the middle and at the end,
 * and at each of them all consumers. Pure.
 *
 * @param {AblatePlan} plan
 * @param {Records} records
 * @returns {import('../../load/run.js').Step | null}
 */
export function nextStep(plan, records) {
  const cells = cellsOf(plan)
  const total_s = durationOf(plan)
  const done = doneIn(records)
  for (const cell of [WHOLE, cells[cells.length - 1]]) {
    const experiment = `${FIRST}/${cell}`
    const load = { ...loadOf(plan.consumers[0], plan), warmup_s: FIRST_WARMUP_S }
    if (!done.has(experiment)) return { experiment, cell, left_s: total_s, load }
  }
  const trials = trialsOf(plan)
  const next = trials.findIndex(({ experiment }) => !done.has(experiment))
  if (next === -1) return null
  const { consumer, ...trial } = trials[next]
  return { ...trial, left_s: total_s * (1 - next / trials.length), load: loadOf(consumer, plan) }
}

/** Seconds. @param {AblatePlan} plan */
export function durationOf(plan) {
  return trialsOf(plan).length * (plan.duration_s + WARMUP_S + BETWEEN_TRIALS_S) + 2 * FIRST_WARMUP_S
}

/** Valid trials of a consumer, those that only warmed up not among them. @param {Records} records @param {string} consumer */
export function consumed(records, consumer) {
  return records.filter(({ experiment, outcome }) => {
    return experiment.startsWith(`${consumer}/`) && outcome.verdict !== 'invalid'
  })
}

/** @param {{ experiment: string }} record */
export function blockOf({ experiment }) {
  return Number(experiment.split('/')[1])
}

/** @param {AblatePlan} plan */
function trialsOf(plan) {
  const { consumers, blocks, other_blocks, mix } = plan
  return visitsOf({ cells: cellsOf(plan), anchor: WHOLE, blocks, seed: mix.seed }).flatMap(
    ({ block, position, cell }) => {
      // Where it is visited again, it is for the noise of the budget.
      const isAgain = cell === WHOLE && position > 0
      const here = consumers.filter((_, i) => i === 0 || (block < other_blocks && !isAgain))
      return here.map((consumer) => ({ experiment: `${consumer}/${block}/${position}`, cell, consumer }))
    },
  )
}

/** @param {string} consumer @param {AblatePlan} plan */
function loadOf(consumer, { rate_rps, duration_s }) {
  const { loop } = CONSUMERS[consumer]
  const rate = loop === 'open' ? rate_rps : null
  return { driver: consumer, loop, rate_rps: rate, connections: CONNECTIONS, warmup_s: WARMUP_S, duration_s }
}

/** Those that have a valid trial, or are given up. @param {Records} records */
function doneIn(records) {
  /** @type {Map<string, number>} */
  const tries = new Map()
  for (const { experiment, outcome } of records) {
    const weight = outcome.verdict === 'invalid' ? 1 : MAX_INVALID
    tries.set(experiment, (tries.get(experiment) ?? 0) + weight)
  }
  return new Set([...tries].flatMap(([experiment, count]) => (count >= MAX_INVALID ? experiment : [])))
}
