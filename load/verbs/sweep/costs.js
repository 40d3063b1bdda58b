import { heading, paragraph, table } from '../../report/blocks.js'
import { count, wholePercent } from '../../report/format.js'
import { ledgerOf, statementsInFlight } from '../../verdict/ledger.js'
import { median } from '../../verdict/ranks.js'
import { nearCapacity } from './answer.js'

/**
 * @import { Block } from '../../report/blocks.js'
 * @import { SweepFindings } from './sweep.js'
 * @import { TrialRecord } from '../../report/record.js'
 */

/** Resources that are busy for less than this share of the time are left out. */
const LEAST = 0.02

/** Cost of a request to each resource, as medians over the trials near the capacity. @param {Pick<SweepFindings, 'capacity' | 'records'>} findings @returns {Block[]} */
export function costBlocks({ capacity, records }) {
  const near = nearCapacity(capacity, records)
  const costs = costsOf(near)
  const rows = costs.map(({ resource, utilization, demand_us, own_us }) => {
    return [resource, wholePercent(utilization), `${demand_us.toFixed(1)} us`, `${boundText(own_us, 3)}/s`]
  })
  if (rows.length === 0) return []
  return [
    heading('What a request costs each resource', { detail: true }),
    paragraph(aboutText(near.length, costs)),
    table(['resource', 'busy', 'per request', 'saturated at'], rows, { name: 'costs' }),
    ...[...biasText(near), ...pressureText(near)].map(paragraph),
  ]
}

/** How the costs were found, with an explanation of the rows that need one. @param {number} trials @param {ReturnType<typeof costsOf>} costs */
function aboutText(trials, costs) {
  const from = trials === 1 ? 'One trial' : `Medians of ${trials} trials`
  const pool = costs.find(({ resource }) => resource === 'the database pool')
  const texts = [
    `${from} near the capacity. Beyond it, a request usually costs more, so a resource may be saturated at a lower rate than shown.`,
    'A resource that is busy for a share U of the time at X requests/s is saturated at X / U (the utilization law).',
    pool && `The pool's time per request is shared by its ${Math.round(pool.demand_us / pool.own_us)} connections.`,
    costs.some(({ resource }) => resource.endsWith(' alone')) &&
      'A row with "alone" counts one program on a core that it shares; it would be saturated at the rate shown if it had that core to itself.',
  ]
  return texts.filter(Boolean).join(' ')
}

/** Waits of tasks on the service's machine, other than for a core: for a slow disk, or for scarce memory. @param {TrialRecord[]} records */
function pressureText(records) {
  const waits = /** @type {const} */ ([
    ['the disk', 'pressure_io_ratio'],
    ['memory', 'pressure_memory_ratio'],
  ]).map(([name, field]) => ({ name, ratio: median(records.map(({ probes }) => probes.kernel?.[field])) }))
  const felt = waits.filter(({ ratio }) => ratio >= LEAST)
  if (felt.length === 0) return []
  const list = felt.map(({ name, ratio }) => `for ${name} ${wholePercent(ratio)} of the time`).join(', and ')
  return [`Some task on the machine waited ${list} (pressure stall information).`]
}

/** Cost of a request to each resource, as medians over trials, and per core or connection of it (own_us); the busiest resource first. @param {TrialRecord[]} records */
export function costsOf(records) {
  const entries = records.flatMap((record) => ledgerOf(record))
  const costs = [...new Set(entries.map(({ resource }) => resource))].map((resource) => {
    const own = entries.filter((entry) => entry.resource === resource)
    const of = (/** @type {'utilization' | 'demand_us'} */ field) => median(own.map((entry) => entry[field]))
    const demand_us = of('demand_us')
    return { resource, utilization: of('utilization'), demand_us, own_us: demand_us / own[0].servers }
  })
  return costs.filter(({ utilization }) => utilization >= LEAST).sort((a, b) => b.utilization - a.utilization)
}

/** The session that samples wait events waits for the same core as the backends, so it sees working ones too rarely. @param {TrialRecord[]} records */
function biasText(records) {
  const seen = records.flatMap((record) => {
    const counted = statementsInFlight(record)
    const sampled = record.probes.postgres?.active_mean
    return counted && sampled !== undefined ? { counted, sampled } : []
  })
  if (seen.length === 0) return []
  const [counted, sampled] = [seen.map((one) => one.counted), seen.map((one) => one.sampled)].map(median)
  return [
    `Postgres' wait events are sampled. The sampler saw ${sampled.toFixed(2)} active statements on average; by the service's own counters ${counted.toFixed(2)} were in flight, including the time in transit.`,
  ]
}

/** The rate that saturates a resource. @param {number} demand_us per request, on each of its cores or connections @param {number} digits */
export function boundText(demand_us, digits) {
  return count(Number((1e6 / demand_us).toPrecision(digits)))
}
