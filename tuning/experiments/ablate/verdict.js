import { GENERATOR_LIMIT, isSound, whyUnsound } from '../../stats/sound.js'
import { currenciesOf, roundsOf, speedUp } from './budget.js'
import { BY_TURNS, cellOf, STAGE_NAMES } from './stages.js'
import { closedLoopsOf, isByTurns } from './steps.js'

/**
 * @import { NotAppliedCell } from '../../../load/run/experiment.js'
 * @import { Budget, Currency, Figure, Line } from './budget.js'
 * @import { AblatePlan, Records } from './steps.js'
 */

/** Of the whole: what costs less is not worth anybody's work. */
export const RELEVANT_RATIO = 0.05

const PUBLISHED = 'Published: no stage that was removed mattered.'

const REST = "Node's own HTTP, the routes, and the lab's own looks at /metrics"

/**
 * Whether a stage is worth changing: all of its interval above what is relevant, or all of it below.
 *
 * @typedef {'worth changing' | 'not worth changing' | 'not settled' | 'too few rounds to tell' | 'not measured'} StageVerdict
 *
 * @param {Line} line
 * @param {Budget} budget
 * @returns {StageVerdict}
 */
export function verdictOf({ cost }, { whole }) {
  if (Number.isNaN(cost.estimate)) return 'not measured'
  if (!Number.isFinite(cost.high)) return 'too few rounds to tell'
  const relevant_us = RELEVANT_RATIO * whole.estimate
  if (cost.low > relevant_us) return 'worth changing'
  return cost.high < relevant_us ? 'not worth changing' : 'not settled'
}

/**
 * Which stage is worth changing and which is not, in a sentence.
 *
 * @param {Budget} budget
 * @param {Currency} currency
 */
export function conclusionOf(budget, { title }) {
  const { whole, lines, rest } = budget
  if (Number.isNaN(whole.estimate)) return `${title}: nothing was measured.`
  const of = (/** @type {StageVerdict} */ verdict) => {
    return lines.filter((line) => verdictOf(line, budget) === verdict)
  }
  const share = (/** @type {number} */ us) => `${Math.round((us / whole.estimate) * 100)} %`
  const dear = of('worth changing').sort((a, b) => b.cost.estimate - a.cost.estimate)
  const named = dear.map(({ stage, cost }) => `${stage} (${intervalText(cost)} us, ${share(cost.estimate)})`)
  const names = (/** @type {Line[]} */ some) => some.map(({ stage }) => stage).join(', ')
  const first =
    dear.length === 0
      ? `no stage surely takes more than ${share(RELEVANT_RATIO * whole.estimate)}`
      : `worth changing: ${named.join(', ')}`
  const other = /** @type {const} */ (['not worth changing', 'not settled', 'too few rounds to tell', 'not measured'])
  const what = lines.length < STAGE_NAMES.length ? `${REST}, and the stages that were left in` : REST
  const left = `the rest (${what}) takes ${rest.estimate.toFixed(0)} us (${share(rest.estimate)})`
  return `${title}, ${whole.estimate.toFixed(0)} us: ${[
    first,
    ...other.flatMap((verdict) => (of(verdict).length > 0 ? [`${verdict}: ${names(of(verdict))}`] : [])),
    ...(Number.isNaN(rest.estimate) ? [] : [left]),
  ].join('; ')}.`
}

/**
 * Why there is no trustworthy answer: there is no budget without a round.
 *
 * @param {AblatePlan} plan
 * @param {Records} records
 * @param {NotAppliedCell[]} notApplied
 * @returns {string | null}
 */
export function problemOf(plan, records, notApplied) {
  if (roundsOf(records).length > 0) return null
  const refused = notApplied.find(({ cell }) => cell === BY_TURNS)
  const last = records.findLast(isByTurns)
  const because = refused?.because ?? (last ? unsoundText(last) : 'no trial')
  return `no round of turns with ${plan.consumers[0]} that counts: ${because}`
}

/** @param {Records[number]} record */
function unsoundText(record) {
  return isSound(record) ? 'no round came to its end' : whyUnsound(record)
}

/**
 * @param {AblatePlan} plan
 * @param {Records} records
 * @param {Record<string, Budget>} budgets by currency
 */
export function conclusionsOf(plan, records, budgets) {
  const sentences = currenciesOf(plan).map(([name, currency]) => conclusionOf(budgets[name], currency))
  return [...sentences, ...publishedVerdict(plan, records)]
}

/**
 * What became of the published conclusion: that nothing which could be taken away mattered.
 *
 * @param {AblatePlan} plan
 * @param {Records} records
 * @returns {string[]}
 */
export function publishedVerdict({ stages, consumers }, records) {
  const closed = closedLoopsOf({ consumers })
  if (closed.length === 0) return []
  const all = closed.flatMap((consumer) => {
    return stages.map((stage) => ({ stage, consumer, ...speedUp(records, consumer, cellOf([stage])) }))
  })
  const found = all.filter(({ high, isLimited }) => Number.isFinite(high) && !isLimited)
  const limited = all.filter(({ isLimited }) => isLimited).map(({ stage, consumer }) => `${stage} (${consumer})`)
  const leftOut = limited.length > 0 ? [`Left out, since ${GENERATOR_LIMIT}: ${limited.join(', ')}.`] : []
  if (limited.length === all.length) return [`${PUBLISHED} Nothing can be said of that here.`, ...leftOut]
  return [`${PUBLISHED} ${hereText(found)}`, ...leftOut]
}

/** @param {(ReturnType<typeof speedUp> & { stage: string, consumer: string })[]} found those that say something */
function hereText(found) {
  if (found.length === 0) return 'Too few blocks here to say whether that holds.'
  const faster = found.filter(({ low }) => low > 1 + RELEVANT_RATIO)
  const same = found.filter(({ high }) => high < 1 + RELEVANT_RATIO)
  const text = faster.map(({ stage, consumer, estimate, low, high }) => {
    return `${stage} (${consumer}: ${estimate.toFixed(2)}x [${low.toFixed(2)}–${high.toFixed(2)}])`
  })
  if (faster.length > 0) return `Not so here: more gets through without ${text.join(', ')}.`
  return same.length === found.length ? 'The same here.' : 'Here nothing surely does, and not everything is settled.'
}

/** `12.3 [10.1–14.0]` @param {Figure} figure us */
export function intervalText({ estimate, low, high }) {
  const digits = Math.abs(estimate) < 100 ? 1 : 0
  if (Number.isNaN(estimate)) return '–'
  const text = (/** @type {number} */ us) => us.toFixed(digits)
  return `${text(estimate)} ${Number.isFinite(high) ? `[${text(low)}–${text(high)}]` : '[too few rounds]'}`
}
