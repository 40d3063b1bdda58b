import { isValid } from '../../capacity/ladder.js'
import { speedOf, timedCore, undisturbed } from '../../capacity/of-records.js'
import { count, decimal, figure, ratesText, wholePercent } from '../../report/format.js'
import { sloText } from '../../report/slo.js'
import { sharedCore } from '../../verdict/ledger.js'
import { median } from '../../verdict/ranks.js'
import { disturbedText } from './disturbed.js'
import { limitItems, limitText } from './limit.js'
import { mixedItem, promiseText, unlastingText } from './promise.js'
import { burstText } from './refusals.js'

/**
 * @import { Item } from '../../report/blocks.js'
 * @import { SweepFindings } from './sweep.js'
 * @import { Capacity, Plan, TrialRecord } from '../../report/record.js'
 */

/** Within this share of the capacity, requests cost about the same at all rates. */
const NEAR = 0.15

/** The answer in a sentence or two. @param {SweepFindings} findings */
export function sweepSentence(findings) {
  const { capacity, limit, records, plan } = findings
  const named = limit ? ` Limit: ${limitText(findings, ', ')}.` : ''
  return `${capacity ? `Capacity: ${ratesText(capacity)}${timesText(capacity, plan)}` : unjudged(records)}.${named}`
}

/** The findings, with their evidence. @param {SweepFindings} findings @returns {Item[]} */
export function sweepItems(findings) {
  const items = [
    capacityText(findings),
    sustainedText(findings),
    burstText(findings) ?? unlastingText(findings) ?? (findings.problem ? null : promiseText(findings)),
    mixedItem(findings),
    disturbedText(findings),
    costText(findings),
    closingText(findings),
    speedText(findings),
    sharedCoreText(findings),
    ...limitItems(findings),
  ]
  return items.flatMap((item) => item || [])
}

/** @param {SweepFindings} findings */
function capacityText(findings) {
  const { capacity, plan, records } = findings
  if (!capacity) return `${unjudged(records)}.`
  const { low_rps, high_rps, trials, confidence, slo = plan.slo, bounded_by } = capacity
  const sure = confidence === null ? '' : `, confidence ${confidence.toFixed(2)}`
  const basis = `(${sloText(slo)}; ${trials} ${trials === 1 ? 'trial counts' : 'trials count'}${sure})`
  const rates = `Capacity: ${ratesText(capacity)}${timesText(capacity, plan)}`
  if (low_rps === null) return `${rates}, the lowest rate tried ${basis}.`
  if (bounded_by) return `${rates}${boundText(findings, low_rps, bounded_by)} ${basis}.`
  if (high_rps === null) return `${rates}; the trials that count settle no upper bound ${basis}.`
  const width = ((high_rps - low_rps) / (high_rps + low_rps)) * 100
  return `${rates}, ± ${width.toFixed(1)} % ${basis}.`
}

/** Why a capacity has no upper end. Some higher rates may have been judged all the same. @param {SweepFindings} findings @param {number} low_rps @param {string} bounded_by */
function boundText({ records }, low_rps, bounded_by) {
  const higher = records.filter(({ at, load }) => at.phase === 'search' && Number(load.rate_rps) > low_rps)
  const invalid = higher.filter((record) => !isValid(record))
  const open_rps = Math.min(...invalid.map(rateOf))
  const failed = higher.filter((record) => record.outcome.verdict === 'fail' && rateOf(record) > open_rps)
  if (failed.length > 0) {
    const fail_rps = Math.min(...failed.map(rateOf))
    const few = higher.some((record) => isValid(record) && rateOf(record) < fail_rps) ? 'too few trials' : 'no trial'
    return `: ${count(fail_rps)}/s failed, and between these two, ${few} could be judged, since ${bounded_by}`
  }
  const bound = invalid.findLast(({ outcome }) => outcome.because === bounded_by)
  if (bound?.outcome.blame === 'generator') return `: more than that could not be offered, since ${bounded_by}`
  const few = higher.some((record) => isValid(record) && rateOf(record) >= open_rps) ? 'too few trials' : 'no trial'
  return `; at ${count(open_rps)}/s and above, ${few} could be judged: ${bounded_by}`
}

/** Offered requests per second; 0 in a closed loop. @param {TrialRecord} record */
export function rateOf({ load }) {
  return Number(load.rate_rps)
}

/** The sustained trial that passed at the highest rate; null if none was requested, or none passed. @param {TrialRecord[]} records */
export function sustainedIn(records) {
  const held = records.filter(({ load, outcome }) => load.checkpoint && outcome.verdict === 'pass')
  return held.sort((a, b) => Number(a.load.rate_rps) - Number(b.load.rate_rps)).at(-1) ?? null
}

/** @param {SweepFindings} findings */
function sustainedText({ records }) {
  const most = sustainedIn(records)
  if (!most) return null
  const { rate_rps, duration_s } = most.load
  const during = most.probes.postgres?.checkpoint_s ? ', with a checkpoint of Postgres in it' : ''
  return `Sustained: ${figure(Number(rate_rps))}/s for ${duration_s} s${during}.`
}

/** The capacity as a multiple of the load in the replayed log. @param {Capacity} capacity @param {Plan} plan */
function timesText({ times_recorded }, { mix }) {
  if (!times_recorded || !mix.replay) return ''
  const { mean_rps, peak_rps } = mix.replay
  const [low, high] = [times_recorded.low, times_recorded.high].map((times) => times && decimal(times, 6, 0))
  const times = low === null ? `below ${high}` : high === null ? `at least ${low}` : `${low} to ${high}`
  return `, ${times} times the recorded load (mean ${figure(mean_rps)}/s, busiest second ${count(peak_rps)}/s)`
}

/** @param {TrialRecord[]} records */
function unjudged(records) {
  const valid = records.filter(isValid)
  const most_rps = Math.max(0, ...valid.map(({ traffic }) => traffic.goodput_rps))
  const why = valid.some(({ load }) => load.rate_rps) ? 'No capacity follows' : 'No open-loop rate was judged'
  return `${why}. Highest goodput seen: ${count(Math.round(most_rps))}/s`
}

/**
 * The CPU cost of a request near the capacity, which depends on the core's speed and on how many requests are in flight. Returns null
 * if too few trials have the figure.
 * @param {Pick<SweepFindings, 'capacity' | 'records'>} findings
 */
export function costNear({ capacity, records }) {
  const costs_us = nearCapacity(capacity, records).flatMap(({ probes }) => probes.api.cpu_us_per_request ?? [])
  if (costs_us.length < 2) return null
  const [least_us, most_us] = [Math.min(...costs_us), Math.max(...costs_us)]
  return { least_us, median_us: median(costs_us), most_us, trials: costs_us.length }
}

/** @param {SweepFindings} findings */
function costText(findings) {
  const near = costNear(findings)
  if (!near) return null
  const [least, middle, most] = [near.least_us, near.median_us, near.most_us].map((cost_us) => cost_us.toFixed(1))
  return `A request cost the service ${middle} us of CPU near the capacity (median of ${near.trials} trials within ${NEAR * 100} % of it; ${least} to ${most} us).`
}

/** Share of answers after which a connection has to be closed to be worth mentioning. */
const CLOSED_SHARE = 0.05

/** Says that requests pay for new connections because the service closes the old ones. @param {SweepFindings} findings */
function closingText({ capacity, plan, records }) {
  const shares = nearCapacity(capacity, records).map(({ traffic: { closings = 0, completed } }) => closings / completed)
  const share = median(shares)
  if (plan.fresh_connections || !(share >= CLOSED_SHARE)) return null
  const tls = plan.url?.startsWith('https:') ? ', with a full TLS handshake' : ''
  return `After ${wholePercent(Math.min(1, share))} of its answers, the service (or a proxy before it) closed the connection, so the next request waited for a new one${tls}. With connections kept open, the capacity may be higher.`
}

/** @param {SweepFindings} findings */
function speedText({ records }) {
  const speed = speedOf(records)
  if (!speed) return null
  const [least, middle, most] = [speed.least_ms, speed.usual_ms, speed.most_ms].map((ms) => ms.toFixed(1))
  const left = speed.others.map(({ trial }) => trial)
  const named = left.length > 1 ? `Trials ${left.slice(0, -1).join(', ')} and ${left.at(-1)}` : `Trial ${left[0]}`
  const without = left.length > 0 ? ` ${named} did not count: the core's speed was unusual.` : ''
  return `Speed of ${timedCore(records)}: before the trials, a fixed piece of work usually took ${middle} ms (it ranged from ${least} to ${most} ms).${without}`
}

/** Above this utilization, the processes on a shared core slow each other down. */
const SHARED_FULL = 0.9
/** Smaller shares make no measurable difference. */
const GENERATOR_SHARE = 0.1
/** Limits that would rise if the generator had a core of its own. */
const CRAMPED = ['postgres-cpu', 'generator-cpu']

/**
 * The cost of running the generator on Postgres' core; null if they share none, the core is not saturated, or the cost is negligible.
 * @param {SweepFindings} findings
 */
function sharedCoreText({ capacity, records, limit }) {
  const shares = nearCapacity(capacity, records)
    .flatMap(({ probes }) => sharedCore(probes) ?? [])
    .flatMap(({ utilization, generator_share }) => (utilization >= SHARED_FULL ? generator_share : []))
  if (shares.length === 0 || median(shares) <= GENERATOR_SHARE) return null
  const most = wholePercent(1 / (1 - median(shares)) - 1)
  const gain = ` Giving the generator a core of its own can raise the capacity by up to ${most}.`
  return `Postgres and the generator share a core. In the trials in which that core was at least ${wholePercent(SHARED_FULL)} busy, the generator took ${wholePercent(median(shares))} of it.${CRAMPED.includes(String(limit?.resource)) ? gain : ''}`
}

/**
 * The undisturbed trials at rates near the capacity.
 * @param {{ low_rps: number | null, high_rps: number | null } | null} capacity @param {TrialRecord[]} records
 */
export function nearCapacity(capacity, records) {
  const low_rps = capacity?.low_rps ?? capacity?.high_rps ?? Number.NaN
  const high_rps = capacity?.high_rps ?? capacity?.low_rps ?? Number.NaN
  const [least_rps, most_rps] = [low_rps * (1 - NEAR), high_rps * (1 + NEAR)]
  return undisturbed(records).filter((record) => rateOf(record) >= least_rps && rateOf(record) <= most_rps)
}
