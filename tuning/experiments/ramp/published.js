import { readFileSync } from 'node:fs'
import { heading, list, table } from '../../../load/report/blocks.js'
import { count, milliseconds, NONE } from '../../../load/report/format.js'
import { sidesText } from '../../knobs/sides-text.js'
import { intervalText } from './sentences.js'

/**
 * @import { RampPlan } from './design.js'
 * @import { Climbed, RampFindings } from './findings.js'
 */

export const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/ramp.json', import.meta.url), 'utf8'))

/** The published figures and ours: rates are from different machines, but ratios can be compared. @param {RampFindings} findings */
export function publishedBlocks({ plan, mains: [a, b], work }) {
  const { title, author, setting, notes, workers, b_to_a, ceiling_ms } = PUBLISHED
  const number = (value = Number.NaN) => (Number.isNaN(value) ? NONE : count(Math.round(value)))
  const cpu_ratio = b?.api_core_ratio / a.api_core_ratio
  const efficiency = 'efficiency, B to A (here: requests per CPU time of the API)'
  // Two published ratios are about the same figure, and differ, so each has its own row.
  const ratios = [
    ['rps_ratio', 'requests/s, B to A', work && work.pairs > 0 ? `${intervalText(work, 2)}x` : NONE],
    ['latency_ratio', 'latency, B to A (here: the mean with equally many workers)', times(latencyRatio(a, b))],
    ['efficiency_ratio', efficiency, times(a.request_cpu_us / b?.request_cpu_us)],
    ['disk_ratio', 'disk, B to A (here: a request)', times(b?.answer_disk_bytes / a.answer_disk_bytes)],
    ['cpu_ratio', 'CPU, B to A', times(cpu_ratio)],
  ].flatMap(([name, about, here]) => {
    const claims = b_to_a.filter((/** @type {any} */ claim) => name in claim)
    return claims.map((/** @type {any} */ claim) => [`${about}${kindText(claim)}`, claimText(claim[name]), here])
  })
  const rows = [
    ['workers at the ceiling, A', count(workers.a), number(a.workers)],
    ['workers at the ceiling, B', count(workers.b), number(b?.workers)],
    ['workers, B to A', times(workers.b / workers.a), times(b?.workers / a.workers)],
    ...ratios,
  ]
  return [
    heading('Published', { detail: true }),
    table(['', `published, ${milliseconds(ceiling_ms)}`, `here, ${milliseconds(plan.ceiling_ms)}`], rows),
    list([
      `"${title}" (${author}): ${setting}.`,
      conclusionText({ work, cpu_ratio, sides: plan.sides }),
      backgroundText(plan),
      ...notes,
    ]),
  ]
}

/**
 * The published conclusion and ours. If they differ, says why they may: other things were compared there.
 * @param {{ work: RampFindings['work'], cpu_ratio: number, sides: RampPlan['sides'] }} found work: number of As that do the work of one B;
 *   cpu_ratio: of B to A, NaN if it is not known
 */
export function conclusionText({ work, cpu_ratio, sides }) {
  const [measured] = PUBLISHED.b_to_a
  const { low, high } = measured.rps_ratio
  const published = `By the published figures, one B does the work of ${low} to ${high} A, with ${times(measured.cpu_ratio)} of A's CPU.`
  if (!('b' in sides)) return `${published} Here, there was no B.`
  if (!work || work.pairs === 0) return `${published} Here, it is not known how many of A do the work of one B.`
  const cpu = Number.isFinite(cpu_ratio) ? `, with ${times(cpu_ratio)} of A's CPU` : ''
  const ours = `${published} Here, it does the work of ${intervalText(work, 2)} A${cpu}`
  const [those, these] = [PUBLISHED.compared, sidesText(sides)]
  if (!Number.isFinite(work.high)) return `${ours}; there are too few blocks to say whether this agrees.`
  const isWithin = work.low <= high && work.high >= low
  const isOpposite = (cpu_ratio - 1) * (measured.cpu_ratio - 1) < 0
  return isWithin && !isOpposite
    ? `${ours}: this does not contradict the published figures, which compared ${those}; this run compared ${these}.`
    : `${ours}: this differs from the published figures, but does not refute them: they compared ${those}; this run compared ${these}.`
}

/** Which of the figures were taken with background work. @param {Pick<RampPlan, 'background_rps'>} plan */
function backgroundText({ background_rps }) {
  const isUnknown = PUBLISHED.b_to_a.some((/** @type {any} */ { sync }) => sync === null)
  const unknown = isUnknown ? '; for rows that do not say which, our transcription does not know' : ''
  const here = background_rps > 0 ? `${count(background_rps)} background writes/s` : 'no background writes'
  return `It measured with the node's sync in the background and without${unknown}. Here: ${here}.`
}

/** @param {{ sync: boolean | null, claimed?: boolean }} claim claimed: by the text, beside what was measured */
function kindText({ sync, claimed = false }) {
  const how = sync === null ? '' : sync ? ', with sync' : ', without sync'
  return `${claimed ? ', as its text claims' : ''}${how}`
}

/** @param {number | { low: number, high: number | null }} ratio */
function claimText(ratio) {
  if (typeof ratio === 'number') return times(ratio)
  return ratio.high === null ? `at least ${ratio.low}x` : `${ratio.low} to ${ratio.high}x`
}

/** B's mean latency as a ratio to A's, with the most workers that both had and with which A stayed below the ceiling. @param {Climbed} a @param {Climbed} [b] */
function latencyRatio(a, b) {
  const pairs = a.rungs.flatMap(({ workers, mean_ms, over }) => {
    const other = b?.rungs.find((rung) => rung.workers === workers)
    return other && !over ? other.mean_ms / mean_ms : []
  })
  return pairs.at(-1) ?? Number.NaN
}

/** @param {number} ratio */
export function times(ratio) {
  return Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : NONE
}
