import { outcomeOf, speedIn } from '../../../load/capacity/of-records.js'
import * as search from '../../../load/capacity/search.js'
import { seededRandom } from '../../../load/system/random.js'
import { meanOf } from '../../../load/verdict/ranks.js'
import { SCATTER } from '../../stats/design.js'
import { CURVES } from './curves.js'

/**
 * @import { SearchTrial } from '../../../load/capacity/search.js'
 * @import { Judged, Service } from './curves.js'
 */

/** Time of a trial in addition to its load: the generator starts and warms up, and the table is emptied and counted. */
const OVERHEAD_S = 1.2

/** A capacity outside the interval by no more than this share counts as near. */
const NEAR_RATIO = 0.05

/** Simulates searches for capacities of one kind of service. @param {string} name @param {{ runs: number, seed: number }} options */
export function simulate(name, { runs, seed }) {
  return Array.from({ length: runs }, (_, run) => {
    const random = seededRandom(Math.imul(seed + run, SCATTER))
    return searchOnce(CURVES[name].create(random))
  })
}

/** Figures of many runs. A run without an upper bound is right if its lower bound is. @param {Found[]} runs */
export function summarize(runs) {
  const answered = runs.filter(({ problem, interval }) => problem === null && interval !== null)
  const ratios = answered.map(({ middle_rps, aim_rps }) => middle_rps / aim_rps)
  const share = (/** @type {number} */ margin) => meanOf(answered.map(({ isInside }) => Number(isInside(margin))))
  const trials = runs.map((run) => run.trials.length)
  return {
    inside: share(0),
    near: share(NEAR_RATIO),
    confidence: meanOf(answered.map(({ interval }) => Number(interval?.confidence))),
    bias: quantile(ratios, 0.5) - 1,
    p5: quantile(ratios, 0.05),
    p95: quantile(ratios, 0.95),
    trials: quantile(trials, 0.5),
    trials_p95: quantile(trials, 0.95),
    time_s: meanOf(runs.map(({ time_s }) => time_s)),
    unanswered: 1 - answered.length / runs.length,
  }
}

/** @typedef {ReturnType<typeof searchOnce>} Found */

/** @typedef {SearchTrial & Judged} Made as the service judged it */

/** @param {Service} service */
function searchOnce(service) {
  const plan = { ...search.SEARCH_DEFAULTS, plateau_rps: service.plateau_rps }
  /** @type {Made[]} */
  const made = []
  /** @type {SearchTrial[]} */
  let trials = []
  let time_s = 0
  for (let next = search.nextTrial(trials, plan); next; next = search.nextTrial(trials, plan)) {
    const { rate_rps, duration_s } = next
    made.push({ rate_rps, duration_s, ...service.trial(next) })
    trials = trialsOf(made)
    time_s += duration_s + OVERHEAD_S
  }
  const interval = search.intervalOf(trials, plan)
  const { low_rps = null, high_rps = null } = interval ?? {}
  const capacity_rps = service.capacity_rps(speedIn(made, ({ cost }) => cost)?.usual_ms ?? 0)
  return {
    plan,
    made,
    trials,
    time_s,
    interval,
    problem: search.searchProblem(trials, plan, interval),
    middle_rps: (Number(low_rps ?? high_rps ?? Number.NaN) + Number(high_rps ?? low_rps)) / 2,
    aim_rps: high_rps === null ? (service.reach_rps ?? capacity_rps) : capacity_rps,
    isInside: (/** @type {number} */ margin) => {
      return (low_rps ?? 0) * (1 - margin) <= capacity_rps && capacity_rps <= (high_rps ?? capacity_rps) * (1 + margin)
    },
  }
}

/** The trials as the search sees them: some were made at a core speed that differs from most. @param {Made[]} made @returns {SearchTrial[]} */
export function trialsOf(made) {
  const others = speedIn(made, ({ cost }) => cost)?.others ?? []
  return made.map((trial) => ({ ...trial, ...outcomeOf(trial.verdict, others.includes(trial)) }))
}

/** @param {number[]} values @param {number} share @returns {number} NaN without values */
function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
