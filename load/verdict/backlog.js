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
  const { looks, every_s } = looksOf({ load, traffic }, slo)
  if (looks.length < LEAST_LOOKS) return null
  const n = looks.length
  const slopes = new Float64Array((n * (n - 1)) / 2)
  let count = 0
  for (let j = 1; j < n; j++) {
    for (let i = 0; i < j; i++) slopes[count++] = (looks[j] - looks[i]) / ((j - i) * every_s)
  }
  const spread = Z * Math.sqrt((n * (n - 1) * (2 * n + 5)) / 18)
  // The lower bound is above 0 if more slopes are: only then do they have to be sorted.
  const falling = slopes.filter((slope) => !(slope > 0)).length
  if (falling > Math.max(0, Math.floor((count - spread) / 2))) return null
  slopes.sort()
  const share = slopes[Math.floor(count / 2)] / Number(load.rate_rps)
  return share >= LEAST_GROWTH ? { share, first: looks[0], last: looks[n - 1] } : null
}

/**
 * Whether a trial was too short to judge: its responses took so long that too few samples are left to tell a slow service from a
 * growing queue. Pure. If the SLO accepts so many timeouts that p99 is one of them, p99 does not say how long responses take.
 * @param {Pick<TrialRecord, 'load' | 'traffic'>} trial @param {Slo} slo
 */
export function isTooShort(trial, slo) {
  const { looks, all } = looksOf(trial, slo)
  if (Number(trial.traffic.latency_ms?.p99) >= 1000 * trial.load.timeout_s) return false
  return all >= LEAST_LOOKS && looks.length < LEAST_LOOKS
}

/**
 * The samples of a trial's backlog that count; all: how many there are, 0 if they say nothing, whatever they are.
 * @param {Pick<TrialRecord, 'load' | 'traffic'>} trial @param {Slo} slo
 */
function looksOf({ load, traffic: { backlog = [], latency_ms } }, slo) {
  const bounds = latencyBounds(slo)
  const isAnySoonEnough = bounds.length > 0 && bounds.every(([, bound_ms]) => bound_ms >= load.timeout_s * 1000)
  if (!load.rate_rps || !latency_ms || isAnySoonEnough || load.arrivals === 'recorded')
    return { looks: [], all: 0, every_s: 0 }
  const every_s = load.duration_s / backlog.length
  const first = Math.max(0, Math.ceil(latency_ms.p99 / 1000 / every_s) - 1)
  return { looks: backlog.slice(first), all: backlog.length, every_s }
}
