import { readFileSync } from 'node:fs'
import { seededRandom } from '../../../load/system/random.js'
import { quantilesOf, simulation } from './simulate.js'
import { worlds } from './worlds.js'

/** @import { BalancePlan } from './plan.js' */

export const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/balance.json', import.meta.url), 'utf8'))

export const QUANTILES = /** @type {const} */ (['p25_ms', 'p50_ms', 'p75_ms', 'p95_ms'])

/** Round robins of as few samples as the published one. */
const DRAWS = 2000
const LEAST_GAIN = 0.001

/** @typedef {Record<typeof QUANTILES[number], number>} Quantiles */

/** Adaptive by round robin; below 1: adaptive is faster. @param {Quantiles} slow @param {Quantiles} fast */
export function gainsOf(slow, fast) {
  return /** @type {Quantiles} */ (Object.fromEntries(QUANTILES.map((name) => [name, fast[name] / slow[name]])))
}

/** The published shape: faster by more than a thousandth at all four. @param {Quantiles} gains */
export function allLower(gains) {
  return QUANTILES.every((name) => gains[name] < 1 - LEAST_GAIN)
}

/**
 * Every made-up world, under both strategies.
 *
 * @param {Pick<BalancePlan, 'endpoints' | 'slow' | 'samples' | 'workers' | 'parameters' | 'mix'>} plan
 * @param {AbortSignal} signal
 *
 * @typedef {Awaited<ReturnType<typeof simulateAll>>} Simulation
 */
export async function simulateAll({ endpoints, slow, samples, workers, parameters, mix: { seed } }, signal) {
  const found = []
  for (const count of workers) {
    for (const world of worlds(endpoints, slow)) {
      const options = { world, samples, workers: count, parameters, seed }
      const round_robin = await simulation({ ...options, strategy: 'round-robin' }, signal)
      const adaptive = await simulation({ ...options, strategy: 'adaptive' }, signal)
      const gains = gainsOf(round_robin, adaptive)
      found.push({ world: world.name, about: world.about, workers: count, round_robin, adaptive, gains })
    }
  }
  return { worlds: found, few: fewSamples(seed) }
}

/**
 * The role of chance in a round robin of 20 samples: samples of that size are drawn repeatedly from a distribution through the
 * published quantiles and compared with it. How often do they look slower at all four quantiles, and how often by as much as
 * was published?
 *
 * @param {number} seed
 */
export function fewSamples(seed) {
  const random = seededRandom(seed)
  const { round_robin, adaptive, round_robin_samples: samples } = PUBLISHED
  const published = gainsOf(round_robin, adaptive)
  const draws = Array.from({ length: DRAWS }, () => {
    return gainsOf(quantilesOf(Array.from({ length: samples }, () => publishedAt(random()))), round_robin)
  })
  const spread = QUANTILES.map((name) => {
    const { p25_ms, p75_ms } = quantilesOf(draws.map((gains) => gains[name]))
    return [name, { p25: p25_ms, p75: p75_ms }]
  })
  const as = draws.filter((gains) => QUANTILES.every((name) => gains[name] <= published[name]))
  return {
    samples,
    draws: DRAWS,
    all_lower_ratio: draws.filter(allLower).length / DRAWS,
    as_published_ratio: as.length / DRAWS,
    half_of_draws: Object.fromEntries(spread),
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
