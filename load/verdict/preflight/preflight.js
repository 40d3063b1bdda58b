import { FRESH_CHECKS, GENERATOR_CHECKS, SERVICE_CHECKS } from './limits.js'
import { MACHINE_CHECKS } from './machine.js'

/** @import { Check, Facts, Finding, OfLoad, Planned } from './finding.js' */

/**
 * Checks whether this machine would spoil the planned measurement. Pure.
 *
 * @param {Facts} facts @param {Planned} plan
 * @param {OfLoad[]} [hosts] load hosts that replace this machine
 * @returns {Finding[]} one per check
 */
export function preflight(facts, plan, hosts = []) {
  const service = looked(SERVICE_CHECKS, facts, plan)
  if (hosts.length === 0) return [...ofGenerator(facts, plan), ...service, ...looked(MACHINE_CHECKS, facts, plan)]
  const shares = hosts.flatMap(({ host, facts: own, share_ratio = 1 / hosts.length }) => {
    const rate_rps = plan.rate_rps === null ? null : Math.ceil(plan.rate_rps * share_ratio)
    const share = { ...plan, rate_rps, connections: Math.ceil(plan.connections * share_ratio), loopback: false }
    return ofGenerator({ ...facts, ...own }, share).map((finding) => ({ ...finding, what: `${finding.what}, ${host}` }))
  })
  return [...shares, ...service]
}

/** @param {Facts} facts @param {Planned} plan */
function ofGenerator(facts, plan) {
  return looked([...GENERATOR_CHECKS, ...(plan.fresh_connections ? FRESH_CHECKS : [])], facts, plan)
}

/** @param {Check[]} checks @param {Facts} facts @param {Planned} plan */
function looked(checks, facts, plan) {
  return checks.map(({ look, ...about }) => {
    const { where, ...found } = look(facts, plan)
    const finding = { ...about, ...found }
    return where ? { ...finding, mend: `look ${where}; ${finding.mend}` } : finding
  })
}

/** Formats a finding as one sentence without its full stop, for a run's warnings. @param {Finding} finding */
export function sentenceOf({ what, value, why, mend }) {
  return `${what}: ${value}; ${why}; ${mend}`
}
