/**
 * What an endpoint is: how long its answers take, and how often they are errors. The same for the endpoints that run and
 * for those that are simulated.
 *
 * @typedef {object} Endpoint
 * @property {string} name
 * @property {number} cached_ratio share of the answers that come from its cache
 * @property {number} extra_ms on top of every answer
 * @property {number} error_ratio share of the answers that are errors, at once
 * @property {boolean} fails for a while: every answer is an error then, and its health check says so
 *
 * @typedef {{ count: number, extra_ms: number }} Slow
 */

/** As published: a cached call, and one that is not. */
const CACHED_MS = { from: 50, to: 120 }
export const COLD_MS = { from: 250, to: 600 }

/** An error comes at once: to who counts only what is under way, such an endpoint looks like the fastest. */
const ERROR_MS = { from: 2, to: 5 }
const ERROR_RATIO = 0.2

const MOSTLY_CACHED = 0.9
const HALF_CACHED = 0.5

/** One that is slow, errs or recovers each, and one that does nothing of it. */
export const MIN_ENDPOINTS = 4

/**
 * Uneven by design: one whose answers are mostly cached, one that has them cold, and so on; then those that are slow, one
 * that errs now and then, and one that fails and recovers.
 *
 * @param {number} count
 * @param {Slow} slow
 * @returns {Endpoint[]}
 */
export function unevenEndpoints(count, slow) {
  const plain = { extra_ms: 0, error_ratio: 0, fails: false, cached_ratio: HALF_CACHED }
  const kinds = [
    { ...plain, name: 'cached', cached_ratio: MOSTLY_CACHED },
    { ...plain, name: 'cold', cached_ratio: 0 },
    { ...plain, name: 'half-cached' },
  ]
  const usual = count - slow.count - 2
  return [
    ...Array.from({ length: usual }, (_, i) => numbered(kinds[i % kinds.length], Math.floor(i / kinds.length))),
    ...Array.from({ length: slow.count }, (_, i) => numbered({ ...plain, name: 'slow', extra_ms: slow.extra_ms }, i)),
    { ...plain, name: 'erring', error_ratio: ERROR_RATIO },
    { ...plain, name: 'recovering', fails: true },
  ]
}

/** All alike, everything cached; the last one fails for a while. @param {number} count @returns {Endpoint[]} */
export function evenEndpoints(count) {
  return Array.from({ length: count }, (_, i) => {
    const fails = i === count - 1
    return { name: fails ? 'failing' : `healthy-${i + 1}`, cached_ratio: 1, extra_ms: 0, error_ratio: 0, fails }
  })
}

/** One that answers at once: what is left is the way to it. @returns {Endpoint[]} */
export function instantEndpoint() {
  return [{ name: 'instant', cached_ratio: 1, extra_ms: -CACHED_MS.to, error_ratio: 0, fails: false }]
}

/**
 * One answer, drawn.
 *
 * @param {Endpoint} endpoint
 * @param {{ failing: boolean, random: () => number }} moment
 * @returns {{ status: number, latency_ms: number }} 0: at once
 */
export function answerOf({ cached_ratio, extra_ms, error_ratio }, { failing, random }) {
  // Each answer takes as many numbers as every other, so that two strategies meet the same ones.
  const [fate, cache, place] = [random(), random(), random()]
  if (failing || fate < error_ratio) return { status: 503, latency_ms: within(ERROR_MS, place) }
  const latency_ms = within(cache < cached_ratio ? CACHED_MS : COLD_MS, place) + extra_ms
  return { status: 200, latency_ms: Math.max(0, latency_ms) }
}

/** Of requests that are spread evenly, none of which waits. @param {Endpoint[]} endpoints */
export function meanLatency_ms(endpoints) {
  const means = endpoints.map(({ cached_ratio, extra_ms, error_ratio }) => {
    const ok_ms = cached_ratio * middleOf(CACHED_MS) + (1 - cached_ratio) * middleOf(COLD_MS) + extra_ms
    return error_ratio * middleOf(ERROR_MS) + (1 - error_ratio) * ok_ms
  })
  return means.reduce((sum, ms) => sum + ms, 0) / means.length
}

/** @param {{ from: number, to: number }} range */
function middleOf(range) {
  return within(range, 0.5)
}

/** @param {{ from: number, to: number }} range @param {number} place in [0, 1) */
function within({ from, to }, place) {
  return from + place * (to - from)
}

/** @param {Endpoint} endpoint @param {number} i */
function numbered(endpoint, i) {
  return i === 0 ? endpoint : { ...endpoint, name: `${endpoint.name}-${i + 1}` }
}
