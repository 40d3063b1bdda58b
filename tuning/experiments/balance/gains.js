import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { seededRandom } from '../../../load/system/random.js'
import { quantilesOf, simulation } from './simulate.js'
import { worlds } from './worlds.js'

/**
 * @import { Simulated } from './simulate.js'
 * @import { BalancePlan } from './steps.js'
 */

export const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/balance.json', import.meta.url), 'utf8'))

export const QUANTILES = /** @type {const} */ (['p25_ms', 'p50_ms', 'p75_ms', 'p95_ms'])

/** Round robins of as few samples as the published one. */
const DRAWS = 2000

/**
 * Adaptive by round robin, at each quantile. Below 1: adaptive is faster.
 *
 * @typedef {Record<typeof QUANTILES[number], number>} Gains
 *
 * @typedef {object} SimulatedWorld
 * @property {string} world
 * @property {string} about
 * @property {number} workers
 * @property {Simulated} round_robin
 * @property {Simulated} adaptive
 * @property {Gains} gains
 */

/** @param {Gains} slow @param {Gains} fast @returns {Gains} */
export function gainsOf(slow, fast) {
  return /** @type {Gains} */ (Object.fromEntries(QUANTILES.map((name) => [name, fast[name] / slow[name]])))
}

/** The published shape: faster by more than a thousandth at all four. @param {Gains} gains */
export function allLower(gains) {
  return QUANTILES.every((name) => gains[name] < 1 - LEAST_GAIN)
}

const LEAST_GAIN = 0.001

/**
 * Every made-up world, under both strategies.
 *
 * @param {Pick<BalancePlan, 'endpoints' | 'slow' | 'samples' | 'workers' | 'parameters' | 'mix'>} plan
 * @param {AbortSignal} signal
 * @returns {Promise<Simulation>}
 *
 * @typedef {{ worlds: SimulatedWorld[], few: ReturnType<typeof fewSamples> }} Simulation
 */
export async function simulateAll({ endpoints, slow, samples, workers, parameters, mix }, signal) {
  const { seed } = mix
  const all = worlds(endpoints, slow)
  /** @type {SimulatedWorld[]} */
  const found = []
  for (const count of workers) {
    for (const world of all) {
      const options = { world, samples, workers: count, parameters, seed }
      const round_robin = await patiently(simulation({ ...options, strategy: 'round-robin' }), signal)
      const adaptive = await patiently(simulation({ ...options, strategy: 'adaptive' }), signal)
      const gains = gainsOf(round_robin, adaptive)
      found.push({ world: world.name, about: world.about, workers: count, round_robin, adaptive, gains })
    }
  }
  return { worlds: found, few: fewSamples(seed) }
}

/** @template T @param {Generator<undefined, T, undefined>} steps @param {AbortSignal} signal @returns {Promise<T>} */
async function patiently(steps, signal) {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await setImmediate(undefined, { signal })
  }
}

/**
 * What chance does to a round robin of 20 samples: so many are drawn again and again from a distribution through the
 * published quantiles, and compared with that distribution. How often does it look slower at all four, and how often by
 * as much as was published?
 *
 * @param {number} seed
 */
export function fewSamples(seed) {
  const random = seededRandom(seed)
  const { round_robin, adaptive, round_robin_samples: samples } = PUBLISHED
  const published = gainsOf(round_robin, adaptive)
  const draws = Array.from({ length: DRAWS }, () => {
    return gainsOf(quantilesOf(Float64Array.from({ length: samples }, () => publishedAt(random()))), round_robin)
  })
  const spread = QUANTILES.map((name) => {
    const sorted = quantilesOf(Float64Array.from(draws, (gains) => gains[name]))
    return [name, { p25: sorted.p25_ms, p75: sorted.p75_ms }]
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

/**
 * The published round robin at a share of its samples: straight lines through its quantiles, the first and the last of
 * them drawn out to the ends.
 *
 * @param {number} share 0 to 1
 * @returns {number} ms
 */
export function publishedAt(share) {
  const points = QUANTILES.map((name) => ({ share: Number(name.slice(1, -3)) / 100, ms: PUBLISHED.round_robin[name] }))
  const next = points.findIndex((point) => point.share >= share)
  const i = next === -1 ? points.length - 1 : Math.max(1, next)
  const [from, to] = [points[i - 1], points[i]]
  return from.ms + ((share - from.share) * (to.ms - from.ms)) / (to.share - from.share)
}
