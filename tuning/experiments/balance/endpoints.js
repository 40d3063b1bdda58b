/**
 * An endpoint, real or simulated: the share of answers from its cache, the delay added to each answer, and the share of
 * immediate errors. An endpoint that fails answers everything with errors for a while, health checks included.
 * @typedef {typeof PLAIN} Endpoint
 */

/** An ordinary endpoint. */
export const PLAIN = { name: '', cached_ratio: 0.5, extra_ms: 0, error_ratio: 0, fails: false }

/** Latencies of cached and of uncached calls, as published. */
const CACHED_MS = { from: 50, to: 120 }
const COLD_MS = { from: 250, to: 600 }

/** Errors come at once, so that the endpoint looks the fastest to a balancer that only counts requests in flight. */
const ERROR_MS = { from: 2, to: 5 }

const USUAL = [{ name: 'cached', cached_ratio: 0.9 }, { name: 'cold', cached_ratio: 0 }, { name: 'half-cached' }]

/**
 * Endpoints that are uneven by design: mostly cached, cold and half-cached in turn; then slow ones, one that errs now and then,
 * and one that fails and recovers.
 * @param {number} count @param {{ count: number, extra_ms: number }} slow @returns {Endpoint[]}
 */
export function unevenEndpoints(count, slow) {
  const endpoints = [
    ...Array.from({ length: count - slow.count - 2 }, (_, i) => USUAL[i % USUAL.length]),
    ...Array.from({ length: slow.count }, () => ({ name: 'slow', extra_ms: slow.extra_ms })),
    { name: 'erring', error_ratio: 0.2 },
    { name: 'recovering', fails: true },
  ]
  return endpoints.map((endpoint, i) => {
    const number = endpoints.slice(0, i + 1).filter(({ name }) => name === endpoint.name).length
    return { ...PLAIN, ...endpoint, name: number === 1 ? endpoint.name : `${endpoint.name}-${number}` }
  })
}

/** Equal endpoints with everything cached; the last one fails for a while. @param {number} count @returns {Endpoint[]} */
export function evenEndpoints(count) {
  return Array.from({ length: count }, (_, i) => {
    const fails = i === count - 1
    return { ...PLAIN, name: fails ? 'failing' : `healthy-${i + 1}`, cached_ratio: 1, fails }
  })
}

/** An endpoint that answers at once, so that only the path to it takes time. @type {Endpoint[]} */
export const INSTANT = [{ ...PLAIN, name: 'instant', cached_ratio: 1, extra_ms: -CACHED_MS.to }]

/** Draws one answer; a latency of 0 means at once. @param {Endpoint} endpoint @param {{ failing: boolean, random: () => number }} moment */
export function answerOf({ cached_ratio, extra_ms, error_ratio }, { failing, random }) {
  // Every answer draws three numbers, so that all strategies meet the same sequence.
  const [fate, cache, place] = [random(), random(), random()]
  if (failing || fate < error_ratio) return { status: 503, latency_ms: within(ERROR_MS, place) }
  const latency_ms = within(cache < cached_ratio ? CACHED_MS : COLD_MS, place) + extra_ms
  return { status: 200, latency_ms: Math.max(0, latency_ms) }
}

/** @param {{ from: number, to: number }} range @param {number} place in [0, 1) */
function within({ from, to }, place) {
  return from + place * (to - from)
}
