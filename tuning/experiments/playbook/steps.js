import { isSettled, isValid } from '../../../load/capacity/ladder.js'
import { loadOf } from '../../knobs/open-cell.js'
import { levelsOf, nameOf, visitsOf } from '../../stats/design.js'
import { EXPERIMENTS } from './experiments.js'

/**
 * @import { NotAppliedCell, Plan, Step } from '../../../load/run/experiment.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Experiment, ExperimentLoad } from './experiments.js'
 */

const WARMUP_S = 2
const PEAK_S = 2
const DURATION_S = 2
const START_S = 1.5

/** An open loop of a claim needs no more connections than this to find out what a closed one takes. */
const PEAK_CONNECTIONS = 128

/**
 * @typedef {Plan & { experiments: string[], blocks: number }} PlaybookPlan
 * @typedef {TrialRecord[]} Records
 */

/**
 * The next trial: each experiment in turn, its two cells in blocks, in an order that is drawn for each. Pure.
 *
 * @param {PlaybookPlan} plan
 * @param {Records} records
 * @param {NotAppliedCell[]} notApplied
 * @returns {Step | null}
 */
export function nextStep(plan, records, notApplied) {
  for (const [i, name] of plan.experiments.entries()) {
    const cells = cellsOf(name)
    if (cells.some((cell) => notApplied.some((one) => one.cell === cell))) continue
    const later_s = plan.experiments.slice(i + 1).reduce((sum, other) => sum + durationOf(other, plan.blocks), 0)
    const step = experimentStep(name, cells, plan, records)
    if (step) return { ...step, left_s: step.left_s + later_s }
  }
  return null
}

/** Seconds. @param {string} name @param {number} blocks */
export function durationOf(name, blocks) {
  const { duration_s = DURATION_S, share } = loadPlan(name)
  return 2 * blocks * (START_S + WARMUP_S + duration_s) + (share ? PEAK_S + WARMUP_S + START_S : 0)
}

/** The names of both cells, the reference first. @param {string} name @returns {string[]} */
export function cellsOf(name) {
  const { common = {}, cells } = /** @type {Record<string, Experiment>} */ (EXPERIMENTS)[name]
  return cells.map((levels) => nameOf({ ...common, ...levels }))
}

/** @param {{ experiment: string }} record */
export function experimentOf({ experiment }) {
  return experiment.split('/')[0]
}

/** Whether a trial is a measurement. @param {string} name @param {TrialRecord} record */
export function countsOf(name, record) {
  if (record.experiment.endsWith('/peak')) return false
  return isValid(record) || (loadPlan(name).blames_generator === true && record.outcome.blame === 'generator')
}

/**
 * @param {string} name
 * @param {string[]} cells
 * @param {PlaybookPlan} plan
 * @param {Records} records
 * @returns {Step | null}
 */
function experimentStep(name, cells, { blocks, mix }, records) {
  const { connections, rate_rps, share, duration_s = DURATION_S } = loadPlan(name)
  const own = records.filter((record) => experimentOf(record) === name)
  const closed = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, connections }
  const peak = share ? peakOf(name, own) : null
  if (share && peak === null) {
    if (isSettled(own)) return null
    const load = { ...closed, connections: PEAK_CONNECTIONS, warmup_s: WARMUP_S, duration_s: PEAK_S }
    return { experiment: `${name}/peak`, cell: cells[0], left_s: durationOf(name, blocks), load }
  }
  const rate = share ? Math.max(1, Math.round(share * Number(peak))) : rate_rps
  const open = { driver: 'paced', loop: /** @type {const} */ ('open'), rate_rps: Number(rate), connections }
  const visits = visitsOf({ cells, anchor: null, blocks, seed: mix.seed })
  for (const [i, { block, position, cell }] of visits.entries()) {
    const experiment = `${name}/${block}/${position}`
    const trials = own.filter((record) => record.experiment === experiment)
    if (isSettled(trials, (record) => countsOf(name, record))) continue
    const left_s = (durationOf(name, blocks) * (visits.length - i)) / visits.length
    const base = rate === undefined ? closed : open
    return { experiment, cell, left_s, load: { ...base, warmup_s: WARMUP_S, duration_s, ...loadOf(levelsOf(cell)) } }
  }
  return null
}

/** What the reference takes in a closed loop. @param {string} name @param {Records} own @returns {number | null} */
function peakOf(name, own) {
  const trial = own.find((record) => record.experiment === `${name}/peak` && isValid(record))
  return trial?.traffic.goodput_rps ?? null
}

/** @param {string} name @returns {ExperimentLoad} */
function loadPlan(name) {
  return /** @type {Record<string, Experiment>} */ (EXPERIMENTS)[name].load
}
