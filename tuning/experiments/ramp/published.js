import { readFileSync } from 'node:fs'
import { count, milliseconds, NONE } from '../../../load/report/format.js'
import { median } from '../../stats/ranks.js'
import { table } from '../../stats/spread.js'
import { replacement } from './cost.js'
import { mainOf } from './findings.js'
import { intervalText, times } from './sentences.js'
import { isHere, trialsOf, typicalCrossings } from './steps.js'

/**
 * @import { Findings } from './findings.js'
 * @import { RampPlan, Records } from './steps.js'
 */

export const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/ramp.json', import.meta.url), 'utf8'))

/**
 * The published figures beside ours. Rates are those of other machines; ratios can be compared.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {Findings} findings
 */
export function publishedPart(plan, records, { series, work }) {
  const { workers, b_to_a, ceiling_ms, screen, sweet_spot, conclusion, title, author, setting } = PUBLISHED
  const [a, b] = /** @type {const} */ (['a', 'b']).map((side) => mainOf(series, side, plan.drivers[0]))
  const ratio = (/** @type {(probes: any, record: any) => number} */ value) => {
    return times(atCeiling(plan, records, b?.key, value) / atCeiling(plan, records, a?.key, value))
  }
  const rows = [
    ['workers at the ceiling, A', count(workers.a), number(a?.workers)],
    ['workers at the ceiling, B', count(workers.b), number(b?.workers)],
    ['workers, B to A', times(workers.b / workers.a), times((b?.workers ?? Number.NaN) / (a?.workers ?? Number.NaN))],
    [
      'requests/s, B to A',
      `${b_to_a.rps_ratio.low} to ${b_to_a.rps_ratio.high}x`,
      work && work.pairs > 0 ? `${intervalText({ estimate: work.ratio, low: work.low, high: work.high }, 2)}x` : NONE,
    ],
    [
      'disk, B to A (here: a request)',
      times(b_to_a.disk_ratio),
      ratio(({ kernel }, record) => {
        return isHere(record)
          ? (kernel.disk?.read_bytes + kernel.disk?.written_bytes) / record.traffic.completed
          : Number.NaN
      }),
    ],
    ['CPU, B to A', times(b_to_a.cpu_ratio), ratio(({ api }) => api.cpu_core_ratio)],
  ]
  const groups = screen.groups_rps.map(count).join('/s and ')
  const spots = sweet_spot.map((/** @type {any} */ { threads, connections, rps, p99_below_ms }) => {
    return `${threads} threads with ${connections} connections: ${count(rps)}/s, p99 below ${p99_below_ms} ms`
  })
  return [
    table(['', `published, ${milliseconds(ceiling_ms)}`, `here, ${milliseconds(plan.ceiling_ms)}`], rows),
    [
      `- "${title}" (${author}): ${setting}.`,
      `- wrk's own limit first: ${spots.join('; ')}. Each method alone, ${screen.threads} thread and ${screen.connections} connections: two groups, about ${groups}/s.`,
      `- It concludes that ${conclusion}. By its own figures one B does the work of ${b_to_a.rps_ratio.low} to ${b_to_a.rps_ratio.high} A: two machines in whole ones, less in a fleet.`,
      arithmeticSentence(),
    ].join('\n'),
  ].join('\n\n')
}

/** The published cost, from its inputs. */
export function publishedCost() {
  const { cost } = PUBLISHED
  const machine = (/** @type {{ per_hour: number }} */ { per_hour }, storage_gb = 0) => {
    return { per_hour, storage_gb, per_gb_month: cost.per_gb_month }
  }
  const count = cost.a_for_one_b
  return {
    machines: replacement(machine(cost.a), machine(cost.b), count),
    withStorage: replacement(machine(cost.a, cost.storage_gb / count), machine(cost.b), count),
    withRoots: replacement(machine(cost.a, cost.root_gb), machine(cost.b), count),
  }
}

function arithmeticSentence() {
  const { cost } = PUBLISHED
  const { headline_ratio, a, b } = cost
  const month = (/** @type {{ saved_per_month: number }} */ { saved_per_month }) => saved_per_month.toFixed(0)
  const { machines, withStorage, withRoots } = publishedCost()
  const saved = `${+(machines.saved_ratio * 100).toFixed(2)} %`
  const headline = `${Math.round(headline_ratio * 100)} %`
  return [
    `- Its cost again: two ${a.machine} for one ${b.machine} saves ${machines.saved_per_hour.toFixed(3)} USD/h; a month ${month(machines)} (published: ${cost.saved_per_month}), ${month(withStorage)} with the storage (${cost.saved_with_storage_per_month}), ${month(withRoots)} with roots only (${cost.saved_with_roots_per_month}).`,
    `That is ${saved} of what the two cost; the headline of ${headline} is the same sum as a share of the one (${(machines.surcharge_ratio * 100).toFixed(0)} % dearer).`,
  ].join(' ')
}

/**
 * Of the trials just below the ceiling.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {string | undefined} key
 * @param {(probes: any, record: any) => number} value
 */
function atCeiling(plan, records, key, value) {
  if (!key) return Number.NaN
  const below = typicalCrossings(plan, records, key).map(({ below }) => below?.workers)
  const own = trialsOf(records, key).filter(({ load }) => below.includes(load.connections))
  return median(own.map((record) => value(record.probes, record)))
}

/** @param {number | undefined} value */
function number(value) {
  return value === undefined || Number.isNaN(value) ? NONE : count(Math.round(value))
}
