import { seededRandom } from '../../../load/system/random.js'
import { BALANCERS } from './balancers.js'
import { answerOf } from './endpoints.js'

/**
 * @import { Parameters } from './adaptive.js'
 * @import { Strategy } from './balancers.js'
 * @import { World } from './worlds.js'
 */

/** Between two pauses. */
const ANSWERS = 5000

/**
 * A balancer in front of endpoints that are made up, with a clock that is made up: so many workers, each of which asks
 * when it has its answer. It pauses now and then, so that who waits for it can be stopped.
 *
 * @param {Options} options
 * @returns {Generator<undefined, Simulated, undefined>}
 *
 * @typedef {object} Options
 * @property {Strategy} strategy
 * @property {World} world
 * @property {number} samples
 * @property {number} workers requests under way at once
 * @property {Parameters} parameters
 * @property {number} seed
 *
 * @typedef {object} Simulated
 * @property {number} p25_ms of the successes, as the others
 * @property {number} p50_ms
 * @property {number} p75_ms
 * @property {number} p95_ms
 * @property {number} mean_ms
 * @property {number} error_ratio
 * @property {number[]} shares of the requests, per endpoint
 */
export function* simulation({ strategy, world, samples, workers, parameters, seed }) {
  const random = seededRandom(seed)
  const { endpoints, create } = world
  const endpointAt = create(seed)
  const balancer = BALANCERS[strategy](endpoints, parameters)
  const latencies_ms = new Float64Array(samples)
  const counts = Array(endpoints).fill(0)
  /** @type {(UnderWay | null)[]} */
  const underWay = Array(Math.min(workers, samples)).fill(null)
  let [sent, answered, errors, now_ms] = [0, 0, 0, 0]
  const send = () => {
    const endpoint = balancer.choose()
    counts[endpoint]++
    sent++
    const { latency_ms, status } = answerOf(endpointAt(endpoint, now_ms), { failing: false, random })
    return { endpoint, latency_ms, status, ends_ms: now_ms + latency_ms }
  }
  for (const i of underWay.keys()) underWay[i] = send()
  while (answered + errors < samples) {
    const i = nextOf(underWay)
    const answer = /** @type {UnderWay} */ (underWay[i])
    now_ms = answer.ends_ms
    if (answer.status < 400) latencies_ms[answered++] = answer.latency_ms
    else errors++
    balancer.answered(answer)
    underWay[i] = sent < samples ? send() : null
    if ((answered + errors) % ANSWERS === 0) yield
  }
  const found = quantilesOf(latencies_ms.subarray(0, answered))
  return { ...found, error_ratio: errors / samples, shares: counts.map((count) => count / samples) }
}

/** @typedef {{ endpoint: number, latency_ms: number, status: number, ends_ms: number }} UnderWay */

/** @param {Float64Array} latencies_ms is sorted in place */
export function quantilesOf(latencies_ms) {
  latencies_ms.sort()
  const at = (/** @type {number} */ share) => latencies_ms[Math.max(0, Math.ceil(share * latencies_ms.length) - 1)]
  const mean_ms = latencies_ms.reduce((sum, ms) => sum + ms, 0) / latencies_ms.length
  return { p25_ms: at(0.25), p50_ms: at(0.5), p75_ms: at(0.75), p95_ms: at(0.95), mean_ms }
}

/** The one that is answered next. @param {(UnderWay | null)[]} underWay */
function nextOf(underWay) {
  let first = -1
  let ends_ms = Number.POSITIVE_INFINITY
  for (const [i, one] of underWay.entries()) {
    if (one && one.ends_ms < ends_ms) {
      first = i
      ends_ms = one.ends_ms
    }
  }
  return first
}
