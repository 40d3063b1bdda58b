import { ephemeralPorts } from '../probes/facts.js'
import { highestP99 } from '../report/slo.js'
import { nofileOf } from '../system/machine.js'

/** @import { Entry, MixPlan, Plan, Slo } from '../report/record.js' */

/** Headroom over the mean from Little's law, since the number of requests in flight varies around it. */
const SPARE = 1.2
/** Minimum for low rates, where a few slow answers may overlap. Idle connections cost next to nothing. */
const LEAST = 64
/** Open files that a generator, or a service with the same limit, needs besides its connections. */
const OTHER_FILES = 128
/** Share of ports assumed to be free: other programs use some, and some are in TIME_WAIT. */
const USABLE_SHARE = 0.9
/** Number of dynamic ports if the system does not report its range (RFC 6335, section 6). */
const DYNAMIC_PORTS = 16_384

/**
 * Number of connections for an open-loop trial: as many as it needs, unless the plan pins the number or this machine cannot
 * open more. By Little's law (L = lambda W), a trial that meets its SLO has at most rate x p99 requests in flight on average; an entry
 * that may take longer than the others counts by its share of the requests. If the SLO is as long as the timeout, any answer counts,
 * however late, and a pinned number is part of the experiment, unless a search asks how much a service can take. A target with a
 * connection limit is never offered more: if all are busy, that is the target's limit. A replay needs as many as its busiest second
 * requires.
 * @param {Pick<Plan, 'connections' | 'connections_max' | 'target_connections_max' | 'slo' | 'slos' | 'timeout_s'> &
 *   { searches?: boolean, sides?: object, mix?: Pick<MixPlan, 'replay' | 'entries'> }} plan sides: of a comparison
 * @param {number} rate_rps
 */
export function connectionsFor(plan, rate_rps) {
  const { connections_max, target_connections_max = Number.POSITIVE_INFINITY, timeout_s } = plan
  const [pinned] = plan.connections
  const { slos = [plan.slo] } = plan
  const p99_ms = Math.max(...slos.map((slo) => highestP99(slo, timeout_s)))
  const mean_ms = Math.max(...slos.map((slo) => meanWithin(slo, plan.mix?.entries ?? [], timeout_s)))
  const { peak_rps, mean_rps } = plan.mix?.replay ?? { peak_rps: 1, mean_rps: 1 }
  const busiest_rps = rate_rps * Math.max(1, peak_rps / mean_rps)
  const asksHowMuch = plan.searches && !plan.sides
  if (!connections_max && p99_ms >= timeout_s * 1000 && !asksHowMuch) return { connections: pinned }
  const connections_needed = Math.ceil((SPARE * busiest_rps * mean_ms) / 1000)
  if (!connections_max) return { connections: pinned, connections_needed }
  const connections = Math.min(connections_max, target_connections_max, Math.max(LEAST, connections_needed))
  return { connections, connections_needed }
}

/** The longest mean time (ms) within an SLO: its p99, and what entries may take beyond it. @param {Slo} slo @param {Entry[]} entries @param {number} timeout_s */
function meanWithin({ by_entry = {}, ...slo }, entries, timeout_s) {
  const p99_ms = highestP99(slo, timeout_s)
  const weights = entries.reduce((sum, { weight }) => sum + weight, 0)
  const beyond_ms = entries.map(({ name, weight }) => {
    const { success_ratio, ...bounds } = by_entry[name] ?? {}
    const own_ms = Object.keys(bounds).length > 0 ? highestP99(bounds, timeout_s) : 0
    return (weight / weights) * Math.max(0, own_ms - p99_ms)
  })
  return beyond_ms.reduce((sum, ms) => sum + ms, p99_ms)
}

/**
 * Maximum number of connections the generator can open: each uses an open file and a port of its local address. Load hosts
 * are assumed to have this machine's limits.
 * @param {{ load_hosts?: string[], local_addresses?: string[] }} origin
 */
export function mostConnections({ load_hosts = [], local_addresses = [] }) {
  const ports = Math.floor((ephemeralPorts() ?? DYNAMIC_PORTS) * USABLE_SHARE)
  const files = (nofileOf('self') ?? Number.POSITIVE_INFINITY) - OTHER_FILES
  const ofHost = Math.min(files, ports * Math.max(1, local_addresses.length))
  return Math.max(1, ofHost) * Math.max(1, load_hosts.length)
}
