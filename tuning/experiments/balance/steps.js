import { matrixVisits, nextTrial } from '../../stats/matrix.js'
import { isTimely } from '../../stats/sound.js'

/**
 * @import { Step, TrialRecord } from '../../../load/report/record.js'
 * @import { BalancePlan } from './balance.js'
 * @typedef {keyof typeof MEASURED} MeasuredPart
 * @typedef {TrialRecord[]} Records
 */

/** Time from the end of a trial to the load of the next one, for the estimate of the time left. */
const START_S = 1

/**
 * The parts that put load on something. usual and quick: blocks, seconds of warm-up and of load; a 95 % interval needs at least six
 * blocks. An open loop has so many connections that no request waits for one.
 */
export const MEASURED = {
  overhead: { usual: [8, 0.5, 2], quick: [1, 0.5, 1], rate_rps: 500, connections: 8 },
  strategies: { usual: [6, 2, 10], quick: [1, 1, 3], rate_rps: 40, connections: 256 },
  crowded: { usual: [6, 1, 6], quick: [1, 0.5, 2], rate_rps: 100, connections: 256 },
  failing: { usual: [6, 1, 8], quick: [1, 0.5, 3], rate_rps: 200, connections: 256 },
}

export const MEASURED_PARTS = /** @type {MeasuredPart[]} */ (Object.keys(MEASURED))

export const UNEVEN = { strategies: 'over uneven endpoints', crowded: 'over the same endpoints at a higher rate' }

/** HAProxy's strategies: the algorithm that balances, and whether requests are retried. */
export const HAPROXY = {
  'haproxy-leastconn': { balance: 'leastconn', retries: false },
  'haproxy-random': { balance: 'random(2)', retries: false },
  'haproxy-retry': { balance: 'leastconn', retries: true },
}

/** Strategy with which the others are compared. */
export const REFERENCE = 'round-robin'
const OURS = [REFERENCE, 'adaptive']

/** The strategies compared in a part. @param {MeasuredPart} part @param {Pick<BalancePlan, 'haproxy'>} plan */
export function strategiesOf(part, { haproxy }) {
  const found = haproxy === null ? [] : Object.keys(HAPROXY)
  if (part === 'overhead') return ['direct', ...OURS, ...found.slice(0, 1)]
  return [...OURS, ...(part === 'crowded' ? found.slice(0, 1) : found)]
}

/**
 * The next trial: part by part, in blocks, each strategy once in a random order. Pure.
 * @param {BalancePlan} plan @param {Records} records @returns {Step | null}
 */
export function nextStep(plan, records) {
  const [part, ...later] = partsOf(plan)
  if (!part) return null
  const matrix = {
    visits: matrixVisits({
      units: cellsOf({ ...plan, parts: [part] }).map((cell) => ({ cell, at: { part } })),
      blocks: plan.sizes[part].blocks,
      seed: plan.mix.seed,
    }),
    loadOf: () => loadOf(part, plan),
    visit_s: visitTime_s(part, plan),
    later_s: durationOf({ ...plan, parts: later }),
    counts: isTimely,
    // A balancer begins each trial without anything it learned in another one.
    restarts: true,
  }
  const own = records.filter(({ at }) => at.part === part)
  return nextTrial(matrix, own, []) ?? nextStep({ ...plan, parts: later }, records)
}

/** Duration in seconds, without the simulation. @param {BalancePlan} plan */
export function durationOf(plan) {
  return cellsOf(plan).reduce((sum, { part }) => sum + plan.sizes[part].blocks * visitTime_s(part, plan), 0)
}

/** All cells of a plan, part by part. @param {Pick<BalancePlan, 'parts' | 'haproxy'>} plan */
export function cellsOf(plan) {
  return partsOf(plan).flatMap((part) => strategiesOf(part, plan).map((strategy) => ({ part, strategy })))
}

/** The parts that put load on something. @param {Pick<BalancePlan, 'parts'>} plan */
export function partsOf({ parts }) {
  return MEASURED_PARTS.filter((part) => parts.includes(part))
}

/** @param {MeasuredPart} part @param {BalancePlan} plan */
function visitTime_s(part, { sizes }) {
  return sizes[part].warmup_s + sizes[part].duration_s + START_S
}

/** @param {MeasuredPart} part @param {BalancePlan} plan @returns {Step['load']} */
function loadOf(part, { sizes, mix: { seed } }) {
  const { warmup_s, duration_s, rate_rps } = sizes[part]
  const mix = { name: 'get', method: 'GET', headers: [], body_base64: '', seed }
  const { connections } = MEASURED[part]
  return { driver: 'paced', loop: 'open', rate_rps, connections, warmup_s, duration_s, mix }
}
