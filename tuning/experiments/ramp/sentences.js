import { count, decimal, milliseconds, wholePercent } from '../../../load/report/format.js'
import { agreementSentence } from './agreement.js'

/**
 * @import { Interval } from './cost.js'
 * @import { RampPlan } from './design.js'
 * @import { Climbed, RampFindings } from './findings.js'
 */

/** Of the background's writes: fewer were not the load that was asked for. */
const KEPT_RATIO = 0.95

const FEW = ' (too few blocks for an interval)'

/** What was found with the first driver. @param {RampFindings} findings */
export function answerSentences(findings) {
  const { plan, series } = findings
  const mains = series.filter(({ isMain }) => isMain).map((one) => foundSentence(plan, one))
  return [...mains, ...(plan.sides.b ? [workSentence(findings)] : [])]
}

/** The rest: other series, cost, agreement of the drivers, and what is doubtful. @param {RampFindings} findings */
export function furtherSentences({ plan, series, cost: { b_to_a }, kept_ratio, agreements, missing }) {
  const full = series.filter(({ isFull }) => isFull)
  return [
    ...series.filter(({ isMain }) => !isMain).map((one) => foundSentence(plan, one)),
    ...(b_to_a ? [costSentence(b_to_a)] : []),
    ...full.map(({ side, driver, generator_core_ratio }) => {
      const share = `${wholePercent(generator_core_ratio)} of what it may have of the cores`
      return `Warning: ${driver} used or waited for ${share} at the ceiling of ${side.toUpperCase()}: its own time is part of what was measured, and the service can do more.`
    }),
    ...(plan.background_rps > 0 && kept_ratio !== null ? [backgroundSentence(plan, kept_ratio)] : []),
    ...agreements.map(agreementSentence),
    ...missing.map((text) => `Went on without one of its drivers: ${text}.`),
  ]
}

/** `1,234 [1,200–1,260]` @param {Interval} interval @param {number} [digits] */
export function intervalText({ estimate, low, high }, digits = 0) {
  const [middle, least, most] = [estimate, low, high].map((value) => decimal(value, digits))
  return Number.isFinite(high) && low > 0 ? `${middle} [${least}–${most}]` : middle
}

/** @param {RampPlan} plan @param {Climbed} series */
function foundSentence({ ceiling_ms, most_workers }, series) {
  const { name, label, bound, blocks, met, tried, rps, refuses, furthest } = series
  const ceiling = milliseconds(ceiling_ms)
  const who = `${name} (${label})`
  const inBlocks = met < tried ? `met in ${met} of ${tried} blocks` : `${met} ${met === 1 ? 'block' : 'blocks'}`
  if (blocks > 0) {
    const { workers, below_workers, above_workers } = series
    const [at, below, above] = [workers, below_workers, above_workers].map((value) => count(Math.round(value)))
    const passes = refuses
      ? `fails requests from somewhere between ${below} and ${above} workers on, before a mean latency of ${ceiling}`
      : `passes a mean latency of ${ceiling} at ${at} workers`
    return `${who} ${passes}, with ${bound.length > 0 ? 'at least ' : ''}${intervalText(rps)} requests/s (${inBlocks}).`
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
function workSentence({ series, work, bounded }) {
  const unknown = 'How many of A do the work of one B is not known'
  if (!work) return `${unknown}, nor at what cost: ${bounded.join('; ')}, so that a rate is a lower bound.`
  if (work.pairs === 0) {
    const unmet = series.filter(({ blocks, isMain }) => isMain && blocks === 0)
    const names = unmet.map(({ side }) => side.toUpperCase()).join(' and ')
    return `${unknown}: ${names ? `${names} lacks the ceiling` : 'no block has both'}.`
  }
  const tie = work.tied ? ': no difference that noise could not have made' : ''
  const ratio = intervalText({ ...work, estimate: work.ratio }, 2)
  return `${ratio} of A do the work of one B at the ceiling${Number.isFinite(work.high) ? tie : FEW}.`
}

/** @param {Interval} ratio */
function costSentence(ratio) {
  const { low, high } = ratio
  const word = low > 1 ? ': dearer' : high < 1 ? ': cheaper' : ': not surely dearer or cheaper'
  const text = `The same work on B costs ${intervalText(ratio, 2)}x of what it costs on A`
  return `${text}${low > 0 && Number.isFinite(high) ? word : FEW}.`
}

/** @param {RampPlan} plan @param {number} kept_ratio */
function backgroundSentence({ background_rps }, kept_ratio) {
  const warning = kept_ratio < KEPT_RATIO ? 'Warning: ' : ''
  return `${warning}Background writes: ${count(background_rps)}/s, of which ${wholePercent(kept_ratio)} got through in the typical trial.`
}
