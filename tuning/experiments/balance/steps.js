import { visitsOf } from '../../stats/design.js'
import { isLate, isSound } from '../../stats/sound.js'

/**
 * @import { At, Plan, Step } from '../../../load/run/experiment.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Parameters } from './adaptive.js'
 * @import { Slow } from './endpoints.js'
 */

const MAX_INVALID = 2

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
  const measured = partsOf(plan)
  for (const [i, part] of measured.entries()) {
    const visits = visitsIn(part, plan)
    for (const [j, { block, position, cell: strategy }] of visits.entries()) {
      const at = { phase: part, block, position }
      if (isDone(at, records)) continue
      const later_s = measured.slice(i + 1).reduce((sum, other) => sum + durationOfPart(other, plan), 0)
      const left_s = later_s + (durationOfPart(part, plan) * (visits.length - j)) / visits.length
      return { at, cell: { part, strategy }, left_s, load: loadOf(part, plan) }
    }
  }
  return null
}

/** Seconds, without the simulation. @param {BalancePlan} plan */
export function durationOf(plan) {
  return partsOf(plan).reduce((sum, part) => sum + durationOfPart(part, plan), 0)
}

/** Sound trials. @param {Records} records @param {MeasuredPart} part @param {string} strategy */
export function trialsOf(records, part, strategy) {
  return records.filter((record) => {
    return record.cell.part === part && record.cell.strategy === strategy && isSound(record)
  })
}

/** The parts that put load on something. @param {Pick<BalancePlan, 'parts'>} plan @returns {MeasuredPart[]} */
export function partsOf({ parts }) {
  return parts.filter((part) => part !== 'simulation')
}

/** @param {MeasuredPart} part @param {BalancePlan} plan */
function visitsIn(part, plan) {
  const { blocks } = plan.sizes[part]
  return visitsOf({ cells: strategiesOf(part, plan), anchor: null, blocks, seed: plan.mix.seed })
}

/** @param {MeasuredPart} part @param {BalancePlan} plan */
function durationOfPart(part, plan) {
  const { warmup_s, duration_s } = plan.sizes[part]
  return visitsIn(part, plan).length * (warmup_s + duration_s + START_S)
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

/** @param {At} at @param {Records} records */
function isDone({ phase, block, position }, records) {
  const own = records.filter(({ at }) => at.phase === phase && at.block === block && at.position === position)
  return own.length >= MAX_INVALID || own.some((record) => record.outcome.verdict !== 'invalid' && !isLate(record))
}
