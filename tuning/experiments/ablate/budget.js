import { groupBy } from '../../stats/design.js'
import { CONFIDENCE, noiseOf } from '../../stats/effects.js'
import { typical } from '../../stats/ranks.js'
import { nameOf, PLANTED, WHOLE } from './stages.js'
import { CONSUMERS, takenByTurns } from './steps.js'

/**
 * @import { Turn } from './inside/turns.js'
 * @import { AblatePlan, Records } from './steps.js'
 */

/** @typedef {{ title: string, value_us: (turn: Turn) => number }} Currency spent on a request, in the mean of a turn */

/** @satisfies {Record<string, Currency>} */
export const CURRENCIES = {
  cpu: { title: 'CPU of the API per request', value_us: ([, cpu_us]) => cpu_us },
  time: { title: 'Time in the API per request (mean)', value_us: ([, , time_us]) => time_us },
}

/**
 * The budget in each currency. In a closed loop the time in the API is the wait behind the other connections.
 *
 * @param {Pick<AblatePlan, 'stages' | 'slow_us' | 'consumers'>} plan
 * @param {Records} records
 * @returns {Record<string, Budget>} by the currency's name
 */
export function budgetsOf(plan, records) {
  const { loop } = CONSUMERS[plan.consumers[0]]
  const currencies = Object.entries(CURRENCIES).filter(([name]) => loop === 'open' || name !== 'time')
  return Object.fromEntries(currencies.map(([name, currency]) => [name, budgetOf(plan, records, currency)]))
}

/**
 * What each stage costs (us, with intervals; NaN without a round). Costs are differences within a round of turns; in each round
 * the lines and the rest add up to the whole, by construction. Pure.
 *
 * @param {Pick<AblatePlan, 'stages' | 'slow_us'>} plan
 * @param {Records} records
 * @param {Currency} currency
 *
 * @typedef {ReturnType<typeof budgetOf>} Budget
 * @typedef {Budget['lines'][number]} Line
 * @typedef {Budget['whole']} Figure
 */
export function budgetOf({ stages, slow_us }, records, { title, value_us }) {
  const rounds = roundsOf(records)
  const valuesIn = (/** @type {Round} */ round, /** @type {string[]} */ without) => {
    return (round.get(nameOf(without)) ?? []).map(value_us)
  }
  // Of several visits the middle one: a mean is less skewed than the single visits it is compared with.
  const middle = (/** @type {Round} */ round, /** @type {string[]} */ ...without) => {
    const values = valuesIn(round, without)
    return values[Math.floor(values.length / 2)]
  }
  const alone = (/** @type {Round} */ round, /** @type {string} */ stage) => middle(round) - middle(round, stage)
  const figure = (/** @type {(round: Round) => number} */ of) => {
    return typical(rounds.map(of).filter(Number.isFinite), CONFIDENCE)
  }
  const lines = stages.map((stage, i) => ({
    stage,
    /** What its removal alone saves. */
    alone: figure((round) => alone(round, stage)),
    /** What its removal saves when those before it are away already. */
    cost: figure((round) => middle(round, ...stages.slice(0, i)) - middle(round, ...stages.slice(0, i + 1))),
  }))
  const rest = figure((round) => middle(round, ...stages))
  const visits = rounds.flatMap((round, block) => valuesIn(round, []).map((value) => ({ block, cell: WHOLE, value })))
  const isPlanted = Object.keys(slow_us).length > 0
  return {
    title,
    whole: figure((round) => middle(round)),
    /** In the order in which they were taken away. */
    lines,
    /** When all are away. */
    rest,
    sum_us: lines.reduce((sum, { cost }) => sum + cost.estimate, rest.estimate),
    /** The whole less the rest and what each removal alone saves: what stages share. */
    gap: figure((round) => {
      return stages.reduce((left, stage) => left - alone(round, stage), middle(round) - middle(round, ...stages))
    }),
    /** What the CPU costs that was put in on purpose. */
    planted: isPlanted ? figure((round) => mean(valuesIn(round, [])) - mean(valuesIn(round, [PLANTED]))) : null,
    /** Of two visits to the whole in a round. */
    noise: noiseOf(visits.filter(({ value }) => value > 0)),
  }
}

/**
 * The turns of each variant, in every round of the trials by turns.
 *
 * @param {Records} records
 * @returns {Round[]}
 *
 * @typedef {Map<string, Turn[]>} Round
 */
export function roundsOf(records) {
  return takenByTurns(records).flatMap(({ probes }) => {
    const { cells, rounds } = probes.target
    return rounds.map((/** @type {Turn[]} */ turns) => groupBy(turns, ([cell]) => cells[cell]))
  })
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
