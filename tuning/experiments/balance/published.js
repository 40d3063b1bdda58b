import { readFileSync } from 'node:fs'
import { seededRandom } from '../../../load/system/random.js'

export const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/balance.json', import.meta.url), 'utf8'))

/** @typedef {Record<typeof QUANTILES[number], number>} Quantiles */
export const QUANTILES = /** @type {const} */ (['p25_ms', 'p50_ms', 'p75_ms', 'p95_ms'])

/** Number of drawn round robins, each with as few samples as the published one. */
const DRAWS = 2000
const LEAST_GAIN = 0.001

/** @param {Iterable<number>} latencies_ms */
export function quantilesOf(latencies_ms) {
  const sorted = Float64Array.from(latencies_ms).sort()
  const at = (/** @type {number} */ share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
  const mean_ms = sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length
  return { p25_ms: at(0.25), p50_ms: at(0.5), p75_ms: at(0.75), p95_ms: at(0.95), mean_ms }
}

/** Adaptive divided by round robin: below 1, adaptive is faster. @param {Quantiles} round_robin @param {Quantiles} adaptive */
export function gainsOf(round_robin, adaptive) {
  const gains = QUANTILES.map((name) => [name, adaptive[name] / round_robin[name]])
  return /** @type {Quantiles} */ (Object.fromEntries(gains))
}

/** The published shape: faster by more than a thousandth at all four quantiles. @param {Quantiles} gains */
export function allLower(gains) {
  return QUANTILES.every((name) => gains[name] < 1 - LEAST_GAIN)
}

const MS_PER_H = 3_600_000

/**
 * What the published claims are about, computed for a pair of strategies. requests_ratio: share of the requests that adaptive saves if
 * clients repeat each one until it succeeds, which takes 1 / (1 - error_ratio) requests.
 * @typedef {{ mean_ms: number, error_ratio: number }} Served
 * @param {Served} round_robin @param {Served} adaptive
 */
export function claimsOf(round_robin, adaptive) {
  const saved = PUBLISHED.claims.saved.map((/** @type {{ requests: number }} */ { requests }) => {
    return ((round_robin.mean_ms - adaptive.mean_ms) * requests) / MS_PER_H
  })
  return {
    gain_ratio: 1 - adaptive.mean_ms / round_robin.mean_ms,
    /** Summed over all requests, as in the claims. */
    saved_h: /** @type {number[]} */ (saved),
    requests_ratio: 1 - (1 - round_robin.error_ratio) / (1 - adaptive.error_ratio),
  }
}

/**
 * The role of chance in a round robin of 20 samples: samples of that size are drawn repeatedly from a distribution through the
 * published quantiles. How often do they look slower than it at all four quantiles, and how often by the published gain or more?
 * @param {number} seed
 */
export function fewSamples(seed) {
  const random = seededRandom(seed)
  const { round_robin, adaptive, round_robin_samples: samples } = PUBLISHED
  const published = gainsOf(round_robin, adaptive)
  const draws = Array.from({ length: DRAWS }, () => {
    return gainsOf(quantilesOf(Array.from({ length: samples }, () => publishedAt(random()))), round_robin)
  })
  const ratioOf = (/** @type {(gains: Quantiles) => boolean} */ is) => draws.filter(is).length / DRAWS
  return {
    samples,
    draws: DRAWS,
    all_lower_ratio: ratioOf(allLower),
    as_published_ratio: ratioOf((gains) => QUANTILES.every((name) => gains[name] <= published[name])),
    /** Error of the median that 95 % of the draws do not exceed. */
    median_error_ratio: quantilesOf(draws.map(({ p50_ms }) => Math.abs(p50_ms - 1))).p95_ms,
  }
}

/** The published round robin's latency (ms), on straight lines through its quantiles. @param {number} share of the samples */
export function publishedAt(share) {
  const points = QUANTILES.map((name) => ({ share: Number(name.slice(1, -3)) / 100, ms: PUBLISHED.round_robin[name] }))
  const next = points.findIndex((point) => point.share >= share)
  const i = next === -1 ? points.length - 1 : Math.max(1, next)
  const [from, to] = [points[i - 1], points[i]]
  return from.ms + ((share - from.share) * (to.ms - from.ms)) / (to.share - from.share)
}
