import { NONE, wholePercent } from '../../../load/report/format.js'
import { ratioText } from '../../stats/effects.js'
import { GENERATOR_LIMIT, isSound, whyUnsound } from '../../stats/sound.js'
import { roundsOf } from './budget.js'
import { BY_TURNS, STAGE_NAMES } from './stages.js'

/**
 * @import { Budget, Figure, Line } from './budget.js'
 * @import { Closed } from './speeds.js'
 * @import { AblatePlan, Records } from './steps.js'
 * @import { NotAppliedCell } from '../../../load/report/record.js'
 */

/** Share of the whole below which a cost is not worth anybody's work. */
export const RELEVANT_RATIO = 0.05

const REST = "Node's own HTTP, the routes, and the lab's reads of /metrics"

/** In the order in which a conclusion lists them. */
const OTHERS = /** @type {const} */ (['not worth changing', 'not settled', 'too few rounds to tell', 'not measured'])

/**
 * Whether a stage is worth changing: all of its interval is above what is relevant, or all of it below.
 *
 * @param {Pick<Line, 'cost'>} line
 * @param {Pick<Budget, 'whole'>} budget
 * @returns {typeof OTHERS[number] | 'worth changing'}
 */
export function verdictOf({ cost }, { whole }) {
  if (Number.isNaN(cost.estimate)) return 'not measured'
  if (!Number.isFinite(cost.high)) return 'too few rounds to tell'
  const relevant_us = RELEVANT_RATIO * whole.estimate
  if (cost.low > relevant_us) return 'worth changing'
  return cost.high < relevant_us ? 'not worth changing' : 'not settled'
}

/** Which stages are worth changing and which are not, in a sentence. @param {Budget} budget */
export function conclusionOf(budget) {
  const { title, whole, lines, rest } = budget
  if (Number.isNaN(whole.estimate)) return `${title}: nothing was measured.`
  const linesOf = (/** @type {string} */ verdict) => lines.filter((line) => verdictOf(line, budget) === verdict)
  const share = (/** @type {number} */ us) => wholePercent(us / whole.estimate)
  const dear = linesOf('worth changing').sort((a, b) => b.cost.estimate - a.cost.estimate)
  const named = dear.map(({ stage, cost }) => `${stage} (${intervalText(cost)} us, ${share(cost.estimate)})`)
  const none = `no stage certainly takes more than ${wholePercent(RELEVANT_RATIO)}`
  const first = named.length > 0 ? `worth changing: ${named.join(', ')}` : none
  const others = OTHERS.flatMap((verdict) => {
    const stages = linesOf(verdict).map(({ stage }) => stage)
    return stages.length > 0 ? `${verdict}: ${stages.join(', ')}` : []
  })
  const what = lines.length < STAGE_NAMES.length ? `${REST}, and the stages that were not removed` : REST
  const left = `the rest (${what}) takes ${rest.estimate.toFixed(0)} us (${share(rest.estimate)})`
  const parts = [first, ...others, ...(Number.isNaN(rest.estimate) ? [] : [left])]
  return `${title}, ${whole.estimate.toFixed(0)} us: ${parts.join('; ')}.`
}

/**
 * Why there is no trustworthy answer: without a round, there is no budget.
 *
 * @param {AblatePlan} plan
 * @param {Records} records
 * @param {NotAppliedCell[]} notApplied
 */
export function problemOf(plan, records, notApplied) {
  if (roundsOf(records).length > 0) return null
  const refused = notApplied.find(({ cell }) => cell.variant === BY_TURNS)
  const last = records.findLast(({ at }) => at.phase === 'turns')
  const unsound = last && (isSound(last) ? 'no round was completed' : whyUnsound(last))
  return `no valid round of turns with ${plan.consumers[0]}: ${refused?.because ?? unsound ?? 'no trial'}`
}

/** Whether the published conclusion holds, in sentences; none without a closed loop. @param {Closed[]} closed */
export function publishedVerdict(closed) {
  const all = closed.flatMap(({ speeds }) => speeds).filter(({ without }) => without.length === 1)
  if (all.length === 0) return []
  const limited = all.filter(({ isLimited }) => isLimited)
  const names = limited.map(({ without: [stage], consumer }) => `${stage} (${consumer})`)
  return [
    `Published: removing a stage made no difference. ${hereText(all.filter(({ isLimited }) => !isLimited))}`,
    ...(names.length > 0 ? [`Left out, since ${GENERATOR_LIMIT}: ${names.join(', ')}.`] : []),
  ]
}

/** @param {Closed['speeds']} speeds of single stages, below the limit of their generators */
function hereText(speeds) {
  if (speeds.length === 0) return 'Nothing can be said about that here.'
  const known = speeds.filter(({ high }) => Number.isFinite(high))
  if (known.length === 0) return 'Too few blocks here to say whether that holds.'
  const faster = known.filter(({ low }) => low > 1 + RELEVANT_RATIO)
  const texts = faster.map(({ without: [stage], consumer, ...speed }) => `${stage} (${consumer}: ${ratioText(speed)})`)
  if (faster.length > 0) return `Not so here: throughput rises without ${texts.join(', ')}.`
  const isSame = known.every(({ high }) => high < 1 + RELEVANT_RATIO)
  return isSame ? 'The same here.' : 'Here no stage certainly does, but not all are settled.'
}

/** `12.3 [10.1–14.0]` @param {Pick<Figure, 'estimate' | 'low' | 'high'>} figure us */
export function intervalText({ estimate, low, high }) {
  if (Number.isNaN(estimate)) return NONE
  const digits = Math.abs(estimate) < 100 ? 1 : 0
  const interval = Number.isFinite(high) ? `${low.toFixed(digits)}–${high.toFixed(digits)}` : 'too few rounds'
  return `${estimate.toFixed(digits)} [${interval}]`
}
