import { apiFiles, backlog, freshPorts, generatorFiles, pool, ports } from './limits.js'
import { ceiling, cores, otherProcesses, pressure, quota, steal } from './machine.js'

/**
 * @import { LoadHost } from '../../generators/hosts/prepare.js'
 * @import { Ceiling } from './ceiling.js'
 */

/**
 * Would this machine spoil the measurement that is planned? Pure.
 *
 * @param {Facts} facts
 * @param {Planned} plan
 * @param {OfLoad[]} [hosts] that the load comes from, instead of this machine
 * @returns {Finding[]} one for each thing that was looked at
 */
export function preflight(facts, plan, hosts = []) {
  const service = [apiFiles(facts, plan), backlog(facts, plan), pool(facts, plan)]
  if (hosts.length > 0) return [...hosts.flatMap((host) => ofHost(facts, plan, host, hosts.length)), ...service]
  return [
    ...generator(facts, plan),
    ...service,
    cores(facts),
    quota(facts),
    steal(facts),
    otherProcesses(facts),
    pressure(facts),
    ceiling(facts, plan),
  ]
}

/** What limits a generator. @param {Facts} facts @param {Planned} plan */
function generator(facts, plan) {
  return [generatorFiles(facts, plan), ports(facts, plan), ...(plan.fresh_connections ? [freshPorts(facts, plan)] : [])]
}

/**
 * One of several hosts, with its share of the load.
 *
 * @param {Facts} facts
 * @param {Planned} plan
 * @param {OfLoad} host
 * @param {number} number of hosts
 */
function ofHost(facts, plan, { host, facts: own, share_ratio: given }, number) {
  const share_ratio = given ?? 1 / number
  const rate_rps = plan.rate_rps === null ? null : Math.ceil(plan.rate_rps * share_ratio)
  const share = { ...plan, rate_rps, connections: Math.ceil(plan.connections * share_ratio), loopback: false }
  return generator({ ...facts, ...own }, share).map((finding) => ({ ...finding, what: `${finding.what}, ${host}` }))
}

/** A finding as one sentence without its full stop, for a run's warnings. @param {Finding} finding */
export function sentenceOf({ what, value, why, mend }) {
  return `${what}: ${value}; ${why}; ${mend}`
}

/**
 * @typedef {object} Finding
 * @property {string} check stable name
 * @property {'ok' | 'warn' | 'bad' | 'unseen'} level bad: what is measured would not be the target
 * @property {string} what was looked at
 * @property {string} value what came, and what was expected
 * @property {string} why it matters
 * @property {string} mend what to do about it
 *
 * @typedef {Pick<LoadHost, 'host' | 'facts'> & { share_ratio?: number }} OfLoad a host of it;
 *   share_ratio: its part, as much as each other's unless told otherwise
 *
 * @typedef {object} Planned
 * @property {number} connections
 * @property {number | null} pool_max of each process of the service; null: the service is not ours to look at
 * @property {number} processes of the service
 * @property {number | null} rate_rps the highest; null: not known yet
 * @property {number | null} backlog null: the service does not tell it
 * @property {boolean} fresh_connections a connection per request
 * @property {number} timeout_s
 * @property {number} [addresses] local ones that connections come from (default 1): each has all ports
 * @property {boolean} [loopback] the service is on this machine (default true)
 *
 * @typedef {object} Facts what the machine is like; null: it cannot be seen here
 * @property {Limits | null} generator_nofile
 * @property {Limits | null} api_nofile
 * @property {number | null} ephemeral_ports that connect() may take
 * @property {number | null} time_wait sockets now
 * @property {boolean | null} tw_reuse_loopback whether connect() takes ports in TIME_WAIT again, to this machine
 * @property {boolean | null} tw_reuse_remote the same, to any other
 * @property {number | null} somaxconn
 * @property {{ max: number, reserved: number, used: number } | null} database_connections
 * @property {{ allowed: number, taskset: boolean, pinned: { api: string, others: string } | null } | null} cores
 * @property {number | null} cpu_quota_cores Infinity: none
 * @property {number | null} steal_ratio of all cores' time
 * @property {{ core: string, ratio: number }[] | null} busy each core with what others run
 * @property {number | null} pressure_ratio of the last 10 s: somebody waited for a core
 * @property {Ceiling | { failed: string } | null} ceiling
 *
 * @typedef {{ soft: number, hard: number }} Limits
 */
