import tdigest from 'tdigest'
import { choose, createState, observe } from './adaptive.js'

/** @import { Parameters } from './adaptive.js' */

/**
 * The strategies that choose the endpoint of the next request, in the running proxy and in the simulation.
 *
 * @type {Record<Strategy, (endpoints: number, parameters: Parameters) => Balancer>}
 *
 * @typedef {'round-robin' | 'adaptive'} Strategy
 * @typedef {{ endpoint: number, latency_ms: number, status: number }} Answer
 * @typedef {{ choose: () => number, answered: (answer: Answer, method?: string) => void, state: () => object }} Balancer
 *   state: what it has learned
 */
export const BALANCERS = {
  'round-robin': (endpoints) => {
    let next = 0
    return { choose: () => next++ % endpoints, answered: () => {}, state: () => ({ next }) }
  },
  adaptive: (endpoints, parameters) => {
    let state = createState(endpoints)
    /** By method. @type {Map<string, Digest>} */
    const latencies = new Map()
    return {
      choose: () => {
        const chosen = choose(state, parameters)
        state = chosen.state
        return chosen.endpoint
      },
      answered: (answer, method = 'GET') => {
        const own = latencies.get(method) ?? /** @type {Digest} */ (new tdigest.TDigest())
        latencies.set(method, own)
        state = observe(state, answer, seenWith(own, answer.latency_ms), parameters)
      },
      state: () => state,
    }
  },
}

/**
 * Adds a latency to a T-Digest (Dunning & Ertl, "Computing Extremely Accurate Quantiles Using t-Digests"), which gives quantiles
 * of any number of samples in little memory.
 *
 * @param {Digest} digest @param {number} latency_ms
 *
 * @typedef {InstanceType<typeof tdigest.TDigest> & { n: number }} Digest n: values so far, which its types leave out
 */
export function seenWith(digest, latency_ms) {
  digest.push(latency_ms)
  const [median_ms, p95_ms] = digest.percentile([0.5, 0.95])
  return { samples: digest.n, median_ms, p95_ms }
}
