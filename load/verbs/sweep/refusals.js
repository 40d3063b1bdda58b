import { figure } from '../../report/format.js'
import { brokenBounds } from '../../verdict/latencies.js'
import { median } from '../../verdict/ranks.js'

/**
 * @import { SweepFindings } from './sweep.js'
 * @import { TrialRecord } from '../../report/record.js'
 */

/** Share of the requests without success that were answered, above which a trial failed by refusals alone. */
const REFUSED_SHARE = 0.9
/** Rates that differ by less than this share are the same. */
const SAME_SHARE = 0.05
/** Fewest trials that show what a limit lets through. */
const LEAST_TRIALS = 3

/** Says that requests are refused at once, so none of them waits; null unless most trials beyond the capacity failed that way. @param {SweepFindings} findings */
export function refusingText({ plan, capacity, records }) {
  const beyond = records.filter(({ load, outcome }) => {
    return outcome.verdict === 'fail' && Number(load.rate_rps) > Number(capacity?.low_rps)
  })
  const refusing = beyond.filter((record) => isRefusing(record, plan))
  if (refusing.length <= beyond.length / 2) return null
  const codes = [...new Set(refusing.flatMap(({ traffic }) => refusalsOf(traffic).map(([code]) => code)))]
  return `requests do not wait, they are refused (status ${codes.join(', ')})`
}

/**
 * The rate that something lets through in most trials in which it refuses requests, whatever they offer, if that is less than the
 * capacity: a limit on the rate that allows a burst, which a short trial does not use up. Null without such a limit.
 * @param {Pick<SweepFindings, 'plan' | 'capacity' | 'records'>} findings
 */
export function letThrough({ plan, capacity, records }) {
  const refusing = records.filter((record) => {
    return record.load.loop === 'open' && record.outcome.verdict === 'fail' && isRefusing(record, plan)
  })
  const rates_rps = refusing.map(({ traffic }) => traffic.goodput_rps)
  const usual_rps = median(rates_rps)
  const alike = rates_rps.filter((rate_rps) => Math.abs(rate_rps - usual_rps) <= SAME_SHARE * usual_rps)
  if (alike.length < LEAST_TRIALS || alike.length <= refusing.length / 2) return null
  return usual_rps < (1 - SAME_SHARE) * Number(capacity?.low_rps) ? usual_rps : null
}

/** @param {SweepFindings} findings */
export function burstText(findings) {
  const rate_rps = letThrough(findings)
  if (rate_rps === null) return null
  return `Whatever was offered, about ${figure(rate_rps)}/s were let through in most trials with refused requests, which is less than the capacity. So a burst is allowed beyond that rate, and the trials that passed were too short to use it up: expect about ${figure(rate_rps)}/s to last.`
}

/** @param {TrialRecord} record @param {SweepFindings['plan']} plan */
function isRefusing({ traffic }, { slo }) {
  const refused = refusalsOf(traffic).reduce((sum, [, number]) => sum + number, 0)
  return (
    refused > 0 && refused >= REFUSED_SHARE * (traffic.planned - traffic.ok) && brokenBounds(traffic, slo).length === 0
  )
}

/** Answers that are no successes, by status. @param {TrialRecord['traffic']} traffic */
function refusalsOf({ status }) {
  return Object.entries(status).filter(([code]) => code[0] !== '2')
}
