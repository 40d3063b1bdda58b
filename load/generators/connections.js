import { ephemeralPorts } from '../probes/facts.js'
import { nofileOf } from '../system/machine.js'

/** @import { Plan, Slo } from '../report/record.js' */

/** Headroom over the mean that Little's law gives, since the number of requests in flight varies around it. */
const SPARE = 1.2
/** A floor for low rates, where a few slow answers may overlap. Idle connections cost next to nothing. */
const LEAST = 64
/** Open files needed for anything but connections, by the generator or by a service with the same limit. */
const OTHER_FILES = 128
/** Share of the ports that we count on: other programs take some, and some are in TIME_WAIT. */
const USABLE_SHARE = 0.9
/** Dynamic ports where the system does not tell its range (RFC 6335, section 6). */
const DYNAMIC_PORTS = 16_384

/**
 * How many connections a trial needs so that their number is never the reason why it fails. By Little's law (L = lambda W), a
 * trial that meets its SLO has at most rate x p99 requests in flight on average.
 *
 * @param {number} rate_rps @param {Slo} slo
 */
export function connectionsNeeded(rate_rps, { p99_ms }) {
  return Math.ceil((SPARE * rate_rps * p99_ms) / 1000)
}

/**
 * The connections of an open-loop trial: as many as it needs, unless the plan pins their number or this machine has no
 * room for more. Where the SLO is as long as the timeout, only answers are asked for, however late, and a pinned number is
 * part of what is measured. A target that takes only so many is not offered more: if they are all busy, it is the target's limit.
 *
 * @param {Pick<Plan, 'connections' | 'connections_max' | 'target_connections_max' | 'slo' | 'timeout_s'>} plan
 * @param {number} rate_rps
 */
export function connectionsFor(plan, rate_rps) {
  const {
    connections: [pinned],
    connections_max,
    target_connections_max = Number.POSITIVE_INFINITY,
    slo,
    timeout_s,
  } = plan
  if (!connections_max && slo.p99_ms >= timeout_s * 1000) return { connections: pinned }
  const connections_needed = Math.min(target_connections_max, connectionsNeeded(rate_rps, slo))
  const connections = connections_max
    ? Math.min(connections_max, target_connections_max, Math.max(LEAST, connections_needed))
    : pinned
  return { connections, connections_needed }
}

/**
 * How many connections the generator can open: each is an open file, and takes a port of its address. Load hosts are
 * assumed to have the limits of this machine.
 *
 * @param {{ load_hosts?: string[], local_addresses?: string[] }} origin
 */
export function mostConnections({ load_hosts = [], local_addresses = [] }) {
  const ports = Math.floor((ephemeralPorts() ?? DYNAMIC_PORTS) * USABLE_SHARE)
  const files = (nofileOf('self') ?? Number.POSITIVE_INFINITY) - OTHER_FILES
  const ofHost = Math.min(files, ports * Math.max(1, local_addresses.length))
  return Math.max(1, ofHost) * Math.max(1, load_hosts.length)
}
