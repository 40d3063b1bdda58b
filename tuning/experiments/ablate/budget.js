import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { typical } from '../../../load/verdict/ranks.js'
import { groupBy } from '../../stats/design.js'
import { confidenceOfEach } from '../../stats/effects.js'
import { nameOf } from './stages.js'
import { takenByTurns } from './steps.js'

/**
 * @import { Turn } from './inside/turns.js'
 * @import { AblatePlan, Records } from './steps.js'
 */

/** Costs of a request, averaged over a turn. */
export const CURRENCIES = {
  cpu: { title: 'CPU of the API per request', value_us: (/** @type {Turn} */ [, cpu_us]) => cpu_us },
  time: { title: 'Time in the API per request (mean)', value_us: (/** @type {Turn} */ [, , time_us]) => time_us },
}

/**
 * The budget in each currency. A closed loop has no budget of time: there it is only the wait behind the other connections.
 * @param {Pick<AblatePlan, 'stages' | 'consumers'>} plan @param {Records} records
 * @returns {Record<string, Budget>} by the currency's name
 */
export function budgetsOf(plan, records) {
  const { loop } = DRIVERS[plan.consumers[0]]
  const currencies = Object.entries(CURRENCIES).filter(([name]) => loop === 'open' || name !== 'time')
  return Object.fromEntries(currencies.map(([name, currency]) => [name, budgetOf(plan, records, currency)]))
}

/**
 * Confidence of each interval of a budget's table, which is read as a whole: two for each stage, that of the rest and that of the whole.
 * @param {Pick<AblatePlan, 'stages'>} plan
 */
export function budgetConfidence({ stages }) {
  return confidenceOfEach(2 * stages.length + 2)
}

/**
 * The cost of each stage (us, with intervals that hold together; NaN without a round). Costs are differences within a round of turns,
 * in which the lines and the rest add up to the whole by construction. Pure.
 * @param {Pick<AblatePlan, 'stages'>} plan @param {Records} records @param {typeof CURRENCIES[keyof typeof CURRENCIES]} currency
 * @typedef {ReturnType<typeof budgetOf>} Budget
 * @typedef {Budget['lines'][number]} Line
 * @typedef {Budget['whole']} Figure
 */
export function budgetOf({ stages }, records, { title, value_us }) {
  /** @typedef {(...without: string[]) => number} MeanOf a variant in one round */
  const rounds = roundsOf(records).map((round) => {
    return /** @type {MeanOf} */ ((...without) => middle((round.get(nameOf(without)) ?? []).map(value_us)))
  })
  const confidence = budgetConfidence({ stages })
  const figure = (/** @type {(mean_us: MeanOf) => number} */ of) => {
    return typical(rounds.map(of).filter(Number.isFinite), confidence)
  }
  const [whole, rest] = [figure((mean_us) => mean_us()), figure((mean_us) => mean_us(...stages))]
  /** Stages in the order of removal. */
  const lines = stages.map((stage, i) => ({
    stage,
    /** Savings from removing this stage alone. */
    alone: figure((mean_us) => mean_us() - mean_us(stage)),
    /** Savings from removing it after the stages before it. */
    cost: figure((mean_us) => mean_us(...stages.slice(0, i)) - mean_us(...stages.slice(0, i + 1))),
  }))
  // By round, the whole's skewed noise would count once for each stage, and move the estimate.
  const shared_us = lines.reduce((left_us, { alone }) => left_us - alone.estimate, whole.estimate - rest.estimate)
  return {
    title,
    whole,
    lines,
    /** Cost with all stages removed. */
    rest,
    /** Cost that stages share: the whole, less the rest and the savings of each removal alone. */
    gap: { estimate: shared_us },
  }
}

/** The turns of each variant, in every round of the sound trials by turns. @param {Records} records @returns {Map<string, Turn[]>[]} */
export function roundsOf(records) {
  return takenByTurns(records).flatMap(({ probes }) => {
    const { cells, rounds } = probes.target
    return rounds.map((/** @type {Turn[]} */ turns) => groupBy(turns, ([cell]) => cells[cell]))
  })
}

/** The middle visit: a mean of several would be less skewed than the single visits it is compared with. @param {number[]} visits */
function middle(visits) {
  return visits[Math.floor(visits.length / 2)]
}
