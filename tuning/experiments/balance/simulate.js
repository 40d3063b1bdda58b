import { setImmediate } from 'node:timers/promises'
import { seededRandom } from '../../../load/system/random.js'
import { BALANCERS } from './balancers.js'
import { answerOf } from './endpoints.js'

/**
 * @import { Parameters } from './adaptive.js'
 * @import { Strategy } from './balancers.js'
 * @import { World } from './worlds.js'
 */

/** Between two looks at the signal. */
const ANSWERS = 5000

/**
 * A balancer in front of simulated endpoints, on a virtual clock: each worker sends its next request when it has its answer.
 * Quantiles are those of the successes.
 *
 * @param {{ strategy: Strategy, world: World, samples: number, workers: number, parameters: Parameters, seed: number }} options
 * @param {AbortSignal} [signal] ends it
 */
export async function simulation({ strategy, world, samples, workers, parameters, seed }, signal) {
  const random = seededRandom(seed)
  const { endpoints } = world
  const endpointAt = world.create(seed)
  const balancer = BALANCERS[strategy](endpoints, parameters)
  /** @type {number[]} */
  const latencies_ms = []
  const counts = Array(endpoints).fill(0)
  let [sent, now_ms] = [0, 0]
  const send = () => {
    const endpoint = balancer.choose()
    counts[endpoint]++
    sent++
    const answer = answerOf(endpointAt(endpoint, now_ms), { failing: false, random })
    return { endpoint, ...answer, ends_ms: now_ms + answer.latency_ms }
  }
  const inFlight = Array.from({ length: Math.min(workers, samples) }, send)
  for (let answered = 1; answered <= samples; answered++) {
    const next = inFlight.reduce((first, one) => (one.ends_ms < first.ends_ms ? one : first))
    now_ms = next.ends_ms
    if (next.status < 400) latencies_ms.push(next.latency_ms)
    balancer.answered(next)
    const i = inFlight.indexOf(next)
    if (sent < samples) inFlight[i] = send()
    else inFlight.splice(i, 1)
    if (answered % ANSWERS === 0) await setImmediate(undefined, { signal })
  }
  const error_ratio = (samples - latencies_ms.length) / samples
  return { ...quantilesOf(latencies_ms), error_ratio, shares: counts.map((count) => count / samples) }
}

/** @param {Iterable<number>} latencies_ms */
export function quantilesOf(latencies_ms) {
  const sorted = Float64Array.from(latencies_ms).sort()
  const at = (/** @type {number} */ share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]
  const mean_ms = sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length
  return { p25_ms: at(0.25), p50_ms: at(0.5), p75_ms: at(0.75), p95_ms: at(0.95), mean_ms }
}
