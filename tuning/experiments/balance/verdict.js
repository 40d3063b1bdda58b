import { milliseconds, tenthPercent } from '../../../load/report/format.js'
import { ratioText } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { whyUnsound } from '../../stats/sound.js'
import { cpuOf, differenceTo, errorRatio, leaving, PERCENTILES, p50 } from './figures.js'
import { allLower } from './gains.js'
import { HAPROXY, partsOf, REFERENCE, strategiesOf, trialsOf } from './steps.js'
import { NO_MEMORY } from './worlds.js'

/**
 * @import { ByPercentile, StrategyFigures } from './figures.js'
 * @import { Effect } from '../../stats/effects.js'
 * @import { Simulation } from './gains.js'
 * @import { BalancePlan, MeasuredPart, Records } from './steps.js'
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
  const [uneven, dense] = [strategies, crowded].map((figures) => figureOf('adaptive', figures)?.to_reference)
  return [
    ...(uneven
      ? [`Measured here, adaptive by round robin over uneven endpoints: ${ratiosText(uneven)}. ${shapeText(uneven)}`]
      : []),
    ...(dense ? [`With more requests under way: ${ratiosText(dense)}.${herdText(crowded, dense)}`] : []),
    ...(simulation ? [simulatedSentence(simulation)] : []),
  ]
}

/** @param {string} name @param {StrategyFigures[]} figures */
function figureOf(name, figures) {
  return figures.find(({ strategy }) => strategy === name)
}

/** @param {ByPercentile<Effect>} ratios */
function ratiosText(ratios) {
  return PERCENTILES.map((name) => `${name} ${ratioText(ratios[name])}`).join(', ')
}

/**
 * Why adaptive is slower in a crowd, where it surely is: what the endpoints counted has to bear it out.
 *
 * @param {StrategyFigures[]} strategies
 * @param {ByPercentile<Effect>} ratios
 */
function herdText(strategies, { p95 }) {
  if (p95.tied || p95.low <= 1 || !Number.isFinite(p95.high)) return ''
  const [own, other] = ['adaptive', REFERENCE].map((name) => figureOf(name, strategies)?.queued_ratio ?? Number.NaN)
  const why =
    own > other
      ? 'until answers come the lowest score stays the lowest, and all requests go to the same endpoint.'
      : 'queues do not explain it.'
  return ` ${tenthPercent(own)} of adaptive's requests found every place of their endpoint taken and queued, ${tenthPercent(other)} of round robin's: ${why}`
}

/**
 * Whether it is the published shape: surely all four lower; surely not, where one is not; or neither.
 *
 * @param {ByPercentile<Effect>} ratios
 */
export function shapeText(ratios) {
  const known = PERCENTILES.filter((name) => Number.isFinite(ratios[name].high))
  const sure = known.filter((name) => !ratios[name].tied && ratios[name].high < 1)
  const against = known.filter((name) => ratios[name].low >= 1)
  if (known.length === 0) return 'Too few blocks to tell any of it from chance.'
  if (sure.length === PERCENTILES.length) return `All four are lower, ${EACH}: the published shape. ${UNLIKE}`
  const lower = sure.length > 0 ? `Lower, ${EACH}: ${sure.join(', ')}. ` : ''
  const rest =
    against.length > 0
      ? `Not lower, ${EACH}: ${against.join(', ')}. So not the published shape.`
      : 'Whether all four are, as published, is not settled.'
  return `${lower}${rest} ${UNLIKE}`
}

/** Of the intervals. */
const EACH = 'at 95 % each'

const UNLIKE = 'Published were endpoints of equal quality; ours are uneven by design.'

/** @param {Simulation} simulation */
function simulatedSentence({ few, worlds }) {
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
  const chance = `Of ${few.draws} round robins of ${few.samples} samples, drawn from the published quantiles, ${tenthPercent(few.all_lower_ratio)} look slower than they are at all four, and ${tenthPercent(few.as_published_ratio)} by as much as was published.`
  return `Simulated, the published shape: ${found.join(' ')}${why} ${chance}`
}

/**
 * Where HAProxy is the better choice, and where it is not: each figure against adaptive, within a block. What the interval
 * does not tell from nothing is no difference.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 * @param {StrategyFigures[]} strategies
 * @param {StrategyFigures[]} crowded
 * @returns {Against}
 *
 * @typedef {{ better: string[], worse: string[], even: string[] }} Against
 */
export function haproxyAgainstAdaptive(plan, records, strategies, crowded) {
  const lines = [
    ...latencyLines(strategies, 'uneven endpoints'),
    ...latencyLines(crowded, 'the same, crowded'),
    ...MEASURES.flatMap((measure) => differenceLines(measure, plan, records)),
  ]
  const of = (/** @type {number} */ sign) => lines.filter((line) => line.sign === sign).map(({ text }) => text)
  return { better: of(-1), worse: of(1), even: of(0) }
}

/** @typedef {{ sign: number, text: string }} Line sign -1: HAProxy is better */

/** @param {StrategyFigures[]} figures @param {string} where @returns {Line[]} */
function latencyLines(figures, where) {
  const others = figures.filter(({ strategy }) => HAPROXY.includes(strategy))
  return others.flatMap(({ strategy, to_adaptive }) =>
    /** @type {const} */ (['p50', 'p95']).flatMap((name) => {
      const effect = to_adaptive?.[name]
      if (!effect || Number.isNaN(effect.ratio)) return []
      const sign = effect.tied ? 0 : Math.sign(effect.ratio - 1)
      return { sign, text: `${name} of ${strategy}, ${where}: ${ratioText(effect)} of adaptive's` }
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

/** @param {MeasuredPart} part @param {string} where @returns {Measure} */
const errorsMet = (part, where) => ({
  part,
  about: `errors met by clients, ${where}`,
  value: (one) => errorRatio([one]),
  text: tenthPercent,
})

/** @type {Measure[]} */
const MEASURES = [
  errorsMet('strategies', 'uneven endpoints'),
  errorsMet('crowded', 'crowded'),
  errorsMet('failing', 'one fails'),
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
  { part: 'overhead', about: 'added to the median', value: p50, text: milliseconds },
  { part: 'overhead', about: 'CPU of the balancer per request', value: cpuOf, text: (us) => `${us.toFixed(0)} us` },
]

/** @param {Measure} measure @param {BalancePlan} plan @param {Records} records @returns {Line[]} */
function differenceLines({ part, about, value, text, censored }, plan, records) {
  const valueIn = (/** @type {Records[number]} */ record) => value(record, plan)
  const middle = (/** @type {string} */ strategy) => {
    const values = trialsOf(records, part, strategy).map(valueIn).filter(Number.isFinite)
    const limit = censored?.limit(plan) ?? Number.POSITIVE_INFINITY
    return isMostly(values, limit) ? `${censored?.text} (> ${text(limit)})` : text(median(values))
  }
  const others = strategiesOf(part, plan).filter((strategy) => HAPROXY.includes(strategy))
  return others.flatMap((strategy) => {
    const { low, high, pairs } = differenceTo('adaptive', strategy, part, records, valueIn)
    if (pairs === 0) return []
    const sign = high < 0 ? -1 : low > 0 ? 1 : 0
    return { sign, text: `${about}: ${middle(strategy)} with ${strategy}, ${middle('adaptive')} with adaptive` }
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

/** @param {number} s */
function seconds(s) {
  return `${s.toFixed(1)} s`
}

/** Why there is no trustworthy answer: a strategy without a trial. @param {BalancePlan} plan @param {Records} records */
export function problemOf(plan, records) {
  for (const part of partsOf(plan)) {
    const silent = strategiesOf(part, plan).find((strategy) => trialsOf(records, part, strategy).length === 0)
    if (!silent) continue
    const last = records.findLast(({ cell }) => cell.part === part && cell.strategy === silent)
    return `${part}: ${silent} had no trial that counts: ${last ? whyUnsound(last) : 'no trial'}`
  }
  return null
}
