import { noiseOf } from '../effects.js'
import { typical } from '../ranks.js'
import { generatorWasLimit } from '../sound.js'
import { cellOf, PLANTED, WHOLE } from './stages.js'
import { blockOf, CONSUMERS, consumed } from './steps.js'

/** Of each interval. */
export const CONFIDENCE = 0.95

/**
 * What is spent on a request.
 *
 * @typedef {object} Currency
 * @property {string} title
 * @property {(record: import('../../load/trial.js').TrialRecord) => number} value_us NaN: not known
 */

/** @satisfies {Record<string, Currency>} */
export const CURRENCIES = {
  cpu: {
    title: 'CPU of the API per request',
    value_us: ({ probes }) => probes.api.cpu_us_per_request ?? Number.NaN,
  },
  time: {
    title: 'Time until the answer (p50 of the successes)',
    value_us: ({ traffic }) => (traffic.ok_latency_ms?.p50 ?? Number.NaN) * 1000,
  },
}

/**
 * What the budget is written in. In a closed loop the time until the answer is the wait behind the other connections.
 *
 * @param {Pick<import('./steps.js').AblatePlan, 'consumers'>} plan
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
 * @property {number} sum_us of the lines' costs and the rest: within a block the whole, by construction
 * @property {Figure} gap the whole less the rest and what each removal alone saves, within a block: what stages share
 * @property {Figure | null} planted what the busy wait costs that was put in on purpose
 * @property {import('../effects.js').Noise} noise of two visits to the whole in a block
 */

/**
 * What each stage costs. Costs are differences within a block; in each block the lines and the rest add up to the whole.
 * Pure.
 *
 * @param {Pick<import('./steps.js').AblatePlan, 'stages' | 'slow_us' | 'consumers'>} plan
 * @param {import('./steps.js').Records} records
 * @param {Currency} currency
 * @param {string} [consumer]
 * @returns {Budget}
 */
export function budgetOf({ stages, slow_us, consumers }, records, { value_us }, consumer = consumers[0]) {
  const visits = visitsOf(consumed(records, consumer), value_us)
  const blocks = [...visits.values()].map((cells) => new Map([...cells].map(([cell, values]) => [cell, mean(values)])))
  const at = (/** @type {string} */ cell) => figureOf(blocks.map((cells) => cells.get(cell)))
  const between = (/** @type {string} */ more, /** @type {string} */ less) => {
    return figureOf(blocks.map((cells) => minus(cells.get(more), cells.get(less))))
  }
  const lines = stages.map((stage, i) => ({
    stage,
    alone: between(WHOLE, cellOf([stage])),
    cost: between(cellOf(stages.slice(0, i)), cellOf(stages.slice(0, i + 1))),
  }))
  const nothing = cellOf(stages)
  const whole = at(WHOLE)
  const rest = at(nothing)
  const gaps = blocks.map((cells) => {
    const alone = stages.map((stage) => minus(cells.get(WHOLE), cells.get(cellOf([stage]))))
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
    planted: Object.keys(slow_us).length > 0 ? between(WHOLE, cellOf([PLANTED])) : null,
    noise: noiseOf(
      [...visits].flatMap(([block, cells]) => {
        const known = (cells.get(WHOLE) ?? []).filter((value) => value > 0)
        return known.map((value) => ({ block, cell: WHOLE, levels: {}, value }))
      }),
    ),
  }
}

/**
 * How much faster a closed loop turns with a stage away, as a ratio to the whole, with its interval; and whether that is
 * as fast as its generator can.
 *
 * @param {import('./steps.js').Records} records
 * @param {string} consumer
 * @param {string} cell
 */
export function speedUp(records, consumer, cell) {
  const isLimited = [cell, WHOLE].some((one) => {
    return generatorWasLimit(consumed(records, consumer).filter((record) => record.cell === one))
  })
  const visits = visitsOf(consumed(records, consumer), ({ traffic }) => Math.log(traffic.goodput_rps))
  const logs = [...visits.values()].map((cells) => minus(meanOf(cells, cell), meanOf(cells, WHOLE)))
  const { estimate, low, high, pairs } = figureOf(logs)
  return { estimate: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high), pairs, isLimited }
}

/**
 * By block and cell.
 *
 * @param {import('./steps.js').Records} records
 * @param {(record: import('./steps.js').Records[number]) => number} value
 */
function visitsOf(records, value) {
  /** @type {Map<number, Map<string, number[]>>} */
  const blocks = new Map()
  for (const record of records) {
    const block = blockOf(record)
    const cell = String(record.cell)
    const cells = blocks.get(block) ?? new Map()
    blocks.set(block, cells.set(cell, [...(cells.get(cell) ?? []), value(record)]))
  }
  return blocks
}

/** @param {Map<string, number[]>} cells @param {string} cell */
function meanOf(cells, cell) {
  const values = cells.get(cell)
  return values && mean(values)
}

/** @param {number[]} values */
function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
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
