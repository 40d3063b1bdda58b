import { latencyBounds } from '../report/slo.js'

/** @import { Slo, TrialRecord } from '../report/record.js' */

/** Minimum growth, as a share of the offered rate, that a trial of a few seconds can distinguish from a fluctuating backlog. */
const LEAST_GROWTH = 0.01
/** One-sided quantile of the normal distribution at 99 %. */
const Z = 2.326
/** Minimum number of samples for a trend to be significant at that level. */
const LEAST_LOOKS = 8

/**
 * Detects a backlog that grows throughout a trial, so that a longer one would miss any SLO. Pure.
 *
 * The trend is the median slope between all pairs of samples (Sen 1968); its lower confidence bound follows from Kendall's test
 * at 99 %. Samples within the first p99 are ignored, since no response is due yet. Bounds as long as the timeout accept any answer.
 * In a log's rhythm, growth says nothing: by Little's law, what is in flight follows the arrivals.
 * @param {Pick<TrialRecord, 'load' | 'traffic'>} trial @param {Slo} slo
 * @returns {{ share: number, first: number, last: number } | null} null: no growth, or unknown; share: part of the rate
 *   that the target did not keep up with; first, last: requests due but not finished
 */
export function growingBacklog({ load, traffic }, slo) {
  const { rate_rps, duration_s, timeout_s } = load
  const { backlog = [], latency_ms } = traffic
  const bounds = latencyBounds(slo)
  const isAnySoonEnough = bounds.length > 0 && bounds.every(([, bound_ms]) => bound_ms >= timeout_s * 1000)
  if (!rate_rps || !latency_ms || isAnySoonEnough || load.arrivals === 'recorded') return null
  const every_s = duration_s / backlog.length
  const looks = backlog.slice(Math.max(0, Math.ceil(latency_ms.p99 / 1000 / every_s) - 1))
  if (looks.length < LEAST_LOOKS) return null
  const n = looks.length
  const slopes = new Float64Array((n * (n - 1)) / 2)
  let count = 0
  for (let j = 1; j < n; j++) {
    for (let i = 0; i < j; i++) slopes[count++] = (looks[j] - looks[i]) / ((j - i) * every_s)
  }
  slopes.sort()
  const share = slopes[Math.floor(slopes.length / 2)] / rate_rps
  const spread = Z * Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18)
  const least = slopes[Math.max(0, Math.floor((slopes.length - spread) / 2))]
  return share >= LEAST_GROWTH && least > 0 ? { share, first: looks[0], last: looks[n - 1] } : null
}
