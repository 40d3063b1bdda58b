import { matrixVisits, nextTrial } from '../../stats/matrix.js'
import { isTimely } from '../../stats/sound.js'

/**
 * @import { Step, TrialRecord } from '../../../load/report/record.js'
 * @import { BalancePlan } from './plan.js'
 */

/** For the bar: from the end of a trial to the load of the next one. */
const START_S = 1

/** Enough that no request waits for a connection, as long as a plan keeps to it. */
export const OPEN_CONNECTIONS = 256

/**
 * The parts that put load on something; usual and quick: blocks, seconds of warm-up and of load. Six blocks are the least for
 * an interval of 95 %. Where there is `rate_times`, the command line sets the duration, and the rate is as many times its own.
 */
export const MEASURED = {
  overhead: { usual: [8, 0.5, 2], quick: [1, 0.5, 1], rate_rps: 500, connections: 8 },
  strategies: { usual: [6, 2, 10], quick: [1, 1, 3], rate_times: 1, connections: OPEN_CONNECTIONS },
  crowded: { usual: [6, 1, 6], quick: [1, 0.5, 2], rate_times: 2.5, connections: OPEN_CONNECTIONS },
  failing: { usual: [6, 1, 8], quick: [1, 0.5, 3], rate_rps: 200, connections: OPEN_CONNECTIONS },
  processes: { usual: [6, 1, 3], quick: [1, 0.5, 1], rate_rps: null, connections: 64 },
}

/** Round robin is what the others are compared with. */
export const REFERENCE = 'round-robin'
const OURS = [REFERENCE, 'adaptive']
export const HAPROXY = ['haproxy-leastconn', 'haproxy-random', 'haproxy-retry']

/**
 * @typedef {keyof typeof MEASURED} MeasuredPart
 * @typedef {TrialRecord[]} Records
 * @typedef {{ part: MeasuredPart, strategy: string }} BalanceCell
 */

/**
 * What is compared in a part.
 *
 * @param {MeasuredPart} part
 * @param {Pick<BalancePlan, 'haproxy' | 'processes'>} plan
 */
export function strategiesOf(part, { haproxy, processes }) {
  const found = haproxy === null ? [] : HAPROXY
  if (part === 'overhead') return ['direct', ...OURS, ...found.slice(0, 1)]
  if (part === 'processes') return ['direct', ...(haproxy === null ? [] : processes.map(String))]
  return [...OURS, ...(part === 'crowded' ? found.slice(0, 1) : found)]
}

/**
 * The next trial: part by part, in blocks, each strategy once in a random order. Pure.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 * @returns {Step | null}
 */
export function nextStep(plan, records) {
  const parts = partsOf(plan)
  for (const [i, part] of parts.entries()) {
    const matrix = {
      visits: visitsIn(part, plan),
      loadOf: () => loadOf(part, plan),
      visit_s: visitTime_s(part, plan),
      later_s: durationOf({ ...plan, parts: parts.slice(i + 1) }),
      counts: isTimely,
    }
    const own = records.filter(({ at }) => at.part === part)
    const next = nextTrial(matrix, own, [])
    if (next) return next
  }
  return null
}

/** Seconds, without the simulation. @param {BalancePlan} plan */
export function durationOf(plan) {
  return partsOf(plan).reduce((sum, part) => sum + visitsIn(part, plan).length * visitTime_s(part, plan), 0)
}

/** The parts that put load on something. @param {Pick<BalancePlan, 'parts'>} plan */
export function partsOf({ parts }) {
  return parts.filter((part) => part !== 'simulation')
}

/** @param {MeasuredPart} part @param {BalancePlan} plan */
function visitsIn(part, plan) {
  const units = strategiesOf(part, plan).map((strategy) => ({ cell: { part, strategy }, at: { part } }))
  return matrixVisits({ units, blocks: plan.sizes[part].blocks, seed: plan.mix.seed })
}

/** @param {MeasuredPart} part @param {BalancePlan} plan */
function visitTime_s(part, { sizes }) {
  return sizes[part].warmup_s + sizes[part].duration_s + START_S
}

/** @param {MeasuredPart} part @param {BalancePlan} plan @returns {Step['load']} */
function loadOf(part, { sizes, mix: { seed } }) {
  const { warmup_s, duration_s, rate_rps } = sizes[part]
  const load = { rate_rps, connections: MEASURED[part].connections, warmup_s, duration_s }
  if (rate_rps === null) return { driver: 'autocannon', loop: 'closed', ...load }
  const mix = { name: 'get', method: 'GET', headers: [], body_base64: '', seed }
  return { driver: 'paced', loop: 'open', ...load, mix }
}
