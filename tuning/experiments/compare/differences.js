import { isValid } from '../../../load/capacity/ladder.js'
import { generatorShare, isFullShare } from '../../stats/generator-share.js'
import { median, pairedRatio } from '../../stats/ranks.js'
import { GAIN, isRefused, refuses, SIDES, trialsOf, WORKERS } from './design.js'

/** @import { ComparePlan, Name, Records } from './design.js' */

/** Of the whole answer: each of its tests gets its share (Bonferroni), so that two equals are tied in 19 of 20 runs. */
const ERROR_RATE = 0.05

/** Figures that are no measure of a service are not compared. @type {Map<number, number>} */
const NONE = new Map()

/**
 * What B is to A, by one figure.
 *
 * @typedef {object} Difference
 * @property {string} about
 * @property {'more' | 'less'} better
 * @property {number} ratio of B to A, typical of the blocks; NaN without a block that has both
 * @property {number} low
 * @property {number} high infinite: too few blocks
 * @property {number} pairs
 * @property {boolean} tied
 * @property {string[]} refused sides that refused requests there: the requests that were left are faster for it
 * @property {string[]} bounded why the figure is not the services': the generator's limit, or a ladder too short
 */

/**
 * The differences on which the answer rests: the median latency of the successes at each concurrency, and the maximum
 * rate. Pure.
 *
 * @param {Pick<ComparePlan, 'concurrency'>} plan
 * @param {Records} records
 * @returns {Difference[]}
 */
export function differencesOf({ concurrency }, records) {
  const confidence = 1 - ERROR_RATE / (concurrency.length + 1)
  return [
    ...concurrency.map((workers) => latencyDifference(workers, records, confidence)),
    maximumDifference(records, confidence),
  ]
}

/** Why a difference is no verdict; empty: it is one, or there were too few blocks. @param {Difference} difference */
export function reasonsOf({ refused, bounded }) {
  return [...(refused.length > 0 ? [`${refused.join(' and ')} refused requests`] : []), ...bounded].join('; ')
}

/** Whether there is an interval that says something about the services. @param {Difference} difference */
export function isKnown(difference) {
  return Number.isFinite(difference.high) && reasonsOf(difference) === ''
}

/** @param {Difference} difference that is not tied */
export function isBetter({ ratio, better }) {
  return ratio > 1 === (better === 'more')
}

/**
 * Why a side's maximum is a lower bound of what it can do.
 *
 * @param {Maximum[]} maxima
 * @returns {string | null} null: it is not, or there is none
 */
export function boundOf(maxima) {
  if (isFullShare(median(maxima.map(({ generator_share }) => generator_share)))) return 'the generator was the limit'
  const rising = maxima.filter((maximum) => maximum.rising)
  if (maxima.length === 0 || 2 * rising.length <= maxima.length) return null
  return `the last rung, ${rising[0].workers} workers, still brought more`
}

/**
 * The best rung of each ladder that ended as it should. Beyond a rung without a valid trial nothing is known.
 *
 * @param {Records} records
 * @param {Name} side
 * @returns {Maximum[]}
 *
 * @typedef {{ block: number, rps: number, workers: number, generator_share: number, rising: boolean }} Maximum
 *   generator_share: of the cores that the generator can use; rising: the last rung still brought more
 */
export function maximaOf(records, side) {
  const own = records.filter(({ cell, at }) => cell.side === side && at.phase === 'maximum')
  const blocks = [...new Set(own.map(({ at }) => at.block))]
  return blocks.flatMap((block) => {
    const trials = own.filter(({ at }) => at.block === block)
    const rungs = WORKERS.flatMap((workers) => trialsOf(trials, side, 'maximum', workers).slice(0, 1))
    const [before, last] = [rungs.at(-2), rungs.at(-1)].map((rung) => rung?.traffic.goodput_rps ?? 0)
    const rising = last > 0 && last >= GAIN * before
    const isWhole = rungs.length === new Set(trials.map(({ load }) => load.connections)).size
    const isOver = !rising || rungs.length === WORKERS.length
    if (rungs.length === 0 || !isWhole || !isOver) return []
    const best = rungs.reduce((one, other) => (other.traffic.goodput_rps > one.traffic.goodput_rps ? other : one))
    const { traffic, load } = best
    return { block, rps: traffic.goodput_rps, workers: load.connections, generator_share: generatorShare(best), rising }
  })
}

/**
 * Why there is no answer that can be trusted: a side had no valid trial, or no success.
 *
 * @param {Records} records
 * @returns {string | null}
 */
export function problemOf(records) {
  const valid = records.filter(isValid)
  const silent = SIDES.find((side) => {
    return valid.every(({ cell, traffic }) => cell.side !== side || traffic.ok === 0) && !refuses(valid, side)
  })
  if (!silent) return null
  const last = records.findLast(({ cell }) => cell.side === silent)
  return `${silent.toUpperCase()} answered not one request with success in a valid trial: ${last?.outcome.because ?? 'no trial'}`
}

/** @param {number} workers @param {Records} records @param {number} confidence @returns {Difference} */
function latencyDifference(workers, records, confidence) {
  const trials = SIDES.map((side) => ({ name: side.toUpperCase(), own: trialsOf(records, side, 'latency', workers) }))
  const refused = trials.filter(({ own }) => own.some(isRefused)).map(({ name }) => name)
  const full = trials.filter(({ own }) => isFullShare(median(own.map(generatorShare)))).map(({ name }) => name)
  const [a, b] = trials.map(({ own }) => {
    return new Map(own.map(({ at, traffic }) => [at.block, traffic.ok_latency_ms?.p50 ?? Number.NaN]))
  })
  const found = pairedRatio(refused.length > 0 ? NONE : a, b, confidence)
  // A full generator adds the same latency to both sides. A difference in spite of it is real; a tie may be due to it.
  const isTie = found.tied && Number.isFinite(found.high)
  const bounded = isTie && full.length > 0 ? [`the generator was the limit of ${full.join(' and ')}`] : []
  return { ...found, about: `p50 at ${workers}`, better: 'less', refused, bounded }
}

/** @param {Records} records @param {number} confidence @returns {Difference} */
function maximumDifference(records, confidence) {
  const maxima = SIDES.map((side) => maximaOf(records, side))
  const bounded = SIDES.flatMap((side, i) => {
    const bound = boundOf(maxima[i])
    return bound ? [`${side.toUpperCase()}: ${bound}`] : []
  })
  const [a, b] = maxima.map((own) => new Map(own.map(({ block, rps }) => [block, rps])))
  const found = pairedRatio(bounded.length > 0 ? NONE : a, b, confidence)
  return { ...found, about: 'maximum rate', better: 'more', refused: [], bounded }
}
