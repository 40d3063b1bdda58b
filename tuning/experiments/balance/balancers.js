import { choose, createState, observe } from './adaptive.js'
import { Latencies } from './digest.js'

/** @import { Parameters } from './adaptive.js' */

/**
 * Who gets the next request: round robin, or the published adaptive algorithm, in the proxy that runs and in the simulation.
 *
 * @type {Record<Strategy, (endpoints: number, parameters: Parameters) => Balancer>}
 *
 * @typedef {'round-robin' | 'adaptive'} Strategy
 *
 * @typedef {object} Balancer
 * @property {() => number} choose the endpoint of the next request
 * @property {(answer: { endpoint: number, latency_ms: number, status: number }, method?: string) => void} answered
 * @property {() => object} state what it has learned
 */
export const BALANCERS = {
  'round-robin': (endpoints) => {
    let next = 0
    return { choose: () => next++ % endpoints, answered: () => {}, state: () => ({ next }) }
  },
  adaptive: (endpoints, parameters) => {
    let state = createState(endpoints)
    /** A digest for each method. @type {Map<string, Latencies>} */
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
