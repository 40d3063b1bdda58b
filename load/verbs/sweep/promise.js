import { undisturbed } from '../../capacity/of-records.js'
import { roundOutwards } from '../../capacity/rates.js'
import { count, milliseconds, percent, tenthPercent } from '../../report/format.js'
import { growingBacklog } from '../../verdict/backlog.js'
import { brokenBounds } from '../../verdict/latencies.js'
import { median } from '../../verdict/ranks.js'

/**
 * @import { Item } from '../../report/blocks.js'
 * @import { Capacity, Plan, Slo, TrialRecord } from '../../report/record.js'
 */

/**
 * Share of the rate that never failed which is safe to promise. While a service stalls for a second, the requests of a second queue;
 * a spare quarter works them off in three seconds: backlog / (capacity - rate) = 0.75 / 0.25.
 */
const SAFE_SHARE = 0.75
/** Trials whose figures differ by less than this factor are alike. */
const UNLIKE = 1.1

/**
 * The rate (requests/s) that can be promised: well below all that failed. Null unless one rate passed and another failed, and for a
 * service so slow that nothing is left below.
 * @param {{ capacity: Capacity | null, records: TrialRecord[] }} findings
 */
export function promisedRate(findings) {
  const most_rps = neverFailed(findings)
  // A rate is at least one request per second.
  return most_rps === null || SAFE_SHARE * most_rps < 1 ? null : roundOutwards(SAFE_SHARE * most_rps, 'down')
}

/** @param {{ capacity: Capacity | null, records: TrialRecord[] }} findings */
export function promiseText(findings) {
  const [safe_rps, most_rps] = [promisedRate(findings), neverFailed(findings)]
  if (safe_rps === null || most_rps === null) return null
  const isEnd = most_rps === findings.capacity?.low_rps
  const of = isEnd ? 'the lower end of the capacity' : `the lowest rate that failed (${count(most_rps)}/s)`
  return `Safe to promise here: ${count(safe_rps)}/s, three quarters of ${of}. With the spare quarter, the service clears the backlog of a one-second stall in three seconds.`
}

/**
 * Says that no rate is known to last: the trials ran out after all long ones had failed. A rate that fails twice is ruled out, so the
 * capacity lies below the rates that they tried, but a service that pauses now and then, say, fails a long trial at any rate.
 * @param {{ capacity: Capacity | null, records: TrialRecord[] }} findings
 */
export function unlastingText({ capacity, records }) {
  const long = judged(records).filter(
    ({ at, outcome }) => at.purpose === 'confirm' && !at.slo && outcome.verdict !== 'invalid',
  )
  if (capacity?.low_rps == null || long.length < 2 || long.some(({ outcome }) => outcome.verdict === 'pass'))
    return null
  const rates = long.map(({ load }) => Number(load.rate_rps))
  const [low_rps, high_rps] = [Math.min(...rates), Math.max(...rates)]
  const at = low_rps === high_rps ? `at ${count(low_rps)}/s` : `at ${count(low_rps)} to ${count(high_rps)}/s`
  return `None of the ${long.length} trials that lasted ${long[0].load.duration_s} s passed (${at}), and the search ended before a lower rate was tried for so long. So no rate is known to last: try --sustained.`
}

/** The lower end of the capacity or, if that is lower, the lowest rate at which a trial failed. @param {{ capacity: Capacity | null, records: TrialRecord[] }} findings */
function neverFailed({ capacity, records }) {
  if (capacity?.low_rps == null || capacity.high_rps === null) return null
  const failed = judged(records).filter(({ outcome }) => outcome.verdict === 'fail')
  return Math.min(capacity.low_rps, ...failed.map(({ load }) => Number(load.rate_rps)))
}

/** The rates at which some trials passed and others failed, with what distinguishes them; null without any. @param {{ plan: Pick<Plan, 'slo'>, records: TrialRecord[] }} findings @returns {Item | null} */
export function mixedItem({ plan, records }) {
  const all = judged(records)
  const rates = [...new Set(all.map(({ load }) => Number(load.rate_rps)))].sort((a, b) => a - b)
  const items = rates.flatMap((rate_rps) => {
    const own = all.filter(({ load }) => load.rate_rps === rate_rps)
    const [passed, failed] = ['pass', 'fail'].map((verdict) => own.filter(({ outcome }) => outcome.verdict === verdict))
    if (passed.length === 0 || failed.length === 0) return []
    const passes = `${passed.length} ${passed.length === 1 ? 'trial' : 'trials'} passed`
    const fails = `${failed.length} failed (${failed.map((record) => failureText(record, plan.slo)).join('; ')})`
    return `${count(rate_rps)}/s: ${passes}, ${fails}. ${differenceText(passed, failed)}`
  })
  return items.length > 0 ? { text: 'Rates that both passed and failed:', items } : null
}

/** The undisturbed trials at a rate, without first estimates. @param {TrialRecord[]} records */
function judged(records) {
  return undisturbed(records).filter(({ at, load }) => load.loop === 'open' && at.phase !== 'plateau')
}

/** @param {TrialRecord} record @param {Slo} slo */
function failureText(record, slo) {
  const { trial, limit } = record
  const named = limit && limit.resource !== 'none-reached' ? `, ${limit.resource}` : ''
  return `trial ${trial}: ${seenText(record, slo)}${named}`
}

/** The reason why a trial failed: successes, latencies or, if both meet the SLO, a growing backlog. @param {TrialRecord} record @param {Slo} slo */
function seenText({ load, traffic, outcome }, slo) {
  if (traffic.success_ratio < slo.success_ratio) return `${percent(traffic.success_ratio)} successes`
  const late = brokenBounds(traffic, slo)
  if (late.length > 0) {
    return late.map(({ entry, name, seen_ms }) => `${entry && `${entry}: `}${name} ${milliseconds(seen_ms)}`).join(', ')
  }
  const growing = growingBacklog({ load, traffic }, slo)
  return growing ? `backlog grew by ${tenthPercent(growing.share)} of the rate` : outcome.because
}

/** The difference between the trials that failed and those that passed. @param {TrialRecord[]} passed @param {TrialRecord[]} failed */
function differenceText(passed, failed) {
  const short_s = Math.max(...passed.map(({ load }) => load.duration_s))
  const long_s = Math.min(...failed.map(({ load }) => load.duration_s))
  if (long_s > short_s) return `Trials that failed lasted longer (${long_s} s against ${short_s} s).`
  const [cheap_us, dear_us] = [costOf(passed), costOf(failed)]
  if (dear_us > UNLIKE * cheap_us) {
    return `Where it failed, a request cost the service ${dear_us.toFixed(1)} us of CPU, against ${cheap_us.toFixed(1)} us where it passed.`
  }
  const alike = Number.isNaN(dear_us / cheap_us)
    ? 'were not longer'
    : 'were neither longer nor more expensive per request'
  return `Trials that failed ${alike}. Near the capacity, a short stall or another program is enough to fail a trial.`
}

/** Median CPU time of a request (us); NaN if it is unknown. @param {TrialRecord[]} records */
function costOf(records) {
  return median(records.flatMap(({ probes }) => probes.api.cpu_us_per_request ?? []))
}
