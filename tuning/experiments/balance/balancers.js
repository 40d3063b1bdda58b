import tdigest from 'tdigest'
import { choose, createState, observe } from './adaptive.js'

/** @import { Parameters, Seen } from './adaptive.js' */

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
    /** By method. @type {Map<string, Latencies>} */
    const latencies = new Map()
    return {
      choose: () => {
        const chosen = choose(state, parameters)
        state = chosen.state
        return chosen.endpoint
      },
      answered: (answer, method = 'GET') => {
        const own = latencies.get(method) ?? new Latencies()
        latencies.set(method, own)
        state = observe(state, answer, own.add(answer.latency_ms), parameters)
      },
      state: () => state,
    }
  },
}

/**
 * Latencies as a T-Digest (Dunning & Ertl, "Computing Extremely Accurate Quantiles Using t-Digests"): quantiles of any
 * number of samples in little memory.
 */
export class Latencies {
  #digest = new tdigest.TDigest()
  #samples = 0

  /** @param {number} latency_ms @returns {Seen} */
  add(latency_ms) {
    this.#digest.push(latency_ms)
    this.#samples++
    const [median_ms, p95_ms] = this.#digest.percentile([0.5, 0.95])
    return { samples: this.#samples, median_ms, p95_ms }
  }
}
