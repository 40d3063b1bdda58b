import { count } from '../report/format.js'
import { intervalAround } from './confidence.js'
import { boundsOf, lasting, levelsOf, usualDuration } from './levels.js'
import { rateInside, roundRate } from './rates.js'

/** @import { Level } from './levels.js' */

/** The search starts at this share of the plateau. */
const START_SHARE = 0.7
/** A rate below this share of the plateau is expected to pass; a single fail may be a stall of the machine. */
const UNEXPECTED_SHARE = 0.8
/** The search goes no lower than this share of the plateau. */
const FLOOR_SHARE = 1 / 50
/** Step up from a rate that passed, and a larger step beyond FAR_SHARE of the plateau. */
const UP = 1.4
const FAR_UP = 2
const FAR_SHARE = 1.5
/** Step down from a rate that failed, and a larger step below the starting rate. */
const DOWN = 0.7
const FAR_DOWN = 0.5
/** A rate with a score below this is far from its limit. */
const FAR_BELOW = -1
/** Multiple of max_trials that a search may make on a noisy machine, since invalid trials say nothing. */
const WITH_INVALID = 1.5
/** Maximum number of sustained trials, if requested, once the others have run out: two refute a rate. */
const SUSTAINED_TRIES = 6
/** The bracket is this much wider if the generator bounds it: a lower bound needs no more, and invalid trials cost time. */
const CEILING_WIDTHS = 2

/**
 * Defaults of a search: durations of the usual trial (up to max_duration_s at low rates, which take longer to collect enough
 * requests) and of the confirming trial. precision_ratio: half-width of the interval wanted, as a share of its middle.
 */
export const SEARCH_DEFAULTS = {
  duration_s: 2,
  max_duration_s: 10,
  confirm_s: 8,
  precision_ratio: 0.04,
  max_trials: 22,
}

/**
 * The next trial of a search for the highest rate that meets the SLO. Pure, so that an interrupted run can resume from its
 * records.
 *
 * Single trials decide while the bracket is wide; rates inside it come from an isotonic fit of the scores. A majority of
 * repeats decides both edges of a narrow bracket (MLRsearch, IETF draft), and one long trial confirms the lower edge.
 * @param {SearchTrial[]} trials open-loop trials so far, in order @param {SearchPlan} plan
 * @returns {NextTrial | null} null when done
 * @typedef {{ rate_rps: number, duration_s: number, verdict: 'pass' | 'fail' | 'invalid', score: number, kept_rps?: number | null, foreign?: true, other_speed?: true }} SearchTrial
 *   score: see scoreOf; meaningless if invalid; kept_rps: rate that the target kept up with while its backlog grew;
 *   foreign: made in the search for another SLO's capacity, which has its own limit on trials; other_speed: invalid because the core
 *   ran at an unusual speed
 * @typedef {typeof SEARCH_DEFAULTS & { plateau_rps: number, sustains?: boolean, min_requests?: number }} SearchPlan plateau_rps: goodput of the closed loop, a
 *   first guess; sustains: the confirming trial was requested, so it is made even when the trials have run out;
 *   min_requests: requests in a usual trial, as far as max_duration_s allows
 * @typedef {{ rate_rps: number, duration_s: number, purpose: 'bracket' | 'edge' | 'confirm' }} NextTrial
 */
export function nextTrial(trials, plan) {
  const own = trials.filter(({ foreign }) => !foreign)
  const valid = own.filter(({ verdict }) => verdict !== 'invalid')
  const levels = levelsOf(trials, plan)
  const bounds = boundsOf(levels)
  if (own.length >= WITH_INVALID * plan.max_trials) return null
  if (valid.length >= plan.max_trials) {
    return plan.sustains && valid.filter(isLong(plan)).length < SUSTAINED_TRIES ? confirming(bounds.low, plan) : null
  }
  const doubtful = doubtfulLevel(levels, plan)
  if (doubtful) return usual(doubtful.rate_rps, 'edge', plan)

  const rate_rps = nextRate(levels, bounds, plan)
  if (rate_rps !== null) return usual(rate_rps, 'bracket', plan)

  const { low, high } = bounds
  const undecided = [low, high].flatMap((level) => (level && !level.decided ? level : []))
  const [fewest] = undecided.sort((a, b) => a.votes - b.votes)
  if (fewest) return usual(fewest.rate_rps, 'edge', plan)
  // Two stalls in a row look like a rate that fails right above one that passes easily, so a third trial must agree.
  const isOutOfLine = low && high && low.score < FAR_BELOW && high.votes === 2 && !high.exhausted
  return isOutOfLine ? usual(high.rate_rps, 'edge', plan) : confirming(low, plan)
}

/** The long trial of a rate that has passed none yet. @param {Level | null} low @param {SearchPlan} plan @returns {NextTrial | null} */
function confirming(low, plan) {
  return low && !low.confirmed ? { rate_rps: low.rate_rps, duration_s: plan.confirm_s, purpose: 'confirm' } : null
}

/** @param {SearchPlan} plan @returns {(trial: SearchTrial) => boolean} */
function isLong({ confirm_s }) {
  return ({ duration_s }) => duration_s >= confirm_s
}

/**
 * Bounds of the capacity so far: the highest pass below the lowest fail, and that fail; null if there are none.
 * @param {SearchTrial[]} trials @param {SearchPlan} plan
 */
export function edgesOf(trials, plan) {
  const { low, high } = boundsOf(levelsOf(trials, plan))
  return low || high ? { low_rps: low?.rate_rps ?? null, high_rps: high?.rate_rps ?? null } : null
}

/** Share of intervals that we promise contain the capacity. */
const CONFIDENCE = 0.9

/**
 * The interval that contains the capacity with a confidence of 0.9, and the number of valid trials. This takes far longer to compute
 * than edgesOf().
 * @param {SearchTrial[]} trials @param {SearchPlan} plan
 */
export function intervalOf(trials, plan) {
  const edges = edgesOf(trials, plan)
  if (!edges) return null
  const valid = lasting(trials, plan).filter(({ verdict }) => verdict !== 'invalid')
  return { ...intervalAround(edges, valid, CONFIDENCE), trials: valid.length }
}

/** Maximum half-width of an answer, as a share of its middle: if trials contradict each other, and if they ran out. */
const MOST_WIDTH = { contested: 0.25, unsettled: 0.1 }

/**
 * Explains why the trials give no trustworthy answer; null if they do.
 * @param {SearchTrial[]} trials @param {SearchPlan} plan
 * @param {{ low_rps: number | null, high_rps: number | null, confidence: number } | null} interval that these trials gave
 */
export function searchProblem(trials, plan, interval) {
  const { low, high } = boundsOf(levelsOf(trials, plan))
  if (!low && !high) {
    const invalid = trials.filter(({ verdict }) => verdict === 'invalid').length
    return `expected a rate with enough valid trials, got none: ${invalid} of ${trials.length} were invalid`
  }
  const unsustained = sustainedProblem(trials, plan)
  if (unsustained) return unsustained
  const { low_rps = null, high_rps = null, confidence } = interval ?? {}
  const isBounded = low_rps !== null && high_rps !== null
  const width = isBounded ? (high_rps - low_rps) / (high_rps + low_rps) : Number.NaN
  const isNarrow = low && high && Math.log(high.rate_rps / low.rate_rps) <= widthOf(plan)
  // The confidence already accounts for an edge that stays contested, and for a bracket that is still wide.
  if (isNarrow || !nextTrial(trials, { ...plan, max_trials: Number.POSITIVE_INFINITY })) {
    // Rates are whole numbers: between these two there is none.
    const isFinest = low && high && high.rate_rps - low.rate_rps <= 1
    const isBracket = isFinest && low_rps === low.rate_rps && high_rps === high.rate_rps
    if (isBracket || !(width > MOST_WIDTH.contested)) return null
    return `the trials contradict each other: for a confidence of ${confidence}, the capacity may be anywhere from ${count(Number(low_rps))}/s to ${count(Number(high_rps))}/s`
  }
  if (width <= MOST_WIDTH.unsettled) return null
  const between = `${low ? `${count(low.rate_rps)}/s passed` : 'none passed'}, ${high ? `${count(high.rate_rps)}/s failed` : 'none failed'}`
  const ignored = trials.filter(({ other_speed }) => other_speed).length
  const others = ignored > 0 ? `, of which ${ignored} did not count, since the core's speed was unusual` : ''
  return `the search had not settled after ${trials.length} trials${others}: ${between}`
}

/** Explains that no rate is known to last, where that was asked for; null otherwise. @param {SearchTrial[]} trials @param {SearchPlan} plan */
export function sustainedProblem(trials, plan) {
  const { low } = boundsOf(levelsOf(trials, plan))
  if (!plan.sustains || !low || low.confirmed) return null
  const long = trials.filter(isLong(plan)).length
  return `expected a rate at which the SLO is kept for ${plan.confirm_s} s, found none: ${long} trials were that long, and none passed at ${count(low.rate_rps)}/s, the highest rate that is left`
}

/**
 * A rate to repeat because its trials contradict each other or other rates: as many passes as fails, or a single fail below a rate
 * that passed or where a pass was expected.
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

/** The next rate that narrows the bracket; null if it is narrow enough, or at the floor. @param {Level[]} levels @param {ReturnType<typeof boundsOf>} bounds @param {SearchPlan} plan */
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

/** Width of the interval wanted, in ln(rate). @param {Pick<SearchPlan, 'precision_ratio'>} plan */
function widthOf({ precision_ratio }) {
  return Math.log((1 + precision_ratio) / (1 - precision_ratio))
}

/** @param {number} rate_rps @param {'bracket' | 'edge'} purpose @param {SearchPlan} plan @returns {NextTrial} */
function usual(rate_rps, purpose, plan) {
  return { rate_rps, duration_s: usualDuration(rate_rps, plan), purpose }
}
