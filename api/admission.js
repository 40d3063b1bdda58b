/**
 * Decides whether to admit a request. Pure.
 *
 * The queue is bounded in time: by Little's law (L = lambda W), the last of `waiting` requests waits waiting / rate. The same
 * queue length costs seconds on a slow service and nothing on a fast one, so the limit on length only protects memory.
 *
 * A refusal costs about as much as an insert. A service with a saturated core could spend all its time on refusals, so their
 * number is limited; requests beyond that are admitted and wait.
 * @param {{ waiting: number, rate_rps: number, loop_delay_ms: number, refusals: number }} signals waiting: queued requests,
 *   excluding those being served; rate_rps: throughput of the service, Infinity: not known yet; refusals: how many more the
 *   service can afford for now
 * @param {Limits} limits
 * @returns {Limit | null} the limit that is exceeded; null: the request is admitted
 * @typedef {{ maxQueueRequests: number, maxQueueMs: number, maxLoopDelayMs: number }} Limits maxQueueMs and maxLoopDelayMs: 0 means no limit
 * @typedef {'queue_requests' | 'queue_ms' | 'loop_delay_ms'} Limit
 */
export function admit(
  { waiting, rate_rps, loop_delay_ms, refusals },
  { maxQueueRequests, maxQueueMs, maxLoopDelayMs },
) {
  if (waiting >= maxQueueRequests) return 'queue_requests'
  if (refusals <= 0) return null
  if (maxLoopDelayMs > 0 && loop_delay_ms > maxLoopDelayMs) return 'loop_delay_ms'
  return maxQueueMs > 0 && (waiting / rate_rps) * 1000 > maxQueueMs ? 'queue_ms' : null
}

/** Share of the core reserved for refusals, whatever the load. */
const REFUSAL_SHARE = 0.05

/** Assumed CPU time of a refusal if there were too few requests to measure it. */
const USUAL_COST_S = 50e-6
const FEW = 10

/**
 * Number of refusals that a service can afford in a window: as many as fit into the last window's idle time plus a small
 * share of the core, given the cost per request in that window. A refusal costs about as much as an insert, since both
 * consist mostly of socket reads and writes. The refusals of the last window count as used time, so refusals alone fill half of
 * a core at most. That is enough: idle time does not make them free, since each delays the database's answers that came in
 * the meantime. Pure.
 * @param {{ seconds: number, utilization: number, handled: number }} window utilization of the event loop, 1: never idle;
 *   handled: requests served or refused
 */
export function affordableRefusals({ seconds, utilization, handled }) {
  const cost_s = handled < FEW ? USUAL_COST_S : (utilization * seconds) / handled
  return Math.floor(((1 - utilization + REFUSAL_SHARE) * seconds) / cost_s)
}

/** Weight of the newest window in the rate: the last five windows together contribute two thirds. */
const NEWEST_WEIGHT = 0.2

/**
 * Updates the service rate after a window. If the queue was ever empty during the window, its rate shows demand, not
 * capacity, and can only raise the known rate. Pure.
 * @param {number} known_rps Infinity: not known yet
 * @param {{ done: number, seconds: number, alwaysBusy: boolean }} window
 */
export function serviceRate(known_rps, { done, seconds, alwaysBusy }) {
  const seen_rps = done / seconds
  if (!alwaysBusy) return Math.max(known_rps, seen_rps)
  if (known_rps === Number.POSITIVE_INFINITY) return done > 0 ? seen_rps : known_rps
  return known_rps + NEWEST_WEIGHT * (seen_rps - known_rps)
}
