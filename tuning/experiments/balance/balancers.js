import tdigest from 'tdigest'

/**
 * The strategies that choose the endpoint of the next request, in the running proxy and in the simulation.
 * @type {Record<Strategy, (endpoints: number, parameters: Parameters) => Balancer>}
 * @typedef {'round-robin' | 'adaptive'} Strategy
 * @typedef {{ endpoint: number, latency_ms: number, status: number }} Answer
 * @typedef {{ choose: () => number, answered: (answer: Answer, method?: string) => Seen | null }} Balancer answered: returns what it has seen
 * @typedef {ReturnType<typeof seenWith>} Seen
 * @typedef {typeof PUBLISHED_PARAMETERS} Parameters
 * @typedef {ReturnType<typeof createState>} State
 * @typedef {InstanceType<typeof tdigest.TDigest> & { n: number }} Digest n: number of values so far, which its types leave out
 */
export const BALANCERS = {
  'round-robin': (endpoints) => {
    let next = 0
    return { choose: () => next++ % endpoints, answered: () => null }
  },
  adaptive: (endpoints, parameters) => {
    let state = createState(endpoints)
    /** Latencies by method. @type {Map<string, Digest>} */
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
        const seen = seenWith(own, answer.latency_ms)
        state = observe(state, answer, seen, parameters)
        return seen
      },
    }
  },
}

/**
 * Adds a latency to a T-Digest (Dunning & Ertl, "Computing Extremely Accurate Quantiles Using t-Digests"), which gives quantiles
 * of any number of samples in little memory.
 * @param {Digest} digest @param {number} latency_ms
 */
export function seenWith(digest, latency_ms) {
  digest.push(latency_ms)
  const [median_ms, p95_ms] = digest.percentile([0.5, 0.95])
  return { samples: digest.n, median_ms, p95_ms }
}

/**
 * The published adaptive algorithm (the Zeus RPC load balancer). The publication's text has the three factors; the ranks, the number
 * of samples and the percentiles come from its code (code_url in published/balance.json), and so, from a version to which we have no
 * link, do the faster decays of large scores. Every endpoint begins with score 1, and the lowest score is chosen. An answer
 * multiplies the score of its endpoint: by a small number if it was faster than the median of all, by a larger one if it was slower,
 * by a far larger one if it was an error. With each request, one score above 1 decays, so that an abandoned endpoint is tried again.
 *
 * factor is added to the rank of a success, error_factor to the rank of an error; nothing is scored before min_samples.
 */
export const PUBLISHED_PARAMETERS = { factor: 0.52, error_factor: 3, decay: 0.95, min_samples: 20 }

const RANKS = { fast: 0.5, middling: 0.75, slow: 1 }

/** Large scores decay faster. */
const FASTER = [
  { above: 10_000, decay: 0.8 },
  { above: 1_000, decay: 0.9 },
  { above: 100, decay: 0.92 },
]

/** turn: the endpoint that decays next; first: the endpoint preferred among equal scores. @param {number} size */
export function createState(size) {
  return { scores: /** @type {number[]} */ (Array(size).fill(1)), turn: 0, first: 0 }
}

/** The endpoint of the next request, and the state after it. @param {State} state @param {Parameters} parameters */
export function choose(state, parameters) {
  const decayed = decay(state, parameters)
  const { scores, first } = decayed
  const endpoint = inTurn(scores, first).reduce((best, other) => (scores[other] < scores[best] ? other : best))
  return { endpoint, state: { ...decayed, first: (first + 1) % scores.length } }
}

/** Decays one score above 1, in turn. @param {State} state @param {Parameters} parameters @returns {State} */
export function decay(state, { decay }) {
  const { scores, turn } = state
  const endpoint = inTurn(scores, turn).find((i) => scores[i] > 1)
  if (endpoint === undefined) return state
  const faster = FASTER.find(({ above }) => scores[endpoint] > above)?.decay ?? 1
  const decayed = scores.with(endpoint, scores[endpoint] * Math.min(decay, faster))
  return { ...state, scores: decayed, turn: (endpoint + 1) % scores.length }
}

/** All endpoints, beginning with `first`. @param {number[]} scores @param {number} first */
function inTurn(scores, first) {
  return scores.map((_, i) => (first + i) % scores.length)
}

/**
 * The state after an answer; seen: latencies of the same method so far, including this one.
 * @param {State} state @param {Answer} answer @param {Seen} seen @param {Parameters} parameters @returns {State}
 */
export function observe(state, { endpoint, latency_ms, status }, seen, { factor, error_factor, min_samples }) {
  if (seen.samples < min_samples) return state
  const slowness = latency_ms > seen.p95_ms ? RANKS.slow : RANKS.middling
  const rank = latency_ms < seen.median_ms ? RANKS.fast : slowness
  const score = state.scores[endpoint] * (rank + (status >= 400 ? error_factor : factor))
  return { ...state, scores: state.scores.with(endpoint, score) }
}
