/** @import { Slo, TrialTraffic } from '../report/record.js' */

/** Beyond a factor of 20 it makes no difference how far off the SLO a trial is. */
const MAX_SCORE = 3

/** ln(p99 / SLO) that a trial counts for at least which failed for another reason than its latency. */
const OTHER_FAILURE = 1

/** A trial whose achieved rate is below this share of the offered one was not kept up with. */
const KEPT_UP_RATIO = 0.95

/**
 * How far a trial was from its SLO: ln(p99 / SLO), positive when over.
 *
 * @param {{ traffic: Pick<TrialTraffic, 'latency_ms' | 'success_ratio' | 'achieved_rps'>, load: { rate_rps: number | null } }} record
 * @param {Slo} slo
 * @returns {number} within -3 and 3
 */
export function scoreOf({ traffic, load }, slo) {
  const p99_ms = traffic.latency_ms?.p99 ?? Number.POSITIVE_INFINITY
  const score = Math.max(-MAX_SCORE, Math.min(MAX_SCORE, Math.log(p99_ms / slo.p99_ms)))
  const keptUp = traffic.achieved_rps >= KEPT_UP_RATIO * Number(load.rate_rps)
  return traffic.success_ratio >= slo.success_ratio && keptUp ? score : Math.max(score, OTHER_FAILURE)
}
