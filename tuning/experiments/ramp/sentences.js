import { count, decimal, milliseconds, NONE } from '../../../load/report/format.js'
import { labelOf } from '../../knobs/sides.js'
import { boundOf, fellBehind, isFull, mainOf } from './findings.js'

/**
 * @import { Interval } from './cost.js'
 * @import { Findings, Found } from './findings.js'
 * @import { RampPlan } from './steps.js'
 */

/**
 * What was found, in sentences. Pure.
 *
 * @param {RampPlan} plan
 * @param {Findings} findings
 * @returns {string[]}
 */
export function sentencesOf(plan, findings) {
  const { series } = findings
  return [
    ...series.map((found) => foundSentence(plan, found)),
    ...workSentence(plan, findings),
    ...costSentences(findings),
    ...series.flatMap(generatorSentence),
    ...backgroundSentence(plan, findings),
  ]
}

/** @param {RampPlan} plan @param {Pick<Found, 'side' | 'driver' | 'variant'>} series */
export function nameOf(plan, { side, driver, variant }) {
  const by = plan.drivers.length > 1 ? `, ${driver}` : ''
  return `${side.toUpperCase()}${by}${variant === 'without' ? `, without ${plan.left_out}` : ''}`
}

/** `1,234 [1,200–1,260]` @param {Interval} interval @param {number} [digits] */
export function intervalText({ estimate, low, high }, digits = 0) {
  const text = (/** @type {number} */ value) => {
    return decimal(value, digits)
  }
  return Number.isFinite(high) && low > 0 ? `${text(estimate)} [${text(low)}–${text(high)}]` : text(estimate)
}

/** @param {number} value */
export function figure(value) {
  if (Number.isNaN(value)) return NONE
  return decimal(value, value < 100 ? 1 : 0, 0)
}

/** @param {number} ratio */
export function times(ratio) {
  return Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : NONE
}

/** Digits behind the point for three that count. @param {number} value */
export function digitsFor(value) {
  return Math.max(0, 2 - Math.floor(Math.log10(value)))
}

/** @param {RampPlan} plan @param {Found} found */
function foundSentence(plan, found) {
  const { side, blocks, met, tried, workers, rps, refuses, furthest } = found
  const ceiling = milliseconds(plan.ceiling_ms)
  const who = `${nameOf(plan, found)} (${labelOf(/** @type {any} */ (plan.sides[side]))})`
  if (blocks > 0) {
    const whole = (/** @type {number} */ value) => count(Math.round(value))
    const passes = refuses
      ? `fails requests from somewhere between ${whole(found.below_workers)} and ${whole(found.above_workers)} workers on, before a mean latency of ${ceiling}`
      : `passes a mean latency of ${ceiling} at ${whole(workers)} workers`
    const rate = `${boundOf(found).length > 0 ? 'at least ' : ''}${intervalText(rps)} requests/s`
    return `${who} ${passes}, with ${rate} (${blocksText(met, tried)}).`
  }
  if (met > 0)
    return `${who}: a mean latency of ${ceiling} was ${blocksText(met, tried)} only, of which no figure is made.`
  if (!furthest) return `${who}: no valid trial.`
  const at = `${count(furthest.workers)} ${furthest.workers === 1 ? 'worker' : 'workers'}`
  if (furthest.over) return `${who}: even ${at} had to wait longer than ${ceiling}, or were refused.`
  const reached = `${milliseconds(furthest.mean_ms)}, ${intervalText({ ...rps, estimate: furthest.rps })} requests/s`
  const more = plan.most_workers <= furthest.workers ? ', the most allowed (--max-workers)' : ''
  return `${who}: ceiling of ${ceiling} not reached with ${at}${more}: ${reached}.`
}

/** @param {number} met @param {number} tried */
function blocksText(met, tried) {
  if (met < tried) return `met in ${met} of ${tried} blocks`
  return `${met} ${met === 1 ? 'block' : 'blocks'}`
}

/** @param {RampPlan} plan @param {Findings} findings */
function workSentence(plan, { series, work, bounded }) {
  if (plan.sides.b && !work) {
    return [
      `How many of A do the work of one B is not known, nor at what cost: ${bounded.join('; ')}, so that a rate is a lower bound.`,
    ]
  }
  if (!work) return []
  const [a, b] = /** @type {const} */ (['a', 'b']).map((side) => mainOf(series, side, plan.drivers[0]))
  if (work.pairs === 0) {
    const missing = [a, b].flatMap((found) => (found && found.blocks === 0 ? [found.side.toUpperCase()] : []))
    const why = missing.length > 0 ? `${missing.join(' and ')} lacks the ceiling` : 'no block has both'
    return [`How many of A do the work of one B is not known: ${why}.`]
  }
  const interval = { estimate: work.ratio, low: work.low, high: work.high }
  const doubt = Number.isFinite(work.high) ? (work.tied ? ': no difference that noise could not have made' : '') : FEW
  return [`${intervalText(interval, 2)} of A do the work of one B at the ceiling${doubt}.`]
}

const FEW = ' (too few blocks for an interval)'

/** @param {Findings} findings */
function costSentences({ cost }) {
  if (!cost.b_to_a) return []
  const { estimate, low, high } = cost.b_to_a
  const word = low > 1 ? ': dearer' : high < 1 ? ': cheaper' : ': not surely dearer or cheaper'
  const text = `The same work on B costs ${intervalText({ estimate, low, high }, 2)}x of what it costs on A`
  return [`${text}${low > 0 && Number.isFinite(high) ? word : FEW}.`]
}

/** @param {Found} found */
function generatorSentence(found) {
  if (!isFull(found)) return []
  const { side, driver, generator_core_ratio } = found
  const share = `${Math.round(generator_core_ratio * 100)} % of what it may have of the cores`
  const text = `${driver} used or waited for ${share} at the ceiling of ${side.toUpperCase()}: its own time is part of what was measured, and the service can do more`
  return [`Warning: ${text}.`]
}

/** @param {RampPlan} plan @param {Findings} findings */
function backgroundSentence({ background_rps }, findings) {
  if (background_rps === 0 || findings.kept_ratio === null) return []
  const kept = `${Math.round(findings.kept_ratio * 100)} %`
  const text = `Background writes: ${count(background_rps)}/s, of which ${kept} got through in the typical trial.`
  return [fellBehind(findings) ? `Warning: ${text}` : text]
}
