import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { quantilesOf, simulate, simulation } from './simulate.js'
import { worlds } from './worlds.js'

export const PUBLISHED = JSON.parse(readFileSync(new URL('../published/balance.json', import.meta.url), 'utf8'))

export const QUANTILES = /** @type {const} */ (['p25_ms', 'p50_ms', 'p75_ms', 'p95_ms'])

/** Round robin as it was published, on so few samples, so many times over. */
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
 * @property {import('./simulate.js').Simulated} round_robin
 * @property {import('./simulate.js').Simulated} adaptive
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
 * @param {Pick<import('./steps.js').BalancePlan, 'endpoints' | 'slow' | 'samples' | 'workers' | 'parameters' | 'mix'>} plan
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
  return { worlds: found, few: fewSamples(all[0], seed, parameters) }
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
 * Where there is nothing to gain, how often does a round robin of 20 samples look slower than another of 20,000 all the
 * same?
 *
 * @param {import('./worlds.js').World} world
 * @param {number} seed
 * @param {import('./adaptive.js').Parameters} parameters
 */
function fewSamples(world, seed, parameters) {
  const options = { world, workers: 1, parameters, strategy: /** @type {const} */ ('round-robin') }
  const many = simulate({ ...options, samples: DRAWS * PUBLISHED.round_robin_samples, seed })
  const draws = Array.from({ length: DRAWS }, (_, i) => {
    return gainsOf(simulate({ ...options, samples: PUBLISHED.round_robin_samples, seed: seed + 1 + i }), many)
  })
  const spread = QUANTILES.map((name) => {
    const sorted = quantilesOf(Float64Array.from(draws, (gains) => gains[name]))
    return [name, { p25: sorted.p25_ms, p75: sorted.p75_ms }]
  })
  return {
    world: world.name,
    samples: PUBLISHED.round_robin_samples,
    all_lower_ratio: draws.filter(allLower).length / DRAWS,
    half_of_draws: Object.fromEntries(spread),
  }
}
