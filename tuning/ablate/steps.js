import { visitsOf } from '../design.js'
import { isLate, isSound } from '../sound.js'
import { cellOf, cellsOf, PLANTED, WHOLE } from './stages.js'

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

/** Until V8 has compiled what is measured: the whole, and what runs instead of each stage; then what another load needs. */
const FIRST_WARMUP_S = 1.5
const OTHER_WARMUP_S = 0.5
const FIRST = 'first'

/** At the start, in the middle and at the end of a block. */
const ANCHOR_VISITS = 3

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
 * @param {import('../../load/run.js').NotAppliedCell[]} [notApplied] are left out
 * @returns {import('../../load/run.js').Step | null}
 */
export function nextStep(plan, records, notApplied = []) {
  const total_s = durationOf(plan)
  const done = doneIn(records)
  const isOpen = (/** @type {{ experiment: string, cell: string }} */ { experiment, cell }) => {
    return !done.has(experiment) && !notApplied.some((one) => one.cell === cell)
  }
  const first = warmupsOf(plan).find(isOpen)
  if (first) return { ...first, left_s: total_s }
  const trials = trialsOf(plan)
  const next = trials.findIndex(isOpen)
  if (next === -1) return null
  const { consumer, ...trial } = trials[next]
  return { ...trial, left_s: total_s * (1 - next / trials.length), load: loadOf(consumer, plan) }
}

/** Seconds. @param {AblatePlan} plan */
export function durationOf(plan) {
  const loads = [
    ...warmupsOf(plan).map(({ load }) => load),
    ...trialsOf(plan).map(({ consumer }) => loadOf(consumer, plan)),
  ]
  return loads.reduce((sum, { warmup_s, duration_s }) => sum + warmup_s + duration_s + BETWEEN_TRIALS_S, 0)
}

/** Sound trials of a consumer, those that only warmed up not among them. @param {Records} records @param {string} consumer */
export function consumed(records, consumer) {
  return records.filter((record) => isOf(record, consumer) && isSound(record))
}

/** Whether a trial is a consumer's, and more than a warm-up. @param {{ experiment: string }} record @param {string} consumer */
export function isOf({ experiment }, consumer) {
  return experiment.startsWith(`${consumer}/`)
}

/** @param {{ experiment: string }} record */
export function blockOf({ experiment }) {
  return Number(experiment.split('/')[1])
}

/** @param {AblatePlan} plan */
function warmupsOf(plan) {
  const cells = cellsOf(plan)
  const [first, ...others] = plan.consumers
  const own = [WHOLE, cells[cells.length - 1]].map((cell) => ({ cell, consumer: first, warmup_s: FIRST_WARMUP_S }))
  const rest = others.map((consumer) => ({ cell: WHOLE, consumer, warmup_s: OTHER_WARMUP_S }))
  return [own[0], ...rest, own[1]].map(({ cell, consumer, warmup_s }) => {
    return { experiment: `${FIRST}/${cell}/${consumer}`, cell, load: { ...loadOf(consumer, plan), warmup_s } }
  })
}

/** @param {AblatePlan} plan */
function trialsOf(plan) {
  const { consumers, blocks, other_blocks, mix } = plan
  // What was planted has to be found within some microseconds: it is as often away as there.
  const planted = Array(ANCHOR_VISITS - 1).fill(cellOf([PLANTED]))
  const cells = [...cellsOf(plan), ...(Object.keys(plan.slow_us).length > 0 ? planted : [])]
  return visitsOf({ cells, anchor: WHOLE, blocks, seed: mix.seed }).flatMap(({ block, position, cell }) => {
    const here = consumers.filter((_, i) => i === 0 || block < other_blocks)
    return here.map((consumer) => ({ experiment: `${consumer}/${block}/${position}`, cell, consumer }))
  })
}

/** @param {string} consumer @param {AblatePlan} plan */
function loadOf(consumer, { rate_rps, duration_s }) {
  const { loop } = CONSUMERS[consumer]
  const rate = loop === 'open' ? rate_rps : null
  return { driver: consumer, loop, rate_rps: rate, connections: CONNECTIONS, warmup_s: WARMUP_S, duration_s }
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
