/**
 * Whether a request is let in. Pure.
 *
 * The queue is bounded in time: by Little's law (L = lambda W) the last of `waiting` requests waits waiting / rate. A number
 * means seconds for a slow service and nothing for a fast one, so the bound on it only guards the memory.
 *
 * A refusal costs about as much as an insert. A service whose core is saturated could spend all its time on refusals, so their
 * number is limited; requests beyond that are let in, and wait.
 *
 * @param {Signals} signals
 * @param {Limits} limits
 * @returns {{ shed: false } | { shed: true, limit: Limit, value: number }} value: what the signal was, in the limit's unit
 *
 * @typedef {object} Signals
 * @property {number} waiting requests that wait for their turn; those that are being served do not count
 * @property {number} rate_rps what the service gets done per second; Infinity: not known yet
 * @property {number} loop_delay_ms
 * @property {number} refusals how many more the service can afford for now
 *
 * @typedef {{ maxQueueRequests: number, maxQueueMs: number, maxLoopDelayMs: number }} Limits of the last two, 0: none
 * @typedef {'queue_requests' | 'queue_ms' | 'loop_delay_ms'} Limit
 */
export function admit(
  { waiting, rate_rps, loop_delay_ms, refusals },
  { maxQueueRequests, maxQueueMs, maxLoopDelayMs },
) {
  if (waiting >= maxQueueRequests) return { shed: true, limit: 'queue_requests', value: waiting }
  if (refusals <= 0) return ACCEPT
  if (maxLoopDelayMs > 0 && loop_delay_ms > maxLoopDelayMs) {
    return { shed: true, limit: 'loop_delay_ms', value: loop_delay_ms }
  }
  const wait_ms = (waiting / rate_rps) * 1000
  if (maxQueueMs > 0 && wait_ms > maxQueueMs) return { shed: true, limit: 'queue_ms', value: wait_ms }
  return ACCEPT
}

const ACCEPT = Object.freeze({ shed: false })

/** Of the core, for refusals, whatever else there is to do. */
const REFUSAL_SHARE = 0.05

/** CPU time of a refusal where too few requests tell what one costs. */
const USUAL_COST_S = 50e-6
const FEW = 10

/**
 * The refusals that a service can afford in a window: those that fit into the idle time of the last one, and a small share
 * of the rest. Pure.
 *
 * What a request costs depends on the machine, so it is taken from the last window. A refusal counts as
 * much as an insert, since both are mostly reading and writing.
 *
 * @param {{ seconds: number, utilization: number, handled: number }} window utilization of the event loop, 1: it never waited;
 *   handled: requests that were served or refused
 * @returns {number}
 */
export function affordableRefusals({ seconds, utilization, handled }) {
  const cost_s = handled < FEW ? USUAL_COST_S : (utilization * seconds) / handled
  return Math.floor(((1 - utilization + REFUSAL_SHARE) * seconds) / cost_s)
}

/** Weight of the newest window in the rate: after five windows, two thirds of what is known is from them. */
const NEWEST_WEIGHT = 0.2

/**
 * The rate at which a service gets things done, from one window to the next. A window in which nothing waited at some
 * moment shows the demand and not the ability, so it can only raise the known rate. Pure.
 *
 * @param {number} known_rps Infinity: nothing is known
 * @param {{ done: number, seconds: number, alwaysBusy: boolean }} window @returns {number}
 */
export function serviceRate(known_rps, { done, seconds, alwaysBusy }) {
  const seen_rps = done / seconds
  if (!alwaysBusy) return Math.max(known_rps, seen_rps)
  if (known_rps === Number.POSITIVE_INFINITY) return done > 0 ? seen_rps : known_rps
  return known_rps + NEWEST_WEIGHT * (seen_rps - known_rps)
}
