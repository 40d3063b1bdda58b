import { count } from '../report/format.js'
import { valueText } from '../report/picture.js'
import { failureText, stoppedText } from './advice.js'
import { failedBesideOthers } from './beside-others.js'
import { isRefused, isValid } from './ladder.js'
import { errorsOf, of, plateauOf, searchPlan, speedOf, timedCore, trialsOf } from './of-records.js'
import { intervalOf, searchProblem, sustainedProblem } from './search.js'

/** @import { Plan, TrialRecord } from '../report/record.js' */

/** Causes of invalid trials other than the generator and the machine: they do not bound the rate that could be offered. */
const UNEXPLAINED = ['rows', 'unknown']

/** The capacity that a search found, and the problem if it is not trustworthy. Pure. @param {Plan} plan @param {TrialRecord[]} records */
export function capacityFound(plan, records) {
  const answered = lastAnswered(records)
  if (answered) {
    // What failed may have failed because the service had stopped.
    const last = records.findLast(({ at }) => at.phase === 'search')
    return { capacity: null, problem: stoppedText(answered, last ?? answered, 'at rates that had passed') }
  }
  const problem = errorsProblem(plan, records)
  if (problem) return { capacity: null, problem }
  const found = plateauOf(records) > 0 ? intervalBesideOthers(plan, records) : null
  const bound = boundOf(records, found)
  const isExplained = bound && !UNEXPLAINED.includes(String(bound.outcome.blame))
  const bounded_by = isExplained ? bound.outcome.because : undefined
  return {
    capacity: found && { ...found, slo: plan.slo, ...(bounded_by && { bounded_by }) },
    problem: problemOf(plan, records, found),
  }
}

/** The interval; if other programs may have failed some trials, it reaches as far as it does without those. @param {Plan} plan @param {TrialRecord[]} records */
function intervalBesideOthers(plan, records) {
  const [trials, search] = [trialsOf(records, plan), searchPlan(plan, records)]
  const found = intervalOf(trials, search)
  const doubtful = failedBesideOthers(records).map(({ failed }) => failed.record)
  if (!found || doubtful.length === 0) return found
  const own = of(records, 'search')
  const without = intervalOf(
    trials.filter((_, i) => !doubtful.includes(own[i])),
    search,
  )
  const highs_rps = [found.high_rps, without?.high_rps ?? null]
  return { ...found, high_rps: highs_rps.includes(null) ? null : Math.max(...highs_rps.map(Number)) }
}

/**
 * Why errors that do not depend on the rate leave no capacity: more than the SLO allows, or too near to it to tell. Returns null if they
 * leave one.
 * @param {Plan} plan @param {TrialRecord[]} records
 */
export function errorsProblem(plan, records) {
  const errors = errorsOf(records, plan)
  if (!errors || errors.verdict === 'within') return null
  const { ratio, low, high, allowed, verdict } = errors
  const allows = allowed > 0 ? valueText(allowed, 'share') : 'none'
  if (verdict === 'beyond')
    return `${valueText(ratio, 'share')} of the requests failed whatever the rate, and the SLO allows ${allows}`
  const between = `${valueText(low, 'share')} to ${valueText(high, 'share')}`
  return `about ${valueText(ratio, 'share')} of the requests failed whatever the rate, and the SLO allows ${allows}: with so few requests, the true share may be anything from ${between}`
}

/** Number of trials without a success that shows that the service has stopped: at rates that it had carried, or refused altogether. */
const [DEAD_TRIALS, REFUSED_TRIALS] = [3, 2]

/** The last trial before or in a search in which a service succeeded before it stopped for good; null if it goes on. @param {TrialRecord[]} records */
export function lastAnswered(records) {
  const trials = records.filter(({ at }) => at.phase === 'plateau' || at.phase === 'search')
  const last = trials.findLastIndex(({ traffic }) => traffic.ok > 0)
  const passed = trials.filter(({ outcome }) => outcome.verdict === 'pass')
  const carried_rps = Math.max(0, ...passed.map(({ load, traffic }) => load.rate_rps ?? traffic.goodput_rps))
  const since = trials.slice(last + 1).filter((trial) => isValid(trial) && trial.load.loop === 'open')
  const dead = since.filter(({ load }) => Number(load.rate_rps) <= carried_rps)
  const hasStopped = dead.length >= DEAD_TRIALS || since.filter(isRefused).length >= REFUSED_TRIALS
  return hasStopped ? (trials[last] ?? null) : null
}

/** @param {Plan} plan @param {TrialRecord[]} records @param {ReturnType<typeof intervalOf>} found */
function problemOf(plan, records, found) {
  if (plateauOf(records) === 0) {
    const last = records.at(-1)
    return `the closed loop that looks for the plateau found none: ${last ? failureText(last) : 'no trial'}`
  }
  const trials = of(records, 'search')
  if (found && found.low_rps === null && trials.every(({ traffic }) => traffic.ok === 0)) {
    return `not one request succeeded: ${failureText(trials[trials.length - 1])}`
  }
  const bound = boundOf(records, found)
  const blame = String(bound?.outcome.blame)
  const unjudged =
    bound && `at ${count(Number(bound.load.rate_rps))}/s, no trial could be judged: ${bound.outcome.because}`
  if (UNEXPLAINED.includes(blame)) return unjudged
  const atOtherSpeed = speedProblem(records, found)
  if (atOtherSpeed) return atOtherSpeed
  // A lower bound does not require the search to settle above it.
  if (found?.low_rps && blame === 'generator') {
    return sustainedProblem(trialsOf(records, plan), searchPlan(plan, records))
  }
  if (blame === 'noise') return unjudged
  const problem = searchProblem(trialsOf(records, plan), searchPlan(plan, records), found)
  const last = trials.some(isValid) ? undefined : trials.at(-1)
  return problem && last ? `${problem}; the last one: ${last.outcome.because}` : problem
}

/**
 * The reason why a capacity has only one bound: the core ran at an unusual speed in the trials that might have set the other. Returns
 * null if that is not the reason.
 * @param {TrialRecord[]} records @param {ReturnType<typeof intervalOf>} found
 */
function speedProblem(records, found) {
  const speed = speedOf(records)
  if (!speed || !found || (found.low_rps !== null && found.high_rps !== null)) return null
  const missing = found.high_rps === null ? 'fail' : 'pass'
  const isBeyond = (/** @type {TrialRecord} */ { load }) =>
    missing === 'pass' || Number(load.rate_rps) > Number(found.low_rps)
  if (!speed.others.some((record) => record.outcome.verdict === missing && isBeyond(record))) return null
  const [least, most] = [speed.least_ms, speed.most_ms].map((ms) => ms.toFixed(1))
  const all = of(records, 'search').length
  const side = missing === 'fail' ? 'above' : 'below'
  return `the speed of ${timedCore(records)} changed: the same work took ${least} to ${most} ms. Without the ${speed.others.length} of ${all} trials at an unusual speed, too few are left to bound the capacity from ${side}`
}

/**
 * The trial that bounded a search from above although it says nothing about the target: the generator or the machine could do no more.
 * The capacity is then only a lower bound. Returns null if something else stopped the search.
 * @param {TrialRecord[]} records @param {{ low_rps: number | null, high_rps: number | null } | null} found
 */
export function boundOf(records, found) {
  if (!found || found.high_rps !== null) return null
  const low_rps = found.low_rps ?? 0
  const invalid = of(records, 'search').filter((trial) => !isValid(trial) && Number(trial.load.rate_rps) > low_rps)
  // Lost rows are reported even if other trials were invalid for other reasons.
  return invalid.findLast(({ outcome }) => outcome.blame === 'rows') ?? invalid.at(-1) ?? null
}
