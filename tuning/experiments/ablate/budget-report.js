import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { drawn, paragraph, titled } from '../../../load/report/blocks.js'
import { count, NONE, tenthPercent, wholePercent } from '../../../load/report/format.js'
import { CONFIDENCE } from '../../stats/effects.js'
import { figureOf } from '../../stats/tables.js'

/**
 * @import { Budget, Figure, Line } from './budget.js'
 * @import { AblatePlan } from './steps.js'
 */

/** Share of the whole below which a cost is not worth working on. */
export const RELEVANT_RATIO = 0.05

const REST = "such as Node's own HTTP, the routes, and the lab's reads of /metrics"

/**
 * Whether a stage is worth changing; settled only if its whole interval is above the relevant cost, or all of it below.
 * @param {Pick<Line, 'cost'>} line @param {Pick<Budget, 'whole'>} budget
 */
export function verdictOf({ cost }, { whole }) {
  const relevant_us = RELEVANT_RATIO * whole.estimate
  if (cost.low > relevant_us) return 'worth changing'
  return cost.high < relevant_us ? 'not worth changing' : 'not settled'
}

/** A sentence on which stages are worth changing and which are not. @param {Budget} budget */
export function conclusionOf(budget) {
  const { title, whole, lines, rest } = budget
  if (Number.isNaN(whole.estimate)) return `${title}: nothing was measured.`
  const linesOf = (/** @type {string} */ verdict) => lines.filter((line) => verdictOf(line, budget) === verdict)
  const share = (/** @type {number} */ us) => wholePercent(us / whole.estimate)
  const dear = linesOf('worth changing').sort((a, b) => b.cost.estimate - a.cost.estimate)
  const named = dear.map(({ stage, cost }) => `${stage} (${intervalText(cost)} us, ${share(cost.estimate)})`)
  const others = ['not worth changing', 'not settled'].flatMap((verdict) => {
    const stages = linesOf(verdict).map(({ stage }) => stage)
    return stages.length > 0 ? `${verdict}: ${stages.join(', ')}` : []
  })
  const left = `the rest (${REST}) takes ${rest.estimate.toFixed(0)} us (${share(rest.estimate)})`
  const parts = [
    named.length > 0 ? `Worth changing: ${named.join(', ')}` : 'No stage is certainly worth changing',
    ...others,
    ...(Number.isNaN(rest.estimate) ? [] : [left]),
  ]
  return `${title}: ${whole.estimate.toFixed(0)} us. ${parts.join('; ')}.`
}

/** The budget in one currency. @param {{ plan: AblatePlan, budgets: Record<string, Budget> }} findings @param {string} name of the currency */
export function budgetBlocks({ plan, budgets }, name) {
  const budget = budgets[name]
  const { title, whole, lines, rest, gap } = budget
  const share = (/** @type {number} */ us) => tenthPercent(us / whole.estimate)
  const rows = [
    ...lines.map(({ stage, cost, alone }) => {
      return [stage, intervalText(cost), share(cost.estimate), intervalText(alone), verdictOf({ cost }, budget)]
    }),
    ['the rest', intervalText(rest), share(rest.estimate), '', ''],
    ['whole', intervalText(whole), share(whole.estimate), '', ''],
  ]
  const [consumer] = plan.consumers
  const rate = DRIVERS[consumer].loop === 'open' ? ` at ${count(plan.rate_rps)}/s` : ''
  const about = `**${title}**, ${consumer}${rate}, us; with ${wholePercent(CONFIDENCE)} confidence, every interval in this table holds the true value:`
  const head = ['stage', 'removed after those above', 'of the whole', 'removed alone', '']
  return [
    ...titled(about, head, rows, { name: `budget-${name}` }),
    paragraph(
      `Removed together, all stages save ${figureText(whole.estimate - rest.estimate)} us; what each saves alone adds up to ${figureText(whole.estimate - rest.estimate - gap.estimate)} us. The two differ where stages share work.`,
    ),
  ]
}

/** The budget as a picture; empty if nothing was measured. @param {string} name of the currency @param {Budget} budget */
export function budgetPicture(name, { title, lines, rest, whole }) {
  if (!Number.isFinite(whole.estimate)) return []
  const costs = [...lines.map(({ cost }) => cost), rest]
  // Noise makes some costs negative.
  const least = Math.min(0, ...costs.flatMap(({ estimate, low }) => [estimate, low].filter(Number.isFinite)))
  return [
    drawn({
      name: `budget-${name}`,
      title: `Where a request's budget goes: ${title}`,
      about: `The cost of each stage, with its interval, of ${Math.round(whole.estimate)} us in all. With the rest they add up to the whole.`,
      form: {
        kind: 'dots',
        bars: true,
        x: { title: 'us per request', unit: 'us', min: least < 0 ? Math.floor((least * 1.05) / 10) * 10 : 0 },
        labels: [...lines.map(({ stage }) => stage), 'the rest'],
        series: [{ name: 'cost', values: costs.map(figureOf) }],
        reference: 0,
      },
    }),
  ]
}

/** `12.3 [10.1–14.0]`, a budget's figure with its interval. @param {Pick<Figure, 'estimate' | 'low' | 'high'>} figure us */
export function intervalText({ estimate, low, high }) {
  if (Number.isNaN(estimate)) return NONE
  const digits = digitsOf(estimate)
  const interval = Number.isFinite(high) ? `${low.toFixed(digits)}–${high.toFixed(digits)}` : 'too few rounds'
  return `${figureText(estimate)} [${interval}]`
}

/** @param {number} us */
function figureText(us) {
  return Number.isNaN(us) ? NONE : us.toFixed(digitsOf(us))
}

/** Digits behind the point. @param {number} us */
function digitsOf(us) {
  return Math.abs(us) < 100 ? 1 : 0
}
