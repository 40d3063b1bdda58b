import { noiseOf } from '../../stats/effects.js'
import { typical } from '../../stats/ranks.js'
import { generatorWasLimit } from '../../stats/sound.js'
import { nameOf, PLANTED, WHOLE } from './stages.js'
import { CONSUMERS, consumed, takenByTurns } from './steps.js'

/**
 * @import { Noise } from '../../stats/effects.js'
 * @import { Turn } from './inside/turns.js'
 * @import { AblatePlan, Records } from './steps.js'
 */

/** Of each interval. */
export const CONFIDENCE = 0.95

/**
 * What is spent on a request, in the mean of a turn.
 *
 * @typedef {object} Currency
 * @property {string} title
 * @property {(turn: Turn) => number} value_us
 */

/** @satisfies {Record<string, Currency>} */
export const CURRENCIES = {
  cpu: {
    title: 'CPU of the API per request',
    value_us: ([, cpu_us]) => cpu_us,
  },
  time: {
    title: 'Time in the API per request (mean)',
    value_us: ([, , time_us]) => time_us,
  },
}

/**
 * What the budget is written in. In a closed loop the time in the API is the wait behind the other connections.
 *
 * @param {Pick<AblatePlan, 'consumers'>} plan
 * @returns {[string, Currency][]}
 */
export function currenciesOf({ consumers }) {
  const { loop } = CONSUMERS[consumers[0]]
  return Object.entries(CURRENCIES).filter(([name]) => loop === 'open' || name !== 'time')
}

/**
 * @typedef {ReturnType<typeof typical>} Figure us, with the interval; NaN without a block
 *
 * @typedef {object} Line
 * @property {string} stage
 * @property {Figure} alone what its removal alone saves
 * @property {Figure} cost what its removal saves when those before it are away already
 *
 * @typedef {object} Budget
 * @property {Figure} whole
 * @property {Line[]} lines in the order in which they were taken away
 * @property {Figure} rest when all are away
 * @property {number} sum_us of the lines' costs and the rest: within a round the whole, by construction
 * @property {Figure} gap the whole less the rest and what each removal alone saves, within a round: what stages share
 * @property {Figure | null} planted what that costs which was put in on purpose
 * @property {Noise} noise of two visits to the whole in a round
 */

/**
 * What each stage costs. Costs are differences within a round of turns; in each round the lines and the rest add up to the
 * whole. Pure.
 *
 * @param {Pick<AblatePlan, 'stages' | 'slow_us'>} plan
 * @param {Records} records
 * @param {Currency} currency
 * @returns {Budget}
 */
export function budgetOf({ stages, slow_us }, records, { value_us }) {
  const rounds = roundsOf(records).map((turns) => visitsOf(turns.map(({ cell, turn }) => [cell, value_us(turn)])))
  // Of those with several visits the one in the middle: a mean is less skewed than the single visits it is compared with.
  const blocks = rounds.map((cells) => new Map([...cells].map(([cell, values]) => [cell, middleOf(values)])))
  const at = (/** @type {string} */ cell) => figureOf(blocks.map((cells) => cells.get(cell)))
  const between = (/** @type {string} */ more, /** @type {string} */ less) => {
    return figureOf(blocks.map((cells) => minus(cells.get(more), cells.get(less))))
  }
  const planted = () => figureOf(rounds.map((cells) => minus(meanOf(cells, WHOLE), meanOf(cells, nameOf([PLANTED])))))
  const lines = stages.map((stage, i) => ({
    stage,
    alone: between(WHOLE, nameOf([stage])),
    cost: between(nameOf(stages.slice(0, i)), nameOf(stages.slice(0, i + 1))),
  }))
  const nothing = nameOf(stages)
  const whole = at(WHOLE)
  const rest = at(nothing)
  const gaps = blocks.map((cells) => {
    const alone = stages.map((stage) => minus(cells.get(WHOLE), cells.get(nameOf([stage]))))
    return minus(
      minus(cells.get(WHOLE), cells.get(nothing)),
      alone.reduce((sum, value) => sum + value, 0),
    )
  })
  return {
    whole,
    lines,
    rest,
    sum_us: lines.reduce((sum, { cost }) => sum + cost.estimate, rest.estimate),
    gap: figureOf(gaps),
    planted: Object.keys(slow_us).length > 0 ? planted() : null,
    noise: noiseOf(
      rounds.flatMap((cells, block) => {
        const known = (cells.get(WHOLE) ?? []).filter((value) => value > 0)
        return known.map((value) => ({ block, cell: WHOLE, levels: {}, value }))
      }),
    ),
  }
}

/**
 * How much faster a closed loop turns in a variant, as a ratio to the whole, with its interval; and whether that is as fast
 * as its generator can.
 *
 * @param {Records} records
 * @param {string} consumer
 * @param {string} variant
 */
export function speedUp(records, consumer, variant) {
  const trials = consumed(records, consumer)
  const isLimited = [variant, WHOLE].some((one) => {
    return generatorWasLimit(trials.filter(({ cell }) => cell.variant === one))
  })
  const blocks = [...new Set(trials.map(({ at }) => at.block))]
  const logs = blocks.map((block) => {
    const own = trials.filter(({ at }) => at.block === block)
    const visits = visitsOf(own.map(({ cell, traffic }) => [cell.variant, Math.log(traffic.goodput_rps)]))
    return minus(meanOf(visits, variant), meanOf(visits, WHOLE))
  })
  const { estimate, low, high, pairs } = figureOf(logs)
  return { ratio: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high), pairs, isLimited }
}

/** The rounds of all trials by turns. @param {Records} records @returns {{ cell: string, turn: Turn }[][]} */
export function roundsOf(records) {
  return takenByTurns(records).flatMap(({ probes }) => {
    const { cells, rounds } = probes.target
    return rounds.map((/** @type {Turn[]} */ turns) => {
      return turns.map((turn) => ({ cell: cells[turn[0]], turn }))
    })
  })
}

/** By cell. @param {[cell: string, value: number][]} values */
function visitsOf(values) {
  /** @type {Map<string, number[]>} */
  const cells = new Map()
  for (const [cell, value] of values) cells.set(cell, [...(cells.get(cell) ?? []), value])
  return cells
}

/** @param {number[]} values in the order of time */
function middleOf(values) {
  return values[Math.floor(values.length / 2)]
}

/** @param {Map<string, number[]>} cells @param {string} cell */
function meanOf(cells, cell) {
  const values = cells.get(cell)
  return values && values.reduce((sum, value) => sum + value, 0) / values.length
}

/** @param {number | undefined} a @param {number | undefined} b */
function minus(a = Number.NaN, b = Number.NaN) {
  return a - b
}

/** @param {(number | undefined)[]} values @returns {Figure} */
function figureOf(values) {
  const known = values.filter((value) => value !== undefined && Number.isFinite(value))
  return typical(/** @type {number[]} */ (known), CONFIDENCE)
}
