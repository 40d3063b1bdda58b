import { count, milliseconds } from '../../report/format.js'
import { CORE_FULL_RATIO, ERROR_SHARE, NOTHING } from './finding.js'

/** @import { Detect } from './finding.js' */

/** Less on the way is no distance worth mentioning. */
const NETWORK_MS = 20

/** Part of the latency that passed neither in the service nor in the generator. */
const NETWORK_SHARE = 0.5

/** @type {Detect} */
export function rateLimit({ traffic }) {
  const refused = traffic.status[429] ?? 0
  if (refused === 0) return NOTHING
  return {
    reach: refused / traffic.planned / ERROR_SHARE,
    evidence: [
      `${count(refused)} of ${count(traffic.planned)} requests were answered 429; ${count(Math.round(traffic.goodput_rps))}/s were let through`,
    ],
  }
}

/** @type {Detect} */
export function acceptQueue({ settings, traffic, probes }) {
  const { listen_overflows = 0, listen_drops = 0, accept_queue_max = 0 } = probes.kernel
  const lost = Math.max(listen_overflows, listen_drops)
  if (lost === 0) return NOTHING
  const backlog = settings.LISTEN_BACKLOG ? ` (LISTEN_BACKLOG=${settings.LISTEN_BACKLOG})` : ''
  return {
    reach: lost / traffic.planned / ERROR_SHARE,
    evidence: [
      `the kernel turned ${count(lost)} connections away from a full accept queue${backlog}; up to ${count(accept_queue_max)} were seen waiting in it`,
    ],
  }
}

/** @type {Detect} */
export function network({ traffic, probes }) {
  const { in_flight_mean, elu_ratio = 0 } = probes.api
  const { retransmits = 0, segments_sent = 0 } = probes.kernel
  const mean_ms = (traffic.ok_latency_ms ?? traffic.latency_ms)?.mean
  if (in_flight_mean === undefined || !mean_ms || traffic.achieved_rps === 0) return NOTHING
  // Where the event loop is full, what it has not read yet waits in its sockets: that is not the way.
  if (elu_ratio >= CORE_FULL_RATIO) return NOTHING
  // Little's law: what is inside, by what comes out, is the time inside.
  const inside_ms = (in_flight_mean / traffic.achieved_rps) * 1000
  const queued_ms = traffic.queued_ms?.mean ?? 0
  const outside_ms = Math.max(0, mean_ms - queued_ms - inside_ms)
  return {
    reach: (outside_ms / (mean_ms - queued_ms) / NETWORK_SHARE) * Math.min(1, outside_ms / NETWORK_MS),
    evidence: [
      `of ${milliseconds(mean_ms - queued_ms)} from sending to answer, on the average, ${milliseconds(inside_ms)} passed in the service`,
      `${count(retransmits)} of ${count(segments_sent)} segments were sent again`,
    ],
  }
}
