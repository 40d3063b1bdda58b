import { count, decimal, milliseconds, wholePercent } from '../../../load/report/format.js'
import { AGREE_RATIO } from './agreement.js'
import { fellBehind } from './findings.js'
import { boundOf, isFull, isMain } from './series.js'

/**
 * @import { Agreement } from './agreement.js'
 * @import { Interval } from './cost.js'
 * @import { RampPlan } from './design.js'
 * @import { RampFindings, SeriesShown } from './findings.js'
 * @import { Found } from './series.js'
 */

const FEW = ' (too few blocks for an interval)'

/** What was found with the first driver. @param {RampFindings} findings */
export function answerSentences(findings) {
  return [...foundSentences(findings, true), ...workSentence(findings)]
}

/** The rest: other series, cost, agreement of the drivers, and what is doubtful. @param {RampFindings} findings */
export function furtherSentences(findings) {
  return [
    ...foundSentences(findings, false),
    ...costSentence(findings),
    ...findings.series.flatMap(({ found }) => generatorSentence(found)),
    ...backgroundSentence(findings),
    ...findings.agreements.map(agreementSentence),
    ...findings.missing.map((text) => `Went on without one of its drivers: ${text}.`),
  ]
}

/** `1,234 [1,200–1,260]` @param {Interval} interval @param {number} [digits] */
export function intervalText({ estimate, low, high }, digits = 0) {
  const [middle, least, most] = [estimate, low, high].map((value) => decimal(value, digits))
  return Number.isFinite(high) && low > 0 ? `${middle} [${least}–${most}]` : middle
}

/** @param {RampFindings} findings @param {boolean} ofMain whether of the series that answer, or of the others */
function foundSentences({ plan, series }, ofMain) {
  return series.filter(({ found }) => isMain(plan, found) === ofMain).map((one) => foundSentence(plan, one))
}

/** @param {RampPlan} plan @param {SeriesShown} series */
function foundSentence({ ceiling_ms, most_workers }, { found, name, label }) {
  const { blocks, met, tried, workers, rps, refuses, below_workers, above_workers, furthest } = found
  const ceiling = milliseconds(ceiling_ms)
  const who = `${name} (${label})`
  const inBlocks = met < tried ? `met in ${met} of ${tried} blocks` : `${met} ${met === 1 ? 'block' : 'blocks'}`
  if (blocks > 0) {
    const [at, below, above] = [workers, below_workers, above_workers].map((value) => count(Math.round(value)))
    const passes = refuses
      ? `fails requests from somewhere between ${below} and ${above} workers on, before a mean latency of ${ceiling}`
      : `passes a mean latency of ${ceiling} at ${at} workers`
    const rate = `${boundOf(found).length > 0 ? 'at least ' : ''}${intervalText(rps)} requests/s`
    return `${who} ${passes}, with ${rate} (${inBlocks}).`
  }
  if (met > 0) return `${who}: a mean latency of ${ceiling} was ${inBlocks} only, of which no figure is made.`
  if (!furthest) return `${who}: no valid trial.`
  const at = `${count(furthest.workers)} ${furthest.workers === 1 ? 'worker' : 'workers'}`
  if (furthest.over) return `${who}: even ${at} had to wait longer than ${ceiling}, or were refused.`
  const more = most_workers <= furthest.workers ? ', the most allowed (--max-workers)' : ''
  const reached = `${milliseconds(furthest.mean_ms)}, ${decimal(furthest.rps, 0)} requests/s`
  return `${who}: ceiling of ${ceiling} not reached with ${at}${more}: ${reached}.`
}

/** @param {RampFindings} findings */
function workSentence({ plan, series, work, bounded }) {
  if (!plan.sides.b) return []
  const unknown = 'How many of A do the work of one B is not known'
  if (!work) return [`${unknown}, nor at what cost: ${bounded.join('; ')}, so that a rate is a lower bound.`]
  if (work.pairs === 0) {
    const unmet = series.filter(({ found }) => isMain(plan, found) && found.blocks === 0)
    const missing = unmet.map(({ found }) => found.side.toUpperCase())
    const why = missing.length > 0 ? `${missing.join(' and ')} lacks the ceiling` : 'no block has both'
    return [`${unknown}: ${why}.`]
  }
  const tie = work.tied ? ': no difference that noise could not have made' : ''
  const doubt = Number.isFinite(work.high) ? tie : FEW
  return [`${intervalText({ ...work, estimate: work.ratio }, 2)} of A do the work of one B at the ceiling${doubt}.`]
}

/** @param {RampFindings} findings */
function costSentence({ cost: { b_to_a } }) {
  if (!b_to_a) return []
  const { low, high } = b_to_a
  const word = low > 1 ? ': dearer' : high < 1 ? ': cheaper' : ': not surely dearer or cheaper'
  const text = `The same work on B costs ${intervalText(b_to_a, 2)}x of what it costs on A`
  return [`${text}${low > 0 && Number.isFinite(high) ? word : FEW}.`]
}

/** @param {Found} found */
function generatorSentence(found) {
  if (!isFull(found)) return []
  const { side, driver, generator_core_ratio } = found
  const share = `${wholePercent(generator_core_ratio)} of what it may have of the cores`
  return [
    `Warning: ${driver} used or waited for ${share} at the ceiling of ${side.toUpperCase()}: its own time is part of what was measured, and the service can do more.`,
  ]
}

/** @param {RampFindings} findings */
function backgroundSentence(findings) {
  const { plan, kept_ratio } = findings
  if (plan.background_rps === 0 || kept_ratio === null) return []
  const kept = `${wholePercent(kept_ratio)} got through in the typical trial`
  const text = `Background writes: ${count(plan.background_rps)}/s, of which ${kept}.`
  return [fellBehind(findings) ? `Warning: ${text}` : text]
}

/** @param {Agreement} agreement */
export function agreementSentence({ side, driver, reference, effect, verdict, why }) {
  const where = `${driver} and ${reference} on ${side.toUpperCase()}`
  if (Number.isNaN(effect.ratio)) return `Cross-check: ${where} cannot be compared: ${why.join('; ')}.`
  const within = `within ${AGREE_RATIO * 100} %`
  const said = {
    agree: `${where} agree ${within}`,
    differ: `${where} do not agree ${within}`,
    unknown: `whether ${where} agree ${within} cannot be told`,
  }
  const interval = Number.isFinite(effect.high) ? ` [${effect.low.toFixed(2)}–${effect.high.toFixed(2)}]` : ''
  const rate = `${driver}'s rate at the ceiling is ${effect.ratio.toFixed(2)}x${interval} of ${reference}'s`
  return [`Cross-check: ${said[verdict]}: ${rate}.`, ...(why.length > 0 ? [`${why.join('; ')}.`] : [])].join(' ')
}
