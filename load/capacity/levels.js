import { median } from '../verdict/ranks.js'
import { MAX_INVALID } from './ladder.js'

/** @import { SearchPlan, SearchTrial } from './search.js' */

/** A rate is decided by a lead of two (2-0, 3-1), or by a majority of MAX_VOTES trials. */
const LEAD = 2
const MAX_VOTES = 5
/** Number of long trials that must fail before a rate that passed the short ones counts as failed. */
const REFUTATIONS = 2
/** Three times the 459 requests that would support "p99 within the SLO" at 99 % if they were independent. */
export const MIN_REQUESTS = 3 * 459

/**
 * Combines the trials of each rate into a level, in order of rising rate.
 * @param {SearchTrial[]} trials @param {SearchPlan} plan @returns {Level[]}
 * @typedef {object} Level
 * @property {number} rate_rps
 * @property {'pass' | 'fail' | 'open' | 'unknown'} verdict open: as many passes as fails; unknown: no valid trial, or abandoned
 * @property {boolean} decided whether no further trial is needed
 * @property {boolean} exhausted whether too many trials of the usual length were invalid to justify another
 * @property {boolean} givenUp whether the rate was abandoned because too many trials were invalid
 * @property {number} votes number of valid trials of the usual length
 * @property {number} score median of the scores behind the verdict; its sign matches, unless lasting() overruled passes
 * @property {number | null} kept_rps rate that the target kept up with, from valid trials with a growing backlog; null without any
 * @property {boolean} confirmed whether a long trial passed, or the usual trials are as long anyway
 */
export function levelsOf(trials, plan) {
  // Ignores trials at an unusual speed of the core: they neither judge a rate nor count towards abandoning it.
  const judging = lasting(trials, plan).filter(({ other_speed }) => !other_speed)
  const rates = [...new Set(judging.map(({ rate_rps }) => rate_rps))].sort((a, b) => a - b)
  return rates.map((rate_rps) => {
    const own = judging.filter((trial) => trial.rate_rps === rate_rps)
    const usual_s = usualDuration(rate_rps, plan)
    const short = countsOf(own.filter(({ duration_s }) => duration_s <= usual_s))
    const long = countsOf(own.filter(({ duration_s }) => duration_s > usual_s))
    const lead = short.passes - short.fails
    const votes = short.passes + short.fails
    const decided = Math.abs(lead) >= LEAD || votes >= MAX_VOTES
    const confirmed = long.passes > 0 || plan.confirm_s <= usual_s
    const exhausted = short.invalids >= MAX_INVALID
    const givenUp = (!decided && exhausted) || (!confirmed && long.invalids >= MAX_INVALID)
    const kept = own.flatMap(({ verdict, kept_rps }) => (verdict === 'invalid' ? [] : (kept_rps ?? [])))
    const kept_rps = kept.length > 0 ? median(kept) : null
    const level = { rate_rps, votes, decided, exhausted, givenUp, confirmed, kept_rps }
    if (givenUp || votes === 0) return { ...level, verdict: 'unknown', score: Number.NaN }
    const isRefuted = !confirmed && long.fails >= REFUTATIONS
    if (isRefuted) return { ...level, decided: true, verdict: 'fail', score: median(long.scores) }
    return { ...level, verdict: lead > 0 ? 'pass' : lead < 0 ? 'fail' : 'open', score: median(short.scores) }
  })
}

/**
 * The trials, with short passes turned into fails at rates that do not last. If two sustained trials fail at a rate, that rate and all
 * above are ruled out, or all from the median rate that the target kept up with. A sustained pass keeps its rate and all below.
 * @param {SearchTrial[]} trials @param {SearchPlan} plan
 */
export function lasting(trials, plan) {
  if (!plan.sustains) return trials
  const long = trials.filter(({ duration_s, verdict }) => duration_s >= plan.confirm_s && verdict !== 'invalid')
  const limits = [...new Set(long.map(({ rate_rps }) => rate_rps))].flatMap((rate_rps) => {
    const own = long.filter((trial) => trial.rate_rps === rate_rps)
    if (own.length < REFUTATIONS || own.some(({ verdict }) => verdict === 'pass')) return []
    const kept = own.flatMap(({ kept_rps }) => kept_rps ?? [])
    return [rate_rps, ...(kept.length >= REFUTATIONS ? [median(kept)] : [])]
  })
  const limit_rps = Math.min(...limits)
  const lasted = long.filter(({ verdict }) => verdict === 'pass').map(({ rate_rps }) => rate_rps)
  const lasted_rps = Math.max(0, ...lasted)
  return trials.map((trial) => {
    const isTooShort = trial.verdict === 'pass' && trial.rate_rps >= limit_rps && trial.rate_rps > lasted_rps
    return isTooShort ? { ...trial, verdict: /** @type {const} */ ('fail') } : trial
  })
}

/**
 * The highest pass below the lowest fail, and the upper bound of the search: that fail, or an abandoned rate below it.
 * @param {Level[]} levels rising
 */
export function boundsOf(levels) {
  const fail = levels.find(({ verdict }) => verdict === 'fail') ?? null
  const below = levels.filter(({ rate_rps }) => rate_rps < (fail?.rate_rps ?? Number.POSITIVE_INFINITY))
  const low = below.findLast(({ verdict }) => verdict === 'pass') ?? null
  const ceiling = below.find(({ givenUp, rate_rps }) => givenUp && rate_rps > (low?.rate_rps ?? 0)) ?? null
  return { low, high: ceiling ? null : fail, ceiling }
}

/** Duration of a usual trial, in seconds. @param {number} rate_rps @param {SearchPlan} plan */
export function usualDuration(rate_rps, { duration_s, max_duration_s, min_requests = MIN_REQUESTS }) {
  const enough_s = Math.ceil((10 * min_requests) / rate_rps) / 10
  return Math.min(max_duration_s, Math.max(duration_s, enough_s))
}

/** @param {SearchTrial[]} trials */
function countsOf(trials) {
  const count = (/** @type {string} */ wanted) => trials.filter(({ verdict }) => verdict === wanted).length
  const scores = trials.filter(({ verdict }) => verdict !== 'invalid').map(({ score }) => score)
  return { passes: count('pass'), fails: count('fail'), invalids: count('invalid'), scores }
}
