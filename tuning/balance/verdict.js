import { milliseconds } from '../../load/report/table.js'
import { ratioText } from '../effects.js'
import { median } from '../ranks.js'
import { differenceTo, errorRatio, leaving, okLatency, PERCENTILES, strategyFigures } from './figures.js'
import { allLower } from './gains.js'
import { strategiesOf, trialsOf } from './steps.js'

/**
 * @typedef {import('./steps.js').BalancePlan} BalancePlan
 * @typedef {import('./steps.js').Records} Records
 * @typedef {import('./figures.js').StrategyFigures} StrategyFigures
 */

/**
 * Whether adaptive beats round robin, in sentences.
 *
 * @param {StrategyFigures[]} strategies
 * @param {StrategyFigures[]} crowded the same at a higher rate
 * @param {import('./gains.js').Simulation | null} simulation
 * @returns {string[]}
 */
export function answerSentences(strategies, crowded, simulation) {
  return [...measuredSentence(strategies), ...crowdedSentence(crowded), ...simulatedSentence(simulation)]
}

/** @param {StrategyFigures[]} strategies @returns {string[]} */
function measuredSentence(strategies) {
  const ratios = strategies.find(({ strategy }) => strategy === 'adaptive')?.to_reference
  if (!ratios) return []
  const list = PERCENTILES.map((name) => `${name} ${ratioText(ratios[name])}`).join(', ')
  return [`Measured here, adaptive by round robin over uneven endpoints: ${list}. ${shapeText(ratios)}`]
}

/** @param {StrategyFigures[]} strategies @returns {string[]} */
function crowdedSentence(strategies) {
  const ratios = strategies.find(({ strategy }) => strategy === 'adaptive')?.to_reference
  if (!ratios) return []
  const list = PERCENTILES.map((name) => `${name} ${ratioText(ratios[name])}`).join(', ')
  const herd =
    ratios.p95.ratio > 1
      ? ' Until answers come the lowest score stays the lowest, and all requests go to the same endpoint: where its places are taken, they queue.'
      : ''
  return [`With more requests under way: ${list}.${herd}`]
}

/** @param {NonNullable<StrategyFigures['to_reference']>} ratios */
function shapeText(ratios) {
  const known = PERCENTILES.filter((name) => Number.isFinite(ratios[name].high))
  const lower = PERCENTILES.filter((name) => ratios[name].ratio < 1)
  const sure = known.filter((name) => !ratios[name].tied && ratios[name].ratio < 1)
  if (sure.length === PERCENTILES.length) return 'All four are lower: the published shape.'
  const lowerText = lower.length === PERCENTILES.length ? 'All four are lower' : `Lower: ${lower.join(', ') || 'none'}`
  if (known.length === 0) return `${lowerText}, in too few blocks to tell it from chance.`
  return `${lowerText}, beyond doubt ${sure.join(', ') || 'none'}: not the published shape, where all four are.`
}

/** @param {import('./gains.js').Simulation | null} simulation @returns {string[]} */
function simulatedSentence(simulation) {
  if (!simulation) return []
  const { few } = simulation
  // The published balancer had few requests under way at once.
  const worlds = simulation.worlds.filter(({ workers }) => workers === simulation.worlds[0].workers)
  const names = (/** @type {boolean} */ lower) => {
    return worlds.filter(({ gains }) => allLower(gains) === lower).map(({ world }) => `"${world}"`)
  }
  const [with_, without] = [names(true), names(false)]
  const yes = with_.length > 0 ? `All four percentiles are lower over the endpoints ${with_.join(' and ')}.` : ''
  const no =
    without.length > 0
      ? `Not so over ${without.join(' and ')}: a balancer can only gain from what lasts longer than an answer.`
      : ''
  const chance = `Of round robins of ${few.samples} samples, ${(few.all_lower_ratio * 100).toFixed(0)} % look slower at all four percentiles by chance alone.`
  return [`Simulated, the published shape: ${[yes, no, chance].filter(Boolean).join(' ')}`]
}

/**
 * Where HAProxy is the better choice, and where it is not: each figure against adaptive, within a block. What the interval
 * does not tell from nothing is no difference.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 * @returns {Against}
 *
 * @typedef {{ better: string[], worse: string[], even: string[] }} Against
 */
export function haproxyAgainstAdaptive(plan, records) {
  const lines = [
    ...latencyLines(strategyFigures(plan, records), 'uneven endpoints'),
    ...latencyLines(strategyFigures(plan, records, 'crowded'), 'the same, crowded'),
    ...MEASURES.flatMap((measure) => differenceLines(measure, plan, records)),
  ]
  const of = (/** @type {number} */ sign) => lines.filter((line) => line.sign === sign).map(({ text }) => text)
  return { better: of(-1), worse: of(1), even: of(0) }
}

/** @typedef {{ sign: number, text: string }} Line sign -1: HAProxy is better */

/** @param {StrategyFigures[]} figures @param {string} where @returns {Line[]} */
function latencyLines(figures, where) {
  return figures.filter(isHaproxy).flatMap(({ strategy, to_adaptive }) =>
    /** @type {const} */ (['p50', 'p95']).flatMap((name) => {
      const effect = to_adaptive?.[name]
      if (!effect || Number.isNaN(effect.ratio)) return []
      const sign = effect.tied ? 0 : Math.sign(effect.ratio - 1)
      return [{ sign, text: `${name} of ${strategy}, ${where}: ${ratioText(effect)} of adaptive's` }]
    }),
  )
}

/**
 * What is better when it is less, as a difference.
 *
 * @typedef {object} Measure
 * @property {import('./steps.js').MeasuredPart} part
 * @property {string} about
 * @property {(record: Records[number], plan: BalancePlan) => number} value
 * @property {(value: number) => string} text
 */

/** @type {Measure[]} */
const MEASURES = [
  {
    part: 'strategies',
    about: 'errors met by clients, uneven endpoints',
    value: (one) => errorRatio([one]),
    text: percent,
  },
  { part: 'crowded', about: 'errors met by clients, crowded', value: (one) => errorRatio([one]), text: percent },
  { part: 'failing', about: 'errors met by clients, one fails', value: (one) => errorRatio([one]), text: percent },
  {
    part: 'failing',
    about: 'time to leave the one that fails',
    // Who stays is taken to leave when it ends: it is longer than that.
    value: (one, { fails }) => leaving(one).leave_s ?? fails.failing.to_s - fails.failing.from_s,
    text: seconds,
  },
  {
    part: 'failing',
    about: 'time to come back',
    value: (one, { fails, sizes }) => leaving(one).back_s ?? sizes.failing.duration_s - fails.failing.to_s,
    text: seconds,
  },
  { part: 'overhead', about: 'added to the median', value: (one) => okLatency(one, 'p50'), text: milliseconds },
  {
    part: 'overhead',
    about: 'CPU of the balancer per request',
    value: ({ probes }) => probes.api.cpu_us_per_request ?? Number.NaN,
    text: (us) => `${us.toFixed(0)} us`,
  },
]

/** @param {Measure} measure @param {BalancePlan} plan @param {Records} records @returns {Line[]} */
function differenceLines({ part, about, value, text }, plan, records) {
  const figureOf = (/** @type {Records[number]} */ record) => value(record, plan)
  const middle = (/** @type {string} */ strategy) => median(trialsOf(records, part, strategy).map(figureOf))
  return strategiesOf(part, plan)
    .filter((strategy) => isHaproxy({ strategy }))
    .flatMap((strategy) => {
      const { low, high, pairs } = differenceTo('adaptive', strategy, part, records, figureOf)
      if (pairs === 0) return []
      const sign = high < 0 ? -1 : low > 0 ? 1 : 0
      return [
        {
          sign,
          text: `${about}: ${text(middle(strategy))} with ${strategy}, ${text(middle('adaptive'))} with adaptive`,
        },
      ]
    })
}

/** @param {{ strategy: string }} figures */
function isHaproxy({ strategy }) {
  return strategy.startsWith('haproxy')
}

/** @param {number} s */
function seconds(s) {
  return `${s.toFixed(1)} s`
}

/** @param {number} ratio */
export function percent(ratio) {
  return Number.isNaN(ratio) ? '–' : `${(ratio * 100).toFixed(1)} %`
}
