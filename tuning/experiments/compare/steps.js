import { byExperiment, isSettled, isValid } from '../../../load/capacity/ladder.js'
import { capacityOf, capacityStep } from '../../stats/capacity-of.js'
import { oncePerPlan, visitsOf } from '../../stats/design.js'
import { generatorShare } from '../../stats/generator-share.js'

/**
 * @import { Plan, Step } from '../../../load/run/experiment.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Side } from '../../knobs/sides.js'
 */

/** The ladder of workers, each with a cap of its own, until one brings less than this. */
const WORKERS = [10, 20, 40, 80, 160, 320, 640]
const GAIN = 1.05

const WARMUP_S = 0.5
const START_S = 1

/** For the bar: rungs that a ladder has as a rule, and the search for a rate limit. */
const USUAL_RUNGS = 5

/** Answers that are refusals. */
const REFUSALS = ['429', '503']

/** One refusal may be an accident. */
const REFUSED_RATIO = 0.01

/**
 * @typedef {'a' | 'b'} Name
 * @typedef {TrialRecord[]} Records
 * @typedef {Plan & Comparison} ComparePlan
 *
 * @typedef {object} Comparison
 * @property {Record<Name, Side>} sides
 * @property {number[]} concurrency
 * @property {number} per_worker_rps
 * @property {number} blocks
 * @property {number} ladders blocks in which the maximum is looked for, too
 * @property {number} rung_s
 */

/**
 * The next trial: in blocks, both sides in an order that is drawn, each at every concurrency and then with more and more
 * workers; then, for a side that refused requests, the rate up to which it does not. The open loop that finds it sends one
 * kind of request, so that there is no such search for a mix of several. Pure.
 *
 * @param {ComparePlan} plan
 * @param {Records} records
 * @returns {Step | null}
 */
export function nextStep(plan, records) {
  const visits = visitsTo(plan)
  const trials = byExperiment(records)
  for (const [i, visit] of visits.entries()) {
    const step = latencyStep(plan, visit, trials) ?? ladderStep(plan, visit, trials)
    if (step) return { ...step, left_s: (durationOf(plan) * (visits.length - i)) / visits.length }
  }
  if (plan.mix.entries) return null
  for (const name of /** @type {const} */ (['a', 'b'])) {
    const step = refused(name, records) ? capacityStep('limit', name, searchPlan(plan, name), records) : null
    if (step) return step
  }
  return null
}

const visitsTo = oncePerPlan((/** @type {ComparePlan} */ { blocks, concurrency, mix }) => {
  return visitsOf({ cells: ['a', 'b'], anchor: null, blocks, seed: mix.seed }).map((visit) => ({
    ...visit,
    latency: concurrency.map((connections) => ({
      connections,
      experiment: `latency/${visit.block}/${visit.position}/${connections}`,
    })),
    ladder: WORKERS.map((workers) => ({ workers, experiment: `max/${visit.block}/${visit.position}/${workers}` })),
  }))
})

/** @typedef {ReturnType<typeof visitsTo>[number]} Visit */

/** Seconds. @param {ComparePlan} plan */
export function durationOf({ blocks, ladders, concurrency, duration_s, rung_s }) {
  const latency_s = concurrency.length * (duration_s + WARMUP_S + START_S)
  return 2 * (blocks * latency_s + ladders * USUAL_RUNGS * (rung_s + WARMUP_S + START_S))
}

/** Valid trials at a concurrency. @param {Records} records @param {Name} name @param {number} concurrency */
export function latencyTrials(records, name, concurrency) {
  return validOf(records, name, 'latency').filter(({ load }) => load.connections === concurrency)
}

/**
 * The best rung of each ladder that ended as it should. Where a rung could not be had, what lies beyond it is not known.
 *
 * @param {Records} records
 * @param {Name} name
 * @returns {Maximum[]}
 *
 * @typedef {{ block: number, rps: number, workers: number, generator_share: number, rising: boolean }} Maximum
 *   generator_share: of the cores that the generator can use; rising: the last rung still brought more
 */
export function maximaOf(records, name) {
  const own = records.filter(({ cell, experiment }) => cell === name && experiment.startsWith('max/'))
  const blocks = byExperiment(own, (experiment) => String(blockOf({ experiment })))
  return [...blocks.values()].flatMap((trials) => {
    const block = blockOf(trials[0])
    const rungs = WORKERS.flatMap(
      (workers) => trials.find(({ load, outcome }) => load.connections === workers && isValid({ outcome })) ?? [],
    )
    const [before, last] = [rungs.at(-2), rungs.at(-1)].map((rung) => rung?.traffic.goodput_rps ?? 0)
    const rising = last > 0 && last >= GAIN * before
    const isWhole = rungs.length === new Set(trials.map(({ load }) => load.connections)).size
    const isOver = !rising || rungs.length === WORKERS.length
    if (rungs.length === 0 || !isWhole || !isOver) return []
    const best = rungs.reduce((one, other) => (other.traffic.goodput_rps > one.traffic.goodput_rps ? other : one))
    const { traffic, load } = best
    return [
      { block, rps: traffic.goodput_rps, workers: load.connections, generator_share: generatorShare(best), rising },
    ]
  })
}

/** Valid trials of the ladders. @param {Records} records @param {Name} name */
export function ladderTrials(records, name) {
  return validOf(records, name, 'max')
}

/** @param {{ experiment: string }} record */
export function blockOf({ experiment }) {
  return Number(experiment.split('/')[1])
}

/** The share of requests that were refused. @param {Records[number]} record */
export function refusedRatio({ traffic }) {
  const count = REFUSALS.reduce((sum, status) => sum + (traffic.status[status] ?? 0), 0)
  return traffic.completed === 0 ? 0 : count / traffic.completed
}

/** Whether somebody stood in front of a side and sent requests away. @param {Name} name @param {Records} records */
export function refused(name, records) {
  return records.some((record) => record.cell === name && isRefused(record))
}

/** @param {Records[number]} record */
export function isRefused(record) {
  return refusedRatio(record) > REFUSED_RATIO
}

/** Up to which rate a side refuses nothing. @param {ComparePlan} plan @param {Name} name @param {Records} records */
export function rateLimit(plan, name, records) {
  return capacityOf('limit', name, searchPlan(plan, name), records)
}

/**
 * @param {ComparePlan} plan
 * @param {Visit} visit
 * @param {Map<string, Records>} trials by experiment
 * @returns {Step | null}
 */
function latencyStep({ duration_s }, { cell, latency }, trials) {
  for (const { experiment, connections } of latency) {
    if (isSettled(trials.get(experiment) ?? [])) continue
    return { experiment, cell, left_s: 0, load: { ...closed(connections, duration_s), per_worker_rps: 0 } }
  }
  return null
}

/**
 * @param {ComparePlan} plan
 * @param {Visit} visit
 * @param {Map<string, Records>} trials by experiment
 * @returns {Step | null}
 */
function ladderStep({ ladders, per_worker_rps, rung_s }, { block, cell, ladder }, trials) {
  if (block >= ladders) return null
  let before_rps = 0
  for (const { experiment, workers } of ladder) {
    const own = trials.get(experiment) ?? []
    if (!isSettled(own)) {
      return { experiment, cell, left_s: 0, load: { ...closed(workers, rung_s), per_worker_rps } }
    }
    const goodput_rps = own.find(isValid)?.traffic.goodput_rps ?? 0
    if (goodput_rps < GAIN * before_rps) return null
    before_rps = goodput_rps
  }
  return null
}

/** @param {number} connections @param {number} duration_s */
function closed(connections, duration_s) {
  const loop = /** @type {const} */ ('closed')
  return { driver: 'client', loop, rate_rps: null, connections, warmup_s: WARMUP_S, duration_s }
}

/** @param {Records} records @param {Name} name @param {string} kind */
function validOf(records, name, kind) {
  return records.filter((record) => {
    return record.cell === name && record.experiment.startsWith(`${kind}/`) && isValid(record)
  })
}

/** Every answer a success, however late. @param {ComparePlan} plan @param {Name} name @returns {Plan} */
function searchPlan(plan, name) {
  const { url } = plan.sides[name]
  return {
    ...plan,
    url,
    searches: true,
    confirms: false,
    connections: [64],
    warmup_s: 0.5,
    duration_s: 2 * plan.rung_s,
  }
}
