import { count, decimal, milliseconds, NONE, wholePercent } from '../../../load/report/format.js'
import { ratioText } from '../../stats/effects.js'
import { AGREE_RATIO } from './findings.js'

/**
 * @import { Interval } from './cost.js'
 * @import { RampPlan } from './design.js'
 * @import { Climbed, RampFindings } from './findings.js'
 */

/** Minimum share of the background writes that must get through; with less, the load was not the requested one. */
const KEPT_RATIO = 0.95

const FEW = ' (too few blocks for an interval)'

/** The findings of the first driver. @param {RampFindings} findings */
export function answerSentences({ plan, mains, work, bounded }) {
  return [...mains.map((one) => foundSentence(plan, one)), ...(mains.length > 1 ? [workSentence(work, bounded)] : [])]
}

/** Other series, cost, agreement of the drivers, and warnings. @param {RampFindings} findings */
export function furtherSentences({ plan, series, cost: { b_to_a }, kept_ratio, agreements }) {
  // A table shows the requests that climb alone.
  const others = series.filter(({ isMain, entry }) => !isMain && entry === null)
  const warnings = series.filter(({ isFull }) => isFull).map(fullSentence)
  const background = kept_ratio === null ? [] : [backgroundSentence(plan, kept_ratio)]
  return [
    ...others.map((one) => foundSentence(plan, one)),
    ...(b_to_a ? [costSentence(b_to_a)] : []),
    ...[...warnings, ...background, ...agreements.map(agreementSentence)],
  ]
}

/** `1,234 [1,200–1,260]` @param {Interval} interval @param {number} [digits] */
export function intervalText({ estimate, low, high }, digits = 0) {
  const [middle, least, most] = [estimate, low, high].map((value) => decimal(value, digits))
  return Number.isFinite(high) && low > 0 ? `${middle} [${least}–${most}]` : middle
}

/** A cost to three significant digits. @param {Interval | null} per_million null if it is not known */
export function millionText(per_million) {
  if (!per_million) return NONE
  return intervalText(per_million, Math.max(0, 2 - Math.floor(Math.log10(per_million.estimate))))
}

/** @param {RampPlan} plan @param {Climbed} series */
function foundSentence({ ceiling_ms, most_workers }, series) {
  const { name, label, bound, blocks, met, tried, rps, refuses, furthest } = series
  const ceiling = `a mean latency of ${milliseconds(ceiling_ms)}`
  const who = `${name} (${label})`
  const inBlocks = `reached in ${met} of ${tried} blocks`
  if (blocks > 0) {
    const number = (/** @type {number} */ workers) => count(Math.round(workers))
    const passes = refuses
      ? `begins to fail requests somewhere between ${number(series.below_workers)} and ${number(series.above_workers)} workers, before ${ceiling}`
      : `reaches ${ceiling} at about ${number(series.workers)} workers (between two measured steps)`
    return `${who} ${passes}, with ${bound.length > 0 ? 'at least ' : ''}${intervalText(rps)} requests/s (${inBlocks}).`
  }
  if (met > 0) return `${who}: ${ceiling} was ${inBlocks} only, too few for a figure.`
  if (!furthest) return `${who}: no valid trial.`
  const concurrency = `at a concurrency of ${count(furthest.workers)}`
  if (furthest.over) return `${who}: above ${ceiling}, or refusing requests, even ${concurrency}.`
  const more = most_workers <= furthest.workers ? ', the most allowed (--max-workers)' : ''
  const reached = `${milliseconds(furthest.mean_ms)}, ${decimal(furthest.rps, 0)} requests/s`
  return `${who}: ${ceiling} not reached ${concurrency}${more}: ${reached}.`
}

/** @param {RampFindings['work']} work @param {string[]} bounded */
function workSentence(work, bounded) {
  const unknown = 'It is not known how many of A do the work of one B'
  if (!work) return `${unknown}, or at what cost: ${bounded.join('; ')}, so that a rate is a lower bound.`
  if (work.pairs === 0) return `${unknown}: no block has a rate at the ceiling for both.`
  const tie = work.tied ? ': no difference that noise could not have made' : ''
  return `${intervalText(work, 2)} of A do the work of one B at the ceiling${Number.isFinite(work.high) ? tie : FEW}.`
}

/** @param {Interval} ratio */
function costSentence(ratio) {
  const { low, high } = ratio
  const text = `The same work on B costs ${intervalText(ratio, 2)}x of what it costs on A`
  if (low <= 0 || !Number.isFinite(high)) return `${text}${FEW}.`
  if (low > 1) return `${text}: dearer.`
  return `${text}: ${high < 1 ? 'cheaper' : 'neither clearly dearer nor clearly cheaper'}.`
}

/** @param {Climbed} series */
function fullSentence({ side, driver, entry, blocks, generator_core_ratio }) {
  const used = `${driver} used or waited for ${wholePercent(generator_core_ratio)} of the cores that it may use`
  const where = blocks > 0 ? ' at the ceiling of' : ', with the most workers that were tried on'
  return `Warning: ${used}${where} ${side.toUpperCase()}${entry === null ? '' : `, only ${entry}`}: its own time is part of what was measured, and the service can do more.`
}

/** @param {RampPlan} plan @param {number} kept_ratio */
function backgroundSentence({ background_rps }, kept_ratio) {
  const lost = kept_ratio < KEPT_RATIO ? 'Warning: ' : ''
  return `${lost}Background writes: ${count(background_rps)}/s, of which ${wholePercent(kept_ratio)} got through in the typical trial.`
}

/** Wording of each verdict on the claim that two drivers find the same rate. */
const AGREEMENT = {
  reproduced: 'agree',
  refuted: 'do not agree',
  undecided: 'may or may not agree',
  'not measured': '',
}

/** @param {RampFindings['agreements'][number]} agreement */
export function agreementSentence({ side, driver, reference, effect, verdict }) {
  const both = `Cross-check: ${driver} and ${reference} on ${side.toUpperCase()}`
  if (effect.pairs === 0) return `${both} cannot be compared: no block has a rate at the ceiling for both.`
  const within = `within ${Math.round((AGREE_RATIO - 1) * 100)} %`
  return `${both} ${AGREEMENT[verdict]} ${within}: ${driver}'s rate at the ceiling is ${ratioText(effect)} of ${reference}'s.`
}
