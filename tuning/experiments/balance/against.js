import { milliseconds, tenthPercent } from '../../../load/report/format.js'
import { ratioText } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { cpu_us, errorRatio, leaving, measuredIn, p50_ms } from './figures.js'
import { HAPROXY } from './steps.js'

/**
 * @import { Figures, Measured, StrategyFigures } from './figures.js'
 * @import { BalancePlan } from './plan.js'
 * @import { MeasuredPart, Records } from './steps.js'
 */

/**
 * Where HAProxy is the better choice, and where it is not: each figure against adaptive, within a block. A difference whose
 * interval contains 0 is none.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 * @param {Pick<Figures, 'strategies' | 'crowded'>} figures
 */
export function haproxyAgainstAdaptive(plan, records, { strategies, crowded }) {
  const lines = [
    ...latencyLines(strategies, 'uneven endpoints'),
    ...latencyLines(crowded, 'the same, crowded'),
    ...MEASURES.flatMap((measure) => differenceLines(measure, plan, measuredIn(measure.part, plan, records))),
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

/** The longest times that can be seen, and what the endpoint does beyond them. @param {BalancePlan} plan */
export function timesOf({ fails: { failing }, sizes }) {
  return {
    leave: { longest_s: failing.to_s - failing.from_s, beyond: 'stays' },
    back: { longest_s: sizes.failing.duration_s - failing.to_s, beyond: 'stays away' },
  }
}

const ERRORS = { value: (/** @type {Record} */ one) => errorRatio([one]), text: tenthPercent }

/**
 * Figures of which less is better.
 *
 * @type {Measure[]}
 *
 * @typedef {Records[number]} Record
 * @typedef {{ value: (record: Record, longest_s: number) => number, text: (value: number) => string }} Valued
 * @typedef {Valued & { part: MeasuredPart, about: string, time?: keyof ReturnType<typeof timesOf> }} Measure
 */
const MEASURES = [
  { part: 'strategies', about: 'errors met by clients, uneven endpoints', ...ERRORS },
  { part: 'crowded', about: 'errors met by clients, crowded', ...ERRORS },
  { part: 'failing', about: 'errors met by clients, one fails', ...ERRORS },
  {
    part: 'failing',
    about: 'time to leave the one that fails',
    value: (one, longest_s) => leaving(one).leave_s ?? longest_s,
    text: seconds,
    time: 'leave',
  },
  {
    part: 'failing',
    about: 'time to come back',
    // An endpoint that was never left cannot be come back to.
    value: (one, longest_s) => (leaving(one).leave_s === null ? Number.NaN : (leaving(one).back_s ?? longest_s)),
    text: seconds,
    time: 'back',
  },
  { part: 'overhead', about: 'added to the median', value: p50_ms, text: milliseconds },
  { part: 'overhead', about: 'CPU of the balancer per request', value: cpu_us, text: (us) => `${us.toFixed(0)} us` },
]

/** @param {Measure} measure @param {BalancePlan} plan @param {Measured} measured @returns {Line[]} */
function differenceLines({ about, value, text, time }, plan, { trialsOf, strategies, difference }) {
  const { longest_s, beyond } = time ? timesOf(plan)[time] : { longest_s: Number.POSITIVE_INFINITY, beyond: '' }
  const valueIn = (/** @type {Record} */ record) => value(record, longest_s)
  const middle = (/** @type {string} */ strategy) => {
    const values = trialsOf(strategy).map(valueIn).filter(Number.isFinite)
    return isMostly(values, longest_s) ? `${beyond} (> ${text(longest_s)})` : text(median(values))
  }
  const others = strategies.filter((strategy) => HAPROXY.includes(strategy))
  return others.flatMap((strategy) => {
    const { low, high, pairs } = difference(strategy, 'adaptive', valueIn)
    if (pairs === 0) return []
    const sign = high < 0 ? -1 : low > 0 ? 1 : 0
    return { sign, text: `${about}: ${middle(strategy)} with ${strategy}, ${middle('adaptive')} with adaptive` }
  })
}

/** Whether the median is one that was not seen to the end. @param {number[]} values @param {number} longest */
export function isMostly(values, longest) {
  return values.length > 0 && 2 * values.filter((value) => value >= longest).length >= values.length
}

/** @param {number} s */
function seconds(s) {
  return `${s.toFixed(1)} s`
}
