import { readFileSync } from 'node:fs'
import { heading, list, table } from '../../../load/report/blocks.js'
import { count, milliseconds, NONE } from '../../../load/report/format.js'
import { intervalText } from './sentences.js'

/** @import { RampFindings } from './findings.js' */

export const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/ramp.json', import.meta.url), 'utf8'))

/** The published figures and ours: rates are from different machines, but ratios can be compared. @param {RampFindings} findings */
export function publishedBlocks({ plan, mains: [a, b], work }) {
  const { title, author, setting, notes, workers, b_to_a, ceiling_ms } = PUBLISHED
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
    list([`"${title}" (${author}): ${setting}.`, ...notes]),
  ]
}

/** @param {number} ratio */
export function times(ratio) {
  return Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : NONE
}
