import { count, milliseconds } from '../../report/format.js'
import { CORE_FULL_RATIO, finding, NOTHING, ofFailed } from './finding.js'

/** @import { Detect } from './finding.js' */

/** More resets than this for each connection that was ended in time have another cause. */
const RESETS_PER_END = 10

/** Network time below this is negligible. */
const NETWORK_MS = 20
/** Share of the latency spent in neither the service nor the generator. */
const NETWORK_SHARE = 0.5

/** Detects requests that ended in an error of the generator, which no SLO accepts. @param {string} key @param {(probes: any, settings: any) => string} why @returns {Detect} */
export function ofErrors(key, why) {
  return ({ traffic, probes, settings }) => {
    const errors = traffic.errors[key] ?? 0
    const ended = `${count(errors)} of ${count(traffic.planned)} requests ended in ${key}`
    return ofFailed(errors, traffic, null, ended, why(probes, settings))
  }
}

/**
 * Detects connections that the service closed as idle when a request was on its way. What arrives later than the end of the connection
 * is answered by a reset, so resets count as well, unless there are far more of them. A service that is gone closed nothing as idle.
 * @type {Detect}
 */
export function keepAliveRace({ settings, traffic }, slo) {
  const { 'server:closed-idle': ends = 0, 'server:reset': reset = 0, 'server:refused': refused = 0 } = traffic.errors
  if (refused > 0) return NOTHING
  const resets = reset > RESETS_PER_END * ends ? 0 : reset
  const idle_ms = settings.KEEP_ALIVE_TIMEOUT_MS
  const more = resets > 0 ? `, and ${count(resets)} in server:reset` : ''
  return ofFailed(
    ends && ends + resets,
    traffic,
    slo,
    `${count(ends)} of ${count(traffic.planned)} requests ended in server:closed-idle${more}`,
    `the service closes idle connections${idle_ms ? ` after ${count(Number(idle_ms))} ms` : ''}`,
  )
}

/** @type {Detect} */
export function rateLimit({ traffic }, slo) {
  const refused = traffic.status[429] ?? 0
  const let_through = `${count(Math.round(traffic.goodput_rps))}/s were let through`
  const answered = `${count(refused)} of ${count(traffic.planned)} requests were answered 429; ${let_through}`
  return ofFailed(refused, traffic, slo, answered)
}

/** Linux sends a segment that was turned away again, but no sooner than this (TCP_RTO_MIN), and a connection request after a second. */
const SENT_AGAIN_MS = 200

/**
 * Detects connections that did not fit into the accept queue. The kernel counts those of all services: if every answer came too soon for
 * any segment to have been sent again, others were meant.
 * @type {Detect}
 */
export function acceptQueue({ settings, traffic, probes }) {
  if (Number(traffic.latency_ms?.max) < SENT_AGAIN_MS && Object.keys(traffic.errors).length === 0) return NOTHING
  const { listen_overflows = 0, listen_drops = 0, accept_queue_max, somaxconn } = probes.kernel
  const { LISTEN_BACKLOG } = settings
  const lost = Math.max(listen_overflows, listen_drops)
  const isCut = somaxconn && somaxconn < Number(LISTEN_BACKLOG)
  const cut = isCut ? `, of which net.core.somaxconn allows ${somaxconn}` : ''
  const backlog = LISTEN_BACKLOG ? ` (LISTEN_BACKLOG=${LISTEN_BACKLOG}${cut})` : ''
  // Nobody looks at the listener of a service that only has a URL.
  const seen = accept_queue_max === undefined ? '' : `; up to ${count(accept_queue_max)} were seen waiting in it`
  const turned = `the kernel turned ${count(lost)} connections away from a full accept queue${backlog}${seen}`
  // A connection that was turned away tries again a second later: it is late rather than an error.
  return ofFailed(lost, traffic, null, turned)
}

/** @type {Detect} */
export function network({ traffic, probes }) {
  const { in_flight_mean, elu_ratio = 0 } = probes.api
  const { retransmits = 0, segments_sent = 0, tracking_drops = 0 } = probes.kernel
  const mean_ms = (traffic.ok_latency_ms ?? traffic.latency_ms)?.mean
  if (in_flight_mean === undefined || !mean_ms || traffic.achieved_rps === 0) return NOTHING
  // A saturated event loop leaves unread requests in its sockets; that wait is not network time.
  if (elu_ratio >= CORE_FULL_RATIO) return NOTHING
  // Little's law: time in the service = requests in flight / throughput.
  const inside_ms = (in_flight_mean / traffic.achieved_rps) * 1000
  const sent_ms = mean_ms - (traffic.queued_ms?.mean ?? 0)
  const outside_ms = Math.max(0, sent_ms - inside_ms)
  return finding(
    (outside_ms / sent_ms / NETWORK_SHARE) * Math.min(1, outside_ms / NETWORK_MS),
    `of ${milliseconds(sent_ms)} from sending to answer, on average, ${milliseconds(inside_ms)} passed in the service`,
    `${count(retransmits)} of ${count(segments_sent)} segments were sent again`,
    ...(tracking_drops > 0
      ? [`connection tracking dropped ${count(tracking_drops)} packets: its table was full (nf_conntrack_max)`]
      : []),
  )
}
