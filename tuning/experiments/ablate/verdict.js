import { NONE, wholePercent } from '../../../load/report/format.js'
import { ratioText } from '../../stats/effects.js'
import { GENERATOR_LIMIT, isSound, whyUnsound } from '../../stats/sound.js'
import { roundsOf } from './budget.js'
import { BY_TURNS, STAGE_NAMES } from './stages.js'

/**
 * @import { Budget, Figure, Line } from './budget.js'
 * @import { SpeedUp } from './speeds.js'
 * @import { AblatePlan, Records } from './steps.js'
 * @import { NotAppliedCell } from '../../../load/report/record.js'
 */

/** Of the whole: what costs less is not worth anybody's work. */
export const RELEVANT_RATIO = 0.05

const REST = "Node's own HTTP, the routes, and the lab's own looks at /metrics"

/** In the order in which a conclusion lists them. */
const OTHERS = /** @type {const} */ (['not worth changing', 'not settled', 'too few rounds to tell', 'not measured'])

/**
 * Whether a stage is worth changing: all of its interval above what is relevant, or all of it below.
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

/** Which stage is worth changing and which is not, in a sentence. @param {Budget} budget */
export function conclusionOf(budget) {
  const { title, whole, lines, rest } = budget
  if (Number.isNaN(whole.estimate)) return `${title}: nothing was measured.`
  const of = (/** @type {string} */ verdict) => lines.filter((line) => verdictOf(line, budget) === verdict)
  const share = (/** @type {number} */ us) => wholePercent(us / whole.estimate)
  const dear = of('worth changing').sort((a, b) => b.cost.estimate - a.cost.estimate)
  const named = dear.map(({ stage, cost }) => `${stage} (${intervalText(cost)} us, ${share(cost.estimate)})`)
  const first =
    named.length > 0
      ? `worth changing: ${named.join(', ')}`
      : `no stage surely takes more than ${wholePercent(RELEVANT_RATIO)}`
  const listed = OTHERS.flatMap((verdict) => {
    const stages = of(verdict).map(({ stage }) => stage)
    return stages.length > 0 ? `${verdict}: ${stages.join(', ')}` : []
  })
  const what = lines.length < STAGE_NAMES.length ? `${REST}, and the stages that were left in` : REST
  const left = `the rest (${what}) takes ${rest.estimate.toFixed(0)} us (${share(rest.estimate)})`
  const parts = [first, ...listed, ...(Number.isNaN(rest.estimate) ? [] : [left])]
  return `${title}, ${whole.estimate.toFixed(0)} us: ${parts.join('; ')}.`
}

/**
 * Why there is no trustworthy answer: there is no budget without a round.
 *
 * @param {AblatePlan} plan
 * @param {Records} records
 * @param {NotAppliedCell[]} notApplied
 */
export function problemOf(plan, records, notApplied) {
  if (roundsOf(records).length > 0) return null
  const refused = notApplied.find(({ cell }) => cell.variant === BY_TURNS)
  const last = records.findLast(({ at }) => at.phase === 'turns')
  const unsound = last && (isSound(last) ? 'no round came to its end' : whyUnsound(last))
  return `no round of turns with ${plan.consumers[0]} that counts: ${refused?.because ?? unsound ?? 'no trial'}`
}

/**
 * Whether the published conclusion holds: that nothing which could be taken away mattered.
 *
 * @param {SpeedUp[]} speeds
 * @returns {string[]} none without a closed loop
 */
export function publishedVerdict(speeds) {
  const all = speeds.filter(({ without }) => without.length === 1)
  if (all.length === 0) return []
  const limited = all.filter(({ isLimited }) => isLimited)
  const names = limited.map(({ without: [stage], consumer }) => `${stage} (${consumer})`)
  const here = limited.length === all.length ? 'Nothing can be said of that here.' : hereText(all)
  return [
    `Published: no stage that was removed mattered. ${here}`,
    ...(names.length > 0 ? [`Left out, since ${GENERATOR_LIMIT}: ${names.join(', ')}.`] : []),
  ]
}

/** @param {SpeedUp[]} all */
function hereText(all) {
  const found = all.filter(({ high, isLimited }) => Number.isFinite(high) && !isLimited)
  if (found.length === 0) return 'Too few blocks here to say whether that holds.'
  const faster = found.filter(({ low }) => low > 1 + RELEVANT_RATIO)
  const texts = faster.map(({ without: [stage], consumer, ...speed }) => `${stage} (${consumer}: ${ratioText(speed)})`)
  if (faster.length > 0) return `Not so here: more gets through without ${texts.join(', ')}.`
  const isSame = found.every(({ high }) => high < 1 + RELEVANT_RATIO)
  return isSame ? 'The same here.' : 'Here nothing surely does, and not everything is settled.'
}

/** `12.3 [10.1–14.0]` @param {Pick<Figure, 'estimate' | 'low' | 'high'>} figure us */
export function intervalText({ estimate, low, high }) {
  if (Number.isNaN(estimate)) return NONE
  const digits = Math.abs(estimate) < 100 ? 1 : 0
  const interval = Number.isFinite(high) ? `${low.toFixed(digits)}–${high.toFixed(digits)}` : 'too few rounds'
  return `${estimate.toFixed(digits)} [${interval}]`
}
