import { readFileSync } from 'node:fs'
import { heading, list, table } from '../../../load/report/blocks.js'
import { count, milliseconds, NONE, wholePercent } from '../../../load/report/format.js'
import { HOURS_PER_MONTH, perHour } from './cost.js'
import { intervalText } from './sentences.js'

/** @import { RampFindings } from './findings.js' */

export const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/ramp.json', import.meta.url), 'utf8'))

/** The published figures and ours: rates are those of other machines, but ratios can be compared. @param {RampFindings} findings */
export function publishedBlocks({ plan, mains: [a, b], work }) {
  const { workers, b_to_a, ceiling_ms } = PUBLISHED
  const number = (value = Number.NaN) => (Number.isNaN(value) ? NONE : count(Math.round(value)))
  const ratio = work && work.pairs > 0 ? `${intervalText(work, 2)}x` : NONE
  const rows = [
    ['workers at the ceiling, A', count(workers.a), number(a.workers)],
    ['workers at the ceiling, B', count(workers.b), number(b?.workers)],
    ['workers, B to A', times(workers.b / workers.a), times(b?.workers / a.workers)],
    ['requests/s, B to A', `${b_to_a.rps_ratio.low} to ${b_to_a.rps_ratio.high}x`, ratio],
    ['disk, B to A (here: a request)', times(b_to_a.disk_ratio), times(b?.answer_disk_bytes / a.answer_disk_bytes)],
    ['CPU, B to A', times(b_to_a.cpu_ratio), times(b?.api_core_ratio / a.api_core_ratio)],
  ]
  return [
    heading('Published', { detail: true }),
    table(['', `published, ${milliseconds(ceiling_ms)}`, `here, ${milliseconds(plan.ceiling_ms)}`], rows),
    list(publishedLines()),
  ]
}

/** What else the publication says, and its arithmetic once more. */
function publishedLines() {
  const { b_to_a, screen, sweet_spot, conclusion, title, author, setting, cost } = PUBLISHED
  const { low, high } = b_to_a.rps_ratio
  const groups = screen.groups_rps.map(count).join('/s and ')
  const spots = sweet_spot.map((/** @type {any} */ { threads, connections, rps, p99_below_ms }) => {
    return `${threads} threads with ${connections} connections: ${count(rps)}/s, p99 below ${p99_below_ms} ms`
  })
  const { saved_per_hour, saved_per_month, saved_ratio, surcharge_ratio } = publishedCost()
  const [month, stored, rooted] = saved_per_month.map((saved) => saved.toFixed(0))
  const [saved, surcharge] = [`${+(saved_ratio * 100).toFixed(2)} %`, `${wholePercent(surcharge_ratio)} dearer`]
  return [
    `"${title}" (${author}): ${setting}.`,
    `The node's ceiling on a cached method first: ${spots.join('; ')}. Each method alone, ${screen.threads} thread and ${screen.connections} connections: two groups, about ${groups}/s.`,
    `It concludes that ${conclusion}. By its own figures one B does the work of ${low} to ${high} A: two machines in whole ones, less in a fleet.`,
    `Its cost again: two ${cost.a.machine} for one ${cost.b.machine} saves ${saved_per_hour.toFixed(3)} USD/h; a month ${month} (published: ${cost.saved_per_month}), ${stored} with the storage (${cost.saved_with_storage_per_month}), ${rooted} with roots only (${cost.saved_with_roots_per_month}). That is ${saved} of what the two cost; the headline of ${wholePercent(cost.headline_ratio)} is the same sum as a share of the one (${surcharge}).`,
  ]
}

/**
 * The published cost, from its inputs: what one B saves in place of the As that do its work; with the storage that they need, and with
 * their roots only. saved_ratio: of the price of the As; surcharge_ratio: of the price of the B.
 */
export function publishedCost() {
  const { a, b, a_for_one_b, storage_gb, root_gb, per_gb_month } = PUBLISHED.cost
  const savedPerHour = (/** @type {number} */ gigabytes) => {
    return a_for_one_b * perHour({ per_hour: a.per_hour, storage_gb: gigabytes, per_gb_month }) - b.per_hour
  }
  const saved_per_hour = savedPerHour(0)
  return {
    saved_per_hour,
    saved_per_month: [0, storage_gb / a_for_one_b, root_gb].map((own_gb) => savedPerHour(own_gb) * HOURS_PER_MONTH),
    saved_ratio: saved_per_hour / (a_for_one_b * a.per_hour),
    surcharge_ratio: saved_per_hour / b.per_hour,
  }
}

/** @param {number} ratio */
export function times(ratio) {
  return Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : NONE
}
