import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { typical } from '../../../load/verdict/ranks.js'
import { groupBy } from '../../stats/design.js'
import { CONFIDENCE, noiseOf } from '../../stats/effects.js'
import { nameOf, PLANTED, WHOLE } from './stages.js'
import { takenByTurns } from './steps.js'

/**
 * @import { Turn } from './inside/turns.js'
 * @import { AblatePlan, Records } from './steps.js'
 */

/**
 * What a request costs, as a turn's mean.
 *
 * @typedef {{ title: string, value_us: (turn: Turn) => number }} Currency
 * @satisfies {Record<string, Currency>}
 */
export const CURRENCIES = {
  cpu: { title: 'CPU of the API per request', value_us: ([, cpu_us]) => cpu_us },
  time: { title: 'Time in the API per request (mean)', value_us: ([, , time_us]) => time_us },
}

/**
 * The budget in each currency. In a closed loop the time in the API is only the wait behind the other connections.
 *
 * @param {Pick<AblatePlan, 'stages' | 'slow_us' | 'consumers'>} plan @param {Records} records
 * @returns {Record<string, Budget>} by the currency's name
 */
export function budgetsOf(plan, records) {
  const { loop } = DRIVERS[plan.consumers[0]]
  const currencies = Object.entries(CURRENCIES).filter(([name]) => loop === 'open' || name !== 'time')
  return Object.fromEntries(currencies.map(([name, currency]) => [name, budgetOf(plan, records, currency)]))
}

/**
 * What each stage costs (us, with intervals; NaN without a round). Costs are differences within a round of turns, in which the lines
 * and the rest add up to the whole by construction. Pure.
 *
 * @param {Pick<AblatePlan, 'stages' | 'slow_us'>} plan @param {Records} records @param {Currency} currency
 *
 * @typedef {ReturnType<typeof budgetOf>} Budget
 * @typedef {Budget['lines'][number]} Line
 * @typedef {Budget['whole']} Figure
 */
export function budgetOf({ stages, slow_us }, records, { title, value_us }) {
  /** @typedef {(...without: string[]) => number[]} Visits values of one variant in one round */
  const rounds = roundsOf(records).map((round) => {
    return /** @type {Visits} */ ((...without) => (round.get(nameOf(without)) ?? []).map(value_us))
  })
  const figure = (/** @type {(visits: Visits) => number} */ of) => {
    return typical(rounds.map(of).filter(Number.isFinite), CONFIDENCE)
  }
  const alone = (/** @type {Visits} */ visits, /** @type {string} */ stage) => middle(visits()) - middle(visits(stage))
  const lines = stages.map((stage, i) => ({
    stage,
    /** Saved by its removal alone. */
    alone: figure((visits) => alone(visits, stage)),
    /** Saved by its removal after those before it. */
    cost: figure((visits) => middle(visits(...stages.slice(0, i))) - middle(visits(...stages.slice(0, i + 1)))),
  }))
  const rest = figure((visits) => middle(visits(...stages)))
  const wholes = rounds.flatMap((visits, block) =>
    visits().map((value) => ({ block, cell: { variant: WHOLE }, value })),
  )
  const isPlanted = Object.keys(slow_us).length > 0
  return {
    title,
    whole: figure((visits) => middle(visits())),
    /** In the order of removal. */
    lines,
    /** Without any stage. */
    rest,
    sum_us: lines.reduce((sum, { cost }) => sum + cost.estimate, rest.estimate),
    /** What stages share: the whole less the rest and what each removal alone saves. */
    gap: figure((visits) => {
      return stages.reduce((left, stage) => left - alone(visits, stage), middle(visits()) - middle(visits(...stages)))
    }),
    planted: isPlanted ? figure((visits) => mean(visits()) - mean(visits(PLANTED))) : null,
    /** Between visits to the whole in a round. */
    noise: noiseOf(wholes.filter(({ value }) => value > 0)),
  }
}

/** The turns of each variant, in every round of the sound trials by turns. @param {Records} records @returns {Map<string, Turn[]>[]} */
export function roundsOf(records) {
  return takenByTurns(records).flatMap(({ probes }) => {
    const { cells, rounds } = probes.target
    return rounds.map((/** @type {Turn[]} */ turns) => groupBy(turns, ([cell]) => cells[cell]))
  })
}

/** The middle one in time: a mean of several visits is less skewed than the single visits it is compared with. @param {number[]} visits */
function middle(visits) {
  return visits[Math.floor(visits.length / 2)]
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
