import { milliseconds } from '../../../load/report/format.js'
import { ratioText } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { differenceTo, errorRatio, leaving, okLatency, PERCENTILES, strategyFigures } from './figures.js'
import { allLower } from './gains.js'
import { REFERENCE, strategiesOf, trialsOf } from './steps.js'
import { NO_MEMORY } from './worlds.js'

/**
 * @import { Simulation } from './gains.js'
 * @import { MeasuredPart } from './steps.js'
 */

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
 * @param {Simulation | null} simulation
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
  return [`With more requests under way: ${list}.${herdText(strategies, ratios)}`]
}

/**
 * Why adaptive is slower in a crowd, where it surely is: what the endpoints counted has to bear it out.
 *
 * @param {StrategyFigures[]} strategies
 * @param {NonNullable<StrategyFigures['to_reference']>} ratios
 */
function herdText(strategies, { p95 }) {
  if (p95.tied || p95.low <= 1 || !Number.isFinite(p95.high)) return ''
  const queuedOf = (/** @type {string} */ name) => {
    return strategies.find(({ strategy }) => strategy === name)?.queued_ratio ?? Number.NaN
  }
  const [own, other] = [queuedOf('adaptive'), queuedOf(REFERENCE)]
  const counted = ` ${percent(own)} of adaptive's requests found every place of their endpoint taken and queued, ${percent(other)} of round robin's`
  return own > other
    ? `${counted}: until answers come the lowest score stays the lowest, and all requests go to the same endpoint.`
    : `${counted}: queues do not explain it.`
}

/**
 * Whether it is the published shape: surely all four lower; surely not, where one is not; or neither.
 *
 * @param {NonNullable<StrategyFigures['to_reference']>} ratios
 */
export function shapeText(ratios) {
  const known = PERCENTILES.filter((name) => Number.isFinite(ratios[name].high))
  const sure = known.filter((name) => !ratios[name].tied && ratios[name].high < 1)
  const against = known.filter((name) => ratios[name].low >= 1)
  if (known.length === 0) return 'Too few blocks to tell any of it from chance.'
  if (sure.length === PERCENTILES.length) return `All four are lower, ${EACH}: the published shape. ${UNLIKE}`
  const lower = sure.length > 0 ? `Lower, ${EACH}: ${sure.join(', ')}. ` : ''
  if (against.length > 0)
    return `${lower}Not lower, ${EACH}: ${against.join(', ')}. So not the published shape. ${UNLIKE}`
  return `${lower}Whether all four are, as published, is not settled. ${UNLIKE}`
}

/** Of the intervals. */
const EACH = 'at 95 % each'

const UNLIKE = 'Published were endpoints of equal quality; ours are uneven by design.'

/** @param {Simulation | null} simulation @returns {string[]} */
function simulatedSentence(simulation) {
  if (!simulation) return []
  const { few, worlds } = simulation
  const counts = [...new Set(worlds.map(({ workers }) => workers))]
  const found = counts.map((workers) => {
    const own = worlds.filter((world) => world.workers === workers)
    const names = (/** @type {boolean} */ lower) => {
      const some = own.filter(({ gains }) => allLower(gains) === lower)
      return some.map(({ world }) => `"${world}"`).join(' and ') || 'none'
    }
    return `With ${workers} under way all four percentiles are lower over ${names(true)}, and not over ${names(false)}.`
  })
  const isNothing = worlds.every(({ world, gains }) => world !== NO_MEMORY || !allLower(gains))
  const why = isNothing ? ` Over "${NO_MEMORY}" there is nothing to gain: no endpoint is better than another.` : ''
  const chance = `Of ${few.draws} round robins of ${few.samples} samples, drawn from the published quantiles, ${percent(few.all_lower_ratio)} look slower than they are at all four, and ${percent(few.as_published_ratio)} by as much as was published.`
  return [`Simulated, the published shape: ${found.join(' ')}${why} ${chance}`]
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
 * @property {MeasuredPart} part
 * @property {string} about
 * @property {(record: Records[number], plan: BalancePlan) => number} value
 * @property {(value: number) => string} text
 * @property {{ limit: (plan: BalancePlan) => number, text: string }} [censored] a value of the limit was not seen to the
 *   end: it is at least that
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
    value: (one, plan) => leaving(one).leave_s ?? longestStay_s(plan),
    text: seconds,
    censored: { limit: longestStay_s, text: 'stays' },
  },
  {
    part: 'failing',
    about: 'time to come back',
    // Who never left cannot come back.
    value: (one, plan) => {
      const { leave_s, back_s } = leaving(one)
      return leave_s === null ? Number.NaN : (back_s ?? longestAway_s(plan))
    },
    text: seconds,
    censored: { limit: longestAway_s, text: 'stays away' },
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
function differenceLines({ part, about, value, text, censored }, plan, records) {
  const figureOf = (/** @type {Records[number]} */ record) => value(record, plan)
  const middle = (/** @type {string} */ strategy) => {
    const values = trialsOf(records, part, strategy).map(figureOf).filter(Number.isFinite)
    const limit = censored?.limit(plan) ?? Number.POSITIVE_INFINITY
    return isMostly(values, limit) ? `${censored?.text} (> ${text(limit)})` : text(median(values))
  }
  return strategiesOf(part, plan)
    .filter((strategy) => isHaproxy({ strategy }))
    .flatMap((strategy) => {
      const { low, high, pairs } = differenceTo('adaptive', strategy, part, records, figureOf)
      if (pairs === 0) return []
      const sign = high < 0 ? -1 : low > 0 ? 1 : 0
      return [
        {
          sign,
          text: `${about}: ${middle(strategy)} with ${strategy}, ${middle('adaptive')} with adaptive`,
        },
      ]
    })
}

/** Seconds for which an endpoint can be seen to stay. @param {Pick<BalancePlan, 'fails'>} plan */
export function longestStay_s({ fails }) {
  return fails.failing.to_s - fails.failing.from_s
}

/** Seconds for which it can be seen to stay away. @param {Pick<BalancePlan, 'fails' | 'sizes'>} plan */
export function longestAway_s({ fails, sizes }) {
  return sizes.failing.duration_s - fails.failing.to_s
}

/** Whether the median is one that was not seen to the end. @param {number[]} values @param {number} limit */
export function isMostly(values, limit) {
  return values.length > 0 && 2 * values.filter((value) => value >= limit).length >= values.length
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
