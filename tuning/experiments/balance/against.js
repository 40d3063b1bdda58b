import { milliseconds, tenthPercent } from '../../../load/report/format.js'
import { ratioText } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { cpu_us, errorRatio, measuredIn, okLatency_ms, p50_ms } from './figures.js'
import { HAPROXY } from './haproxy.js'
import { leavingOf } from './shares.js'

/**
 * @import { Value } from './figures.js'
 * @import { BalancePlan } from './plan.js'
 * @import { MeasuredPart, Records } from './steps.js'
 *
 * @typedef {{ longest_s: number, beyond: string }} Time the longest that can be seen, and what the endpoint does beyond it
 * @typedef {{ part: MeasuredPart, about: string, value: Value, text?: (value: number) => string } & Partial<Time>} Measure
 */

/** Where HAProxy is better than adaptive, and where it is not, block by block. @param {BalancePlan} plan @param {Records} records */
export function haproxyAgainstAdaptive(plan, records) {
  const lines = measuresOf(plan).flatMap((measure) => linesOf(measure, plan, records))
  const of = (/** @type {string} */ verdict) => lines.filter((line) => line.verdict === verdict).map(({ text }) => text)
  return { better: of('better'), worse: of('worse'), even: of('even') }
}

/** Figures of which less is better; those without `text` are compared by their ratio. @param {BalancePlan} plan @returns {Measure[]} */
function measuresOf(plan) {
  const { leave, back } = timesOf(plan)
  const leave_s = (/** @type {Records[number]} */ one) => leavingOf(one.probes.target).leave_s ?? leave.longest_s
  const back_s = (/** @type {Records[number]} */ one) => {
    const found = leavingOf(one.probes.target)
    // An endpoint that was never left cannot be come back to.
    return found.leave_s === null ? Number.NaN : (found.back_s ?? back.longest_s)
  }
  const [p95_ms, errors] = [okLatency_ms('p95'), (/** @type {Records[number]} */ one) => errorRatio([one])]
  const seconds = (/** @type {number} */ s) => `${s.toFixed(1)} s`
  const microseconds = (/** @type {number} */ us) => `${us.toFixed(0)} us`
  return [
    { part: 'strategies', about: 'p50, uneven endpoints', value: p50_ms },
    { part: 'strategies', about: 'p95, uneven endpoints', value: p95_ms },
    { part: 'crowded', about: 'p50, crowded', value: p50_ms },
    { part: 'crowded', about: 'p95, crowded', value: p95_ms },
    { part: 'strategies', about: 'errors met by clients, uneven endpoints', value: errors, text: tenthPercent },
    { part: 'crowded', about: 'errors met by clients, crowded', value: errors, text: tenthPercent },
    { part: 'failing', about: 'errors met by clients, one fails', value: errors, text: tenthPercent },
    { part: 'failing', about: 'time to leave the one that fails', value: leave_s, text: seconds, ...leave },
    { part: 'failing', about: 'time to come back', value: back_s, text: seconds, ...back },
    { part: 'overhead', about: 'added to the median', value: p50_ms, text: milliseconds },
    { part: 'overhead', about: 'CPU of the balancer per request', value: cpu_us, text: microseconds },
  ]
}

/** A line for each of HAProxy's strategies. @param {Measure} measure @param {BalancePlan} plan @param {Records} records */
function linesOf({ part, about, value, text, ...time }, plan, records) {
  const others = measuredIn(part, plan, records).filter(({ strategy }) => strategy in HAPROXY)
  return others.flatMap(({ strategy, trials, trialsOf, ratioTo, differenceTo }) => {
    if (!text) {
      const ratio = ratioTo('adaptive', value)
      const of = `${about}: ${strategy} takes ${ratioText(ratio)} of adaptive's`
      return ratio.pairs > 0 ? [{ verdict: verdictOf(ratio, 1), text: of }] : []
    }
    const [own, adaptives] = [trials, trialsOf('adaptive')].map((some) => {
      const values = some.map(value).filter(Number.isFinite)
      return timesText(values, text(median(values)), time)
    })
    const difference = differenceTo('adaptive', value)
    const both = `${about}: ${own} with ${strategy}, ${adaptives} with adaptive`
    return difference.pairs > 0 ? [{ verdict: verdictOf(difference, 0), text: both }] : []
  })
}

/** What HAProxy is to adaptive. @param {{ low: number, high: number }} interval @param {number} equal where there is no difference */
function verdictOf({ low, high }, equal) {
  if (high < equal) return 'better'
  return low > equal ? 'worse' : 'even'
}

/** Of the times to leave and to come back. @param {BalancePlan} plan */
export function timesOf({ fails: { failing }, sizes }) {
  return {
    leave: { longest_s: failing.to_s - failing.from_s, beyond: 'stays' },
    back: { longest_s: sizes.failing.duration_s - failing.to_s, beyond: 'stays away' },
  }
}

/**
 * Times of trials in words. Those that were not seen to the end are given as the longest that can be seen.
 * @param {number[]} times_s @param {string} text of all of them @param {Partial<Time>} time
 */
export function timesText(times_s, text, { longest_s = Number.POSITIVE_INFINITY, beyond }) {
  const longer = times_s.filter((s) => s >= longest_s).length
  if (longer === 0) return text
  const where = longer < times_s.length ? ` in ${longer} of ${times_s.length} trials` : ''
  return `${2 * longer < times_s.length ? text : beyond} (> ${longest_s.toFixed(1)} s${where})`
}
