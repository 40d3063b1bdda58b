import { CURRENCIES, speedUp } from './budget.js'
import { cellOf, STAGE_NAMES } from './stages.js'
import { CONSUMERS } from './steps.js'

/** Of the whole: what costs less is not worth anybody's work. */
export const RELEVANT_RATIO = 0.05

const PUBLISHED = 'Published: no stage that was removed mattered.'

/**
 * Whether a stage is worth changing: all of its interval above what is relevant, or all of it below.
 *
 * @param {import('./budget.js').Line} line
 * @param {import('./budget.js').Budget} budget
 * @returns {'worth changing' | 'not worth changing' | 'not settled'}
 */
export function verdictOf({ cost }, { whole }) {
  const relevant_us = RELEVANT_RATIO * whole.estimate
  if (cost.low > relevant_us) return 'worth changing'
  return cost.high < relevant_us ? 'not worth changing' : 'not settled'
}

/**
 * Which stage is worth changing and which is not, in a sentence.
 *
 * @param {import('./budget.js').Budget} budget
 * @param {import('./budget.js').Currency} currency
 */
export function conclusionOf(budget, { title }) {
  const { whole, lines, rest } = budget
  if (Number.isNaN(whole.estimate)) return `${title}: nothing was measured.`
  const of = (/** @type {ReturnType<typeof verdictOf>} */ verdict) => {
    return lines.filter((line) => verdictOf(line, budget) === verdict)
  }
  const share = (/** @type {number} */ us) => `${Math.round((us / whole.estimate) * 100)} %`
  const dear = of('worth changing').sort((a, b) => b.cost.estimate - a.cost.estimate)
  const named = dear.map(({ stage, cost }) => `${stage} (${intervalText(cost)} us, ${share(cost.estimate)})`)
  const names = (/** @type {import('./budget.js').Line[]} */ some) => some.map(({ stage }) => stage).join(', ')
  const first =
    dear.length === 0
      ? `no stage surely takes more than ${share(RELEVANT_RATIO * whole.estimate)}`
      : `worth changing: ${named.join(', ')}`
  const [cheap, open] = [of('not worth changing'), of('not settled')]
  const what = lines.length < STAGE_NAMES.length ? 'other stages with it' : "Node's own HTTP and the routes"
  const left = `the rest, ${what}, takes ${rest.estimate.toFixed(0)} us (${share(rest.estimate)})`
  return `${title}, ${whole.estimate.toFixed(0)} us: ${[
    first,
    ...(cheap.length > 0 ? [`not worth changing: ${names(cheap)}`] : []),
    ...(open.length > 0 ? [`not settled in so few blocks: ${names(open)}`] : []),
    left,
  ].join('; ')}.`
}

/**
 * @param {import('./steps.js').AblatePlan} plan
 * @param {import('./steps.js').Records} records
 * @param {Record<string, import('./budget.js').Budget>} budgets by currency
 */
export function conclusionsOf(plan, records, budgets) {
  const sentences = Object.entries(CURRENCIES).map(([name, currency]) => conclusionOf(budgets[name], currency))
  return [...sentences, ...publishedVerdict(plan, records)]
}

/**
 * What became of the published conclusion: that nothing which could be taken away mattered.
 *
 * @param {import('./steps.js').AblatePlan} plan
 * @param {import('./steps.js').Records} records
 * @returns {string[]}
 */
export function publishedVerdict({ stages, consumers }, records) {
  const closed = consumers.filter((consumer) => CONSUMERS[consumer].loop === 'closed')
  if (closed.length === 0) return []
  const found = closed
    .flatMap((consumer) => stages.map((stage) => ({ stage, consumer, ...speedUp(records, consumer, cellOf([stage])) })))
    .filter(({ high }) => Number.isFinite(high))
  if (found.length === 0) return [`${PUBLISHED} Too few blocks here to say whether that holds.`]
  const faster = found.filter(({ low }) => low > 1 + RELEVANT_RATIO)
  const same = found.filter(({ high }) => high < 1 + RELEVANT_RATIO)
  const text = faster.map(({ stage, consumer, estimate, low, high }) => {
    return `${stage} (${consumer}: ${estimate.toFixed(2)}x [${low.toFixed(2)}–${high.toFixed(2)}])`
  })
  if (faster.length > 0) {
    return [`${PUBLISHED} Not so here: more gets through without ${text.join(', ')}.`]
  }
  return same.length === found.length
    ? [`${PUBLISHED} The same here.`]
    : [`${PUBLISHED} Here nothing surely does, and not everything is settled.`]
}

/** `12.3 [10.1–14.0]` @param {import('./budget.js').Figure} figure us */
export function intervalText({ estimate, low, high }) {
  const digits = Math.abs(estimate) < 100 ? 1 : 0
  if (Number.isNaN(estimate)) return '–'
  const text = (/** @type {number} */ us) => us.toFixed(digits)
  return `${text(estimate)} ${Number.isFinite(high) ? `[${text(low)}–${text(high)}]` : '[too few blocks]'}`
}
