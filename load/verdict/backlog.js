/** @import { Slo, TrialRecord } from '../report/record.js' */

/** Smallest growth, as a share of the offered rate, that a trial of seconds can tell from a backlog that comes and goes. */
const LEAST_GROWTH = 0.01
/** One-sided quantile of the normal distribution at 99 %. */
const Z = 2.326
/** With fewer looks, no trend is significant at that level. */
const LEAST_LOOKS = 8

/**
 * Whether a trial's backlog grew from its beginning to its end: then the target does not sustain the rate, and a longer trial
 * would miss any SLO. Pure.
 *
 * The trend is the median of the slopes between all pairs of looks (Sen 1968), its lower bound the one that belongs to
 * Kendall's test at 99 %. Looks within the first p99 are left out: until then, requests come and none is due to be answered.
 * Where the SLO is as long as the timeout, only answers are asked for, however late.
 *
 * @param {Pick<TrialRecord, 'load' | 'traffic'>} trial @param {Slo} slo
 * @returns {{ share: number, first: number, last: number } | null} null: no, or it cannot be told; share: of the rate, that the target
 *   did not keep up with; first, last: requests that were due and not finished
 */
export function growingBacklog({ load, traffic }, { p99_ms }) {
  const { rate_rps, duration_s, timeout_s } = load
  const { backlog = [], latency_ms } = traffic
  if (!rate_rps || !latency_ms || p99_ms >= timeout_s * 1000) return null
  const every_s = duration_s / backlog.length
  const looks = backlog.slice(Math.max(0, Math.ceil(latency_ms.p99 / 1000 / every_s) - 1))
  if (looks.length < LEAST_LOOKS) return null
  const slopes = looks
    .flatMap((later, j) => looks.slice(0, j).map((earlier, i) => (later - earlier) / ((j - i) * every_s)))
    .sort((a, b) => a - b)
  const share = slopes[Math.floor(slopes.length / 2)] / rate_rps
  const n = looks.length
  const spread = Z * Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18)
  const least = slopes[Math.max(0, Math.floor((slopes.length - spread) / 2))]
  return share >= LEAST_GROWTH && least > 0 ? { share, first: looks[0], last: looks[n - 1] } : null
}
