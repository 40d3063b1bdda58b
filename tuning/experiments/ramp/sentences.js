import { count, decimal, milliseconds, wholePercent } from '../../../load/report/format.js'
import { agreementSentence } from './agreement.js'

/**
 * @import { Interval } from './cost.js'
 * @import { RampPlan } from './design.js'
 * @import { Climbed, RampFindings } from './findings.js'
 */

/** With a smaller share of the background writes, the load was not the one that was asked for. */
const KEPT_RATIO = 0.95

const FEW = ' (too few blocks for an interval)'

/** What was found with the first driver. @param {RampFindings} findings */
export function answerSentences({ plan, mains, work, bounded }) {
  return [
    ...mains.map((one) => foundSentence(plan, one)),
    ...(mains.length > 1 ? [workSentence(mains, work, bounded)] : []),
  ]
}

/** Other series, cost, agreement of the drivers, and what is doubtful. @param {RampFindings} findings */
export function furtherSentences({ plan, series, cost: { b_to_a }, kept_ratio, agreements, missing }) {
  const lost = kept_ratio !== null && kept_ratio < KEPT_RATIO ? 'Warning: ' : ''
  const background = `${lost}Background writes: ${count(plan.background_rps)}/s, of which ${wholePercent(kept_ratio)} got through in the typical trial.`
  return [
    ...series.filter(({ isMain }) => !isMain).map((one) => foundSentence(plan, one)),
    ...(b_to_a ? [costSentence(b_to_a)] : []),
    ...series
      .filter(({ isFull }) => isFull)
      .map(({ side, driver, generator_core_ratio }) => {
        const used = `${driver} used or waited for ${wholePercent(generator_core_ratio)} of the cores that it may use`
        return `Warning: ${used} at the ceiling of ${side.toUpperCase()}: its own time is part of what was measured, and the service can do more.`
      }),
    ...(plan.background_rps > 0 && kept_ratio !== null ? [background] : []),
    ...agreements.map(agreementSentence),
    ...missing.map((text) => `Went on without one of the drivers: ${text}.`),
  ]
}

/** `1,234 [1,200–1,260]` @param {Interval} interval @param {number} [digits] */
export function intervalText({ estimate, low, high }, digits = 0) {
  const [middle, least, most] = [estimate, low, high].map((value) => decimal(value, digits))
  return Number.isFinite(high) && low > 0 ? `${middle} [${least}–${most}]` : middle
}

/** @param {RampPlan} plan @param {Climbed} series */
function foundSentence({ ceiling_ms, most_workers }, series) {
  const { name, label, bound, blocks, met, tried, workers, rps, refuses, below_workers, above_workers, furthest } =
    series
  const ceiling = `a mean latency of ${milliseconds(ceiling_ms)}`
  const who = `${name} (${label})`
  const inBlocks = met < tried ? `met in ${met} of ${tried} blocks` : `${met} ${met === 1 ? 'block' : 'blocks'}`
  if (blocks > 0) {
    const [at, below, above] = [workers, below_workers, above_workers].map((value) => count(Math.round(value)))
    const passes = refuses
      ? `begins to fail requests somewhere between ${below} and ${above} workers, before ${ceiling}`
      : `passes ${ceiling} at ${at} workers`
    return `${who} ${passes}, with ${bound.length > 0 ? 'at least ' : ''}${intervalText(rps)} requests/s (${inBlocks}).`
  }
  if (met > 0) return `${who}: ${ceiling} was ${inBlocks} only, too few for a figure.`
  if (!furthest) return `${who}: no valid trial.`
  const tries = `${count(furthest.workers)} ${furthest.workers === 1 ? 'worker' : 'workers'}`
  if (furthest.over)
    return `${who}: even ${tries} had to wait longer than ${milliseconds(ceiling_ms)}, or were refused.`
  const more = most_workers <= furthest.workers ? ', the most allowed (--max-workers)' : ''
  const reached = `${milliseconds(furthest.mean_ms)}, ${decimal(furthest.rps, 0)} requests/s`
  return `${who}: ${ceiling} not reached with ${tries}${more}: ${reached}.`
}

/** @param {Climbed[]} mains A and B @param {RampFindings['work']} work @param {string[]} bounded */
function workSentence(mains, work, bounded) {
  const unknown = 'How many of A do the work of one B is not known'
  if (!work) return `${unknown}, nor at what cost: ${bounded.join('; ')}, so that a rate is a lower bound.`
  if (work.pairs === 0) {
    const unmet = mains.filter(({ blocks }) => blocks === 0).map(({ side }) => side.toUpperCase())
    const why = unmet.length > 0 ? `there is no rate at the ceiling for ${unmet.join(' and ')}` : 'no block has both'
    return `${unknown}: ${why}.`
  }
  const tie = work.tied ? ': no difference that noise could not have made' : ''
  const ratio = intervalText({ ...work, estimate: work.ratio }, 2)
  return `${ratio} of A do the work of one B at the ceiling${Number.isFinite(work.high) ? tie : FEW}.`
}

/** @param {Interval} ratio */
function costSentence(ratio) {
  const { low, high } = ratio
  const verdict = low > 1 ? 'dearer' : high < 1 ? 'cheaper' : 'neither clearly dearer nor clearly cheaper'
  const text = `The same work on B costs ${intervalText(ratio, 2)}x of what it costs on A`
  return `${text}${low > 0 && Number.isFinite(high) ? `: ${verdict}` : FEW}.`
}
