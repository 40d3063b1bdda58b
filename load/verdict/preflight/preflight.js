import { findingOf } from './finding.js'
import { FRESH_CHECKS, GENERATOR_CHECKS, SERVICE_CHECKS } from './limits.js'
import { MACHINE_CHECKS } from './machine.js'

/** @import { Facts, Finding, OfLoad, Planned } from './finding.js' */

/**
 * Would this machine spoil the measurement that is planned? Pure.
 *
 * @param {Facts} facts
 * @param {Planned} plan
 * @param {OfLoad[]} [hosts] that the load comes from, instead of this machine
 * @returns {Finding[]} one for each thing that was looked at
 */
export function preflight(facts, plan, hosts = []) {
  const service = SERVICE_CHECKS.map((check) => findingOf(check, facts, plan))
  if (hosts.length > 0) return [...hosts.flatMap((host) => ofHost(facts, plan, host, hosts.length)), ...service]
  return [...ofGenerator(facts, plan), ...service, ...MACHINE_CHECKS.map((check) => findingOf(check, facts, plan))]
}

/** @param {Facts} facts @param {Planned} plan */
function ofGenerator(facts, plan) {
  const checks = [...GENERATOR_CHECKS, ...(plan.fresh_connections ? FRESH_CHECKS : [])]
  return checks.map((check) => findingOf(check, facts, plan))
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
  return ofGenerator({ ...facts, ...own }, share).map((finding) => ({ ...finding, what: `${finding.what}, ${host}` }))
}

/** A finding as one sentence without its full stop, for a run's warnings. @param {Finding} finding */
export function sentenceOf({ what, value, why, mend }) {
  return `${what}: ${value}; ${why}; ${mend}`
}
