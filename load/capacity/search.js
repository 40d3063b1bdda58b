import { intervalAround } from './confidence.js'
import { boundsOf, levelsOf, usualDuration } from './levels.js'
import { rateInside, roundRate } from './rates.js'

/** @import { Level } from './levels.js' */

/** Of the plateau: where the search starts. */
const START_SHARE = 0.7
/** A rate this far below the plateau is expected to pass: one fail may be a stall of the machine. */
const UNEXPECTED_SHARE = 0.8
/** Of the plateau: lower the search does not go. */
const FLOOR_SHARE = 1 / 50
/** From a rate that passes to the next one up, and beyond this share of the plateau in larger steps. */
const UP = 1.4
const FAR_UP = 2
const FAR_SHARE = 1.5
/** From a rate that fails to the next one down, and below the first one that was tried. */
const DOWN = 0.7
const FAR_DOWN = 0.5
/** ln(p99 / SLO) of a rate that is not near its limit. */
const FAR_BELOW = -1
/** The bracket is this much wider where the generator bounds it: "at least" needs no more, and its invalid trials cost time. */
const CEILING_WIDTHS = 2

/**
 * What a search goes by when nothing else is asked for: the usual trial (max_duration_s: at a low rate, which needs longer for
 * as many requests), the confirming one, and half the width of the interval wanted, as a share of its middle.
 */
export const SEARCH_DEFAULTS = {
  duration_s: 2,
  max_duration_s: 10,
  confirm_s: 8,
  precision_ratio: 0.04,
  max_trials: 22,
}

/**
 * The next trial of a search for the highest rate that meets the SLO. Pure, so that a run that was cut off goes on from
 * its records.
 *
 * Single trials decide while the bracket is wide, and rates inside it come from an isotonic fit of the scores; both edges
 * of a narrow one are decided by majority of repeats (MLRsearch, IETF draft); one long trial confirms the lower one.
 *
 * @param {SearchTrial[]} trials open-loop trials so far, in order
 * @param {SearchPlan} plan
 * @returns {NextTrial | null} null: nothing is left to do
 *
 * @typedef {{ rate_rps: number, duration_s: number, verdict: 'pass' | 'fail' | 'invalid', score: number, kept_rps?: number | null }} SearchTrial
 *   score: ln(p99 / SLO), see scoreOf; of no meaning in an invalid trial; kept_rps: what the target kept up with, where its backlog grew
 *
 * @typedef {typeof SEARCH_DEFAULTS & { plateau_rps: number }} SearchPlan plateau_rps: goodput of the closed loop, a first guess
 * @typedef {{ rate_rps: number, duration_s: number, purpose: 'bracket' | 'edge' | 'confirm' }} NextTrial
 */
export function nextTrial(trials, plan) {
  if (trials.length >= plan.max_trials) return null
  const levels = levelsOf(trials, plan)
  const bounds = boundsOf(levels)
  const doubtful = doubtfulLevel(levels, plan)
  if (doubtful) return usual(doubtful.rate_rps, 'edge', plan)

  const rate_rps = nextRate(levels, bounds, plan)
  if (rate_rps !== null) return usual(rate_rps, 'bracket', plan)

  const { low, high } = bounds
  const undecided = [low, high]
    .filter((level) => level !== null && !level.decided)
    .sort((a, b) => Number(a?.votes) - Number(b?.votes))[0]
  if (undecided) return usual(undecided.rate_rps, 'edge', plan)
  if (low && high && isOutOfLine(low, high)) return usual(high.rate_rps, 'edge', plan)
  return low && !low.confirmed ? { rate_rps: low.rate_rps, duration_s: plan.confirm_s, purpose: 'confirm' } : null
}

/**
 * The capacity as far as the trials tell: the largest pass below the smallest fail, and that fail.
 *
 * @param {SearchTrial[]} trials @param {SearchPlan} plan
 * @returns {{ low_rps: number | null, high_rps: number | null } | null} null: no rate has an answer; low_rps null: even the
 *   lowest failed; high_rps null: at least low_rps
 */
export function edgesOf(trials, plan) {
  const { low, high } = boundsOf(levelsOf(trials, plan))
  return low || high ? { low_rps: low?.rate_rps ?? null, high_rps: high?.rate_rps ?? null } : null
}

/** Promised share of intervals that contain the capacity. */
const CONFIDENCE = 0.9

/**
 * The interval that holds the capacity with a confidence of 0.9, and the number of valid trials: the edges, moved apart where the
 * trials contradict each other (confidence.js). To compute that takes far longer than to find the edges.
 *
 * @param {SearchTrial[]} trials @param {SearchPlan} plan
 */
export function intervalOf(trials, plan) {
  const edges = edgesOf(trials, plan)
  if (!edges) return null
  const valid = trials.filter(({ verdict }) => verdict !== 'invalid')
  return { ...intervalAround(edges, valid, CONFIDENCE), trials: valid.length }
}

/** Largest half-width, as a share of the middle, that still counts as an answer. */
const MOST_WIDTH = 0.25

/** Why an interval is no answer; null: it is. @param {{ low_rps: number | null, high_rps: number | null, confidence: number } | null} interval */
export function intervalProblem(interval) {
  const { low_rps, high_rps, confidence } = interval ?? { low_rps: null, high_rps: null, confidence: 1 }
  if (low_rps === null || high_rps === null || high_rps - low_rps <= MOST_WIDTH * (high_rps + low_rps)) return null
  return `the trials contradict each other: for a confidence of ${confidence}, the capacity may be anywhere from ${low_rps}/s to ${high_rps}/s`
}

/** Why the trials give no trustworthy answer; null: they do. @param {SearchTrial[]} trials @param {SearchPlan} plan */
export function searchProblem(trials, plan) {
  const levels = levelsOf(trials, plan)
  const { low, high } = boundsOf(levels)
  if (!low && !high) {
    const count = trials.filter(({ verdict }) => verdict === 'invalid').length
    return `expected a rate with enough valid trials, got none: ${count} of ${trials.length} were invalid`
  }
  const left = nextTrial(trials, { ...plan, max_trials: Number.POSITIVE_INFINITY })
  // An edge that stays contested is what the confidence is about.
  if (!left || (low && high && Math.log(high.rate_rps / low.rate_rps) <= widthOf(plan))) return null
  const between = `${low ? `${low.rate_rps}/s passed` : 'none passed'}, ${high ? `${high.rate_rps}/s failed` : 'none failed'}`
  return `the search had not settled after ${trials.length} trials: ${between}`
}

/**
 * A rate whose trials contradict each other or what is known of other rates, so that it is repeated before it counts: as
 * many passes as fails; a single fail below a rate that passed, or where a pass was expected.
 *
 * @param {Level[]} levels @param {SearchPlan} plan
 */
function doubtfulLevel(levels, plan) {
  const i = levels.findIndex(({ verdict }) => verdict === 'fail')
  const relevant = i < 0 ? levels : levels.slice(0, i)
  const { low } = boundsOf(levels)
  const open = relevant.find(({ verdict, rate_rps }) => verdict === 'open' && rate_rps > (low?.rate_rps ?? 0))
  if (open) return open
  const fail = levels[i]
  if (!fail || fail.decided || fail.votes > 1) return null
  const passesAbove = levels.slice(i).some(({ verdict }) => verdict === 'pass')
  const failsAbove = levels.slice(i + 1).some(({ verdict }) => verdict === 'fail')
  const unexpected = !failsAbove && fail.rate_rps < UNEXPECTED_SHARE * plan.plateau_rps
  return passesAbove || unexpected ? fail : null
}

/**
 * Whether a rate fails right above one that is far from it: two stalls in a row look like that, so a third trial, which
 * comes later, has to agree.
 *
 * @param {Level} low @param {Level} high
 */
function isOutOfLine(low, high) {
  return low.score < FAR_BELOW && high.votes === 2 && !high.exhausted
}

/**
 * The next rate that narrows the bracket; null: it is as narrow as it has to be.
 *
 * @param {Level[]} levels @param {ReturnType<typeof boundsOf>} bounds @param {SearchPlan} plan
 */
function nextRate(levels, { low, high, ceiling }, plan) {
  const { plateau_rps } = plan
  const top = ceiling ?? high
  if (low && top) return rateInside(levels, low, top, ceiling ? CEILING_WIDTHS * widthOf(plan) : widthOf(plan))
  if (low) {
    const step = low.rate_rps > FAR_SHARE * plateau_rps ? FAR_UP : UP
    return Math.max(low.rate_rps + 1, roundRate(low.rate_rps * step))
  }
  if (top) {
    const floor_rps = roundRate(plateau_rps * FLOOR_SHARE)
    if (top.rate_rps <= floor_rps) return null
    const step = top.rate_rps < roundRate(START_SHARE * plateau_rps) ? FAR_DOWN : DOWN
    return Math.max(floor_rps, roundRate(top.rate_rps * step))
  }
  return roundRate(START_SHARE * plateau_rps)
}

/** Of the interval wanted, in ln(rate). @param {Pick<SearchPlan, 'precision_ratio'>} plan */
function widthOf({ precision_ratio }) {
  return Math.log((1 + precision_ratio) / (1 - precision_ratio))
}

/** @param {number} rate_rps @param {'bracket' | 'edge'} purpose @param {SearchPlan} plan @returns {NextTrial} */
function usual(rate_rps, purpose, plan) {
  return { rate_rps, duration_s: usualDuration(rate_rps, plan), purpose }
}
