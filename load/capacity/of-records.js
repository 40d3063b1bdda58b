import { ratesText } from '../report/format.js'
import { highestP99Of } from '../report/slo.js'
import { growingBacklog } from '../verdict/backlog.js'
import { boundedLatencies, failingEntries } from '../verdict/latencies.js'
import { median } from '../verdict/ranks.js'
import { flatErrors, withoutErrors } from './flat-errors.js'
import { isValid } from './ladder.js'
import { MIN_REQUESTS } from './levels.js'
import { edgesOf, SEARCH_DEFAULTS } from './search.js'

/**
 * @import { NextTrial, SearchTrial } from './search.js'
 * @import { Plan, Slo, TrialRecord, TrialTraffic } from '../report/record.js'
 */

/** The long trial that confirms the answer takes this many times as long as the others. */
export const CONFIRM_TIMES = 4
/** Scores are capped here: missing the SLO by more than a factor of 20 makes no further difference. */
const MAX_SCORE = 3
/** Minimum score of a trial that failed for a reason other than latency. */
const OTHER_FAILURE = 1
/** A target that achieves less than this share of the offered rate did not keep up (in a search: in the time that the SLO allows). */
export const KEPT_UP_RATIO = 0.95

/** Factor by which a bound on p999 needs more requests than a bound on p99. */
const P999_TIMES = 10
/** An SLO that accepts some errors needs enough requests to accept so many: with room for less than one, a single error fails a trial. */
const ACCEPTED_ERRORS = 5

/** Requests in a usual trial, if these SLOs need more than others. @param {Pick<Plan, 'slo' | 'slos'>} plan */
function leastRequests({ slo, slos = [slo] }) {
  return Math.max(
    0,
    ...slos.map((one) => (one?.also_ms?.p999 ? P999_TIMES * MIN_REQUESTS : 0)),
    ...slos.map((one) => (one?.success_ratio < 1 ? Math.round(ACCEPTED_ERRORS / (1 - one.success_ratio)) : 0)),
  )
}

/** @param {Plan} plan @param {TrialRecord[]} records */
export function searchPlan(plan, records) {
  const { duration_s, precision_ratio = SEARCH_DEFAULTS.precision_ratio, sustained_s } = plan
  const min_requests = leastRequests(plan)
  const max_duration_s = Math.max(duration_s, SEARCH_DEFAULTS.max_duration_s)
  const confirm_s = sustained_s ?? CONFIRM_TIMES * duration_s
  return {
    ...SEARCH_DEFAULTS,
    plateau_rps: plateauOf(records),
    duration_s,
    precision_ratio,
    max_duration_s,
    confirm_s,
    ...(sustained_s && { sustains: true }),
    ...(min_requests > MIN_REQUESTS && { min_requests }),
  }
}

/** Deviation from the usual value, as a share of it, beyond which a time or a cost counts as different. */
const OTHER_SPEED = 0.1

/**
 * Times of the fixed piece of work before the trials of a search, and the trials in which the core ran at an unusual speed. Returns
 * null if nothing was timed.
 * @param {TrialRecord[]} records
 */
export function speedOf(records) {
  return speedIn(of(records, 'search'), costOf)
}

/**
 * CPU time of a request: the service's or, if a running service is not watched, the generator's. The latter also falls as the rate
 * rises, so alone it would not tell a speed; here, it only keeps trials that the work alone would leave out.
 * @param {TrialRecord} record
 */
function costOf({ target, probes }) {
  const beside = target?.kind === 'url' ? probes?.generator : null
  return probes?.api.cpu_us_per_request ?? beside?.cpu_us_per_request
}

/** What the work before a trial told the speed of. @param {TrialRecord[]} records */
export function timedCore(records) {
  return records.some(({ target }) => target?.kind === 'url') ? "this machine's cores" : "the service's core"
}

/**
 * Like speedOf(), for any trials. The work alone tells too little: seconds pass between it and a trial, and on a core that shares its
 * hardware with another guest, the speed may change several times a second. So the speed counts as unusual only if the work and the
 * trial's requests took more CPU time than usual, or both took less. If the cost of requests is unknown, the work decides.
 * @template {{ work_ms?: number | null }} T
 * @param {T[]} trials @param {(trial: T) => number | null | undefined} costOf CPU time of a request
 */
export function speedIn(trials, costOf) {
  const timed = trials.flatMap((trial) =>
    trial.work_ms ? { trial, work_ms: trial.work_ms, cost: costOf(trial) ?? null } : [],
  )
  if (timed.length === 0) return null
  const times_ms = timed.map(({ work_ms }) => work_ms).sort((a, b) => a - b)
  const usual_ms = usualOf(times_ms)
  const costs = timed.flatMap(({ work_ms, cost }) => (isOther(work_ms, usual_ms) ? [] : (cost ?? [])))
  const usualCost = costs.length > 0 ? median(costs) : null
  const others = timed.filter(({ work_ms, cost }) => {
    if (!isOther(work_ms, usual_ms)) return false
    if (cost === null || usualCost === null) return true
    return isOther(cost, usualCost) && cost > usualCost === work_ms > usual_ms
  })
  const [least_ms, most_ms] = [times_ms[0], times_ms[times_ms.length - 1]]
  return { usual_ms, least_ms, most_ms, others: others.map(({ trial }) => trial) }
}

/**
 * The time with the most other times near it and, among equals, the one nearest to the median. The median itself may be far from
 * the others, if it lies between two speeds of the core.
 * @param {number[]} times_ms in order
 */
function usualOf(times_ms) {
  const median_ms = times_ms[Math.floor((times_ms.length - 1) / 2)]
  const near = (/** @type {number} */ usual_ms) => times_ms.filter((time_ms) => !isOther(time_ms, usual_ms)).length
  return times_ms.toSorted((a, b) => near(b) - near(a) || Math.abs(a - median_ms) - Math.abs(b - median_ms))[0]
}

/** @param {number} value @param {number} usual */
function isOther(value, usual) {
  return Math.abs(value / usual - 1) > OTHER_SPEED
}

/** Valid trials of the service as it is, at the usual speed of its core: no limit was relaxed, and nothing slowed. @param {TrialRecord[]} records */
export function undisturbed(records) {
  const others = speedOf(records)?.others ?? []
  return records.filter((record) => isValid(record) && !record.cell && !record.doses && !others.includes(record))
}

/**
 * The trials as the search sees them: those at an unusual speed of the core say nothing about the usual capacity. If errors within the SLO
 * failed some by chance, errors do not count.
 * @param {TrialRecord[]} records @param {Plan} plan
 */
export function trialsOf(records, plan) {
  const others = speedOf(records)?.others ?? []
  const byChance = failedByChance(records, plan)
  const slo = byChance.length > 0 ? withoutErrors(plan.slo) : plan.slo
  return of(records, 'search').map((record) => {
    const { at, load } = record
    const verdict = byChance.includes(record) ? 'pass' : record.outcome.verdict
    const [rate_rps, growing] = [Number(load.rate_rps), growingBacklog(record, slo)]
    const kept_rps = growing && (1 - growing.share) * rate_rps
    const judged = { rate_rps, duration_s: load.duration_s, ...outcomeOf(verdict, others.includes(record)) }
    // A pass lies within the SLO, whatever a few late responses did to the rate that was achieved.
    const most = verdict === 'pass' ? 0 : MAX_SCORE
    const trial = { ...judged, score: Math.min(most, scoreOf(record, slo)), kept_rps }
    return (at.slo ?? 0) === (plan.nth_slo ?? 0) ? trial : { ...trial, foreign: /** @type {const} */ (true) }
  })
}

/** The trials that failed only because errors within the SLO were too many in them by chance. @param {TrialRecord[]} records @param {Plan} plan */
export function failedByChance(records, plan) {
  const errors = errorsOf(records, plan)
  return errors?.verdict === 'within' ? errors.failed : []
}

/** The errors of a search, if they decide which trials fail: see flatErrors(). @param {TrialRecord[]} records @param {Plan} plan */
export function errorsOf(records, { slo }) {
  const others = speedOf(records)?.others ?? []
  const usual = of(records, 'search').filter((record) => !others.includes(record))
  return flatErrors(usual, slo)
}

/** Makes a trial at another speed of the core invalid. @param {SearchTrial['verdict']} verdict @param {boolean} isAtOtherSpeed */
export function outcomeOf(verdict, isAtOtherSpeed) {
  if (!isAtOtherSpeed) return { verdict }
  return { verdict: /** @type {const} */ ('invalid'), other_speed: /** @type {const} */ (true) }
}

/**
 * Distance of a trial from its SLO: ln(latency / bound) of the worst latency, between -3 and 3, positive if the SLO was missed.
 * @param {Pick<TrialRecord, 'traffic' | 'load'>} record @param {Slo} slo
 */
export function scoreOf({ traffic, load }, slo) {
  const scores = boundedLatencies(traffic, slo).map(({ seen_ms, bound_ms }) => Math.log(seen_ms / bound_ms))
  const score = Math.max(-MAX_SCORE, Math.min(MAX_SCORE, Math.max(...scores)))
  // The last responses may take as long as the SLO allows; the rate that was achieved counts this time, too.
  const due_share = load.duration_s / (load.duration_s + highestP99Of({ slo, timeout_s: load.timeout_s }) / 1000)
  const achieves = traffic.achieved_rps >= KEPT_UP_RATIO * due_share * Number(load.rate_rps)
  const succeeds = traffic.success_ratio >= slo.success_ratio && failingEntries(traffic, slo).length === 0
  const keptUp = achieves && succeeds && !growingBacklog({ load, traffic }, slo)
  return keptUp ? score : Math.max(score, OTHER_FAILURE)
}

/** Goodput of the best trial that looked for the plateau, in requests/s; 0 without any. @param {TrialRecord[]} records */
export function plateauOf(records) {
  const own = of(records, 'plateau').filter(isValid)
  return Math.max(0, ...own.map(({ traffic }) => traffic.goodput_rps))
}

/** @param {Plan} plan @param {TrialRecord[]} records */
export function foundSoFar(plan, records) {
  return edgesOf(trialsOf(records, plan), searchPlan(plan, records))
}

/** The trials of one phase: plateau, search, relax or relax-runner-up. @param {TrialRecord[]} records @param {string} phase */
export function of(records, phase) {
  return records.filter(({ at }) => at.phase === phase)
}

const PURPOSES = {
  bracket: 'narrowing it down',
  edge: 'this rate once more, since one trial may be luck',
  confirm: 'one long trial to confirm the rate that passed',
}

/** Says what the search knows and what it tries next. @param {Plan} plan @param {TrialRecord[]} records @param {NextTrial} next */
export function thoughtOf(plan, records, { purpose }) {
  const found = foundSoFar(plan, records)
  return found ? `so far ${ratesText(found)}: ${PURPOSES[purpose]}` : 'a first rate, from the closed loops'
}
