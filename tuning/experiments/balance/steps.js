import { matrixVisits, nextTrial } from '../../stats/matrix.js'
import { isSound, isTimely } from '../../stats/sound.js'

/**
 * @import { Parameters } from './adaptive.js'
 * @import { Slow } from './endpoints.js'
 * @import { Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

/** For the bar: from the end of a trial to the load of the next one. */
const START_S = 1

/** Enough that no request waits for a connection, as long as a plan keeps to it. */
export const OPEN_CONNECTIONS = 256
const OVERHEAD_CONNECTIONS = 8
const CLOSED_CONNECTIONS = 64

export const PARTS = /** @type {const} */ (['overhead', 'strategies', 'crowded', 'failing', 'processes', 'simulation'])

/** Round robin is what the others are compared with. */
export const REFERENCE = 'round-robin'

const OURS = [REFERENCE, 'adaptive']
export const HAPROXY = ['haproxy-leastconn', 'haproxy-random', 'haproxy-retry']

/**
 * @typedef {typeof PARTS[number]} Part
 * @typedef {Exclude<Part, 'simulation'>} MeasuredPart
 * @typedef {TrialRecord[]} Records
 * @typedef {{ part: MeasuredPart, strategy: string }} BalanceCell
 * @typedef {{ from_s: number, to_s: number }} Window of a trial
 *
 * @typedef {object} Balance
 * @property {Part[]} parts
 * @property {number} endpoints
 * @property {Slow} slow
 * @property {number} slots requests that an endpoint works on at once
 * @property {Parameters} parameters
 * @property {string | null} haproxy program; null: there is none
 * @property {string | null} haproxy_version
 * @property {string | null} haproxy_missing why there is none
 * @property {Record<MeasuredPart, { blocks: number, warmup_s: number, duration_s: number, rate_rps: number | null }>} sizes
 * @property {Record<'strategies' | 'crowded' | 'failing', Window>} fails when the endpoint that fails does so
 * @property {number[]} processes of the API behind HAProxy
 * @property {number} samples of the simulation
 * @property {number[]} workers of the simulation
 *
 * @typedef {Plan & Balance} BalancePlan
 */

/**
 * What is compared in a part.
 *
 * @param {MeasuredPart} part
 * @param {Pick<BalancePlan, 'haproxy' | 'processes'>} plan
 * @returns {string[]}
 */
export function strategiesOf(part, { haproxy, processes }) {
  const has = haproxy !== null
  if (part === 'overhead') return ['direct', ...OURS, ...(has ? [HAPROXY[0]] : [])]
  if (part === 'processes') return ['direct', ...(has ? processes.map(String) : [])]
  if (part === 'crowded') return [...OURS, ...(has ? HAPROXY.slice(0, 1) : [])]
  return [...OURS, ...(has ? HAPROXY : [])]
}

/**
 * The next trial: part by part, in blocks, each strategy once in an order that is drawn. Pure.
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
    const next = nextTrial(matrix, trialsIn(part, records), [])
    if (next) return next
  }
  return null
}

/** Seconds, without the simulation. @param {BalancePlan} plan */
export function durationOf(plan) {
  return partsOf(plan).reduce((sum, part) => sum + visitsIn(part, plan).length * visitTime_s(part, plan), 0)
}

/** Sound trials. @param {Records} records @param {MeasuredPart} part @param {string} strategy */
export function trialsOf(records, part, strategy) {
  return trialsIn(part, records).filter((record) => record.cell.strategy === strategy && isSound(record))
}

/** @param {MeasuredPart} part @param {Records} records */
function trialsIn(part, records) {
  return records.filter(({ cell }) => cell.part === part)
}

/** The parts that put load on something. @param {Pick<BalancePlan, 'parts'>} plan @returns {MeasuredPart[]} */
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
function loadOf(part, { sizes, mix }) {
  const { warmup_s, duration_s, rate_rps } = sizes[part]
  if (part === 'processes') {
    const connections = CLOSED_CONNECTIONS
    return { driver: 'autocannon', loop: 'closed', rate_rps: null, connections, warmup_s, duration_s }
  }
  const connections = part === 'overhead' ? OVERHEAD_CONNECTIONS : OPEN_CONNECTIONS
  const asking = { name: 'get', method: 'GET', headers: [], body_base64: '', seed: mix.seed }
  return { driver: 'paced', loop: 'open', rate_rps, connections, warmup_s, duration_s, mix: asking }
}
