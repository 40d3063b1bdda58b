import { capitalised } from '../../report/format.js'
import { LIMITS } from './limits.js'
import { MACHINE } from './machine.js'

/**
 * @import { LoadHost } from '../../generators/hosts/prepare.js'
 * @import { gatherFacts } from '../../probes/facts.js'
 * @import { measureCeiling } from './ceiling.js'
 */

/**
 * @typedef {Awaited<ReturnType<typeof gatherFacts>> & { ceiling: Awaited<ReturnType<typeof measureCeiling>> | null }} Facts
 * @typedef {{ connections: number, pool_max: number | null, rate_rps: number | null, backlog: number | null, timeout_s: number,
 *   fresh_connections: boolean, at_once?: number, addresses?: number, loopback?: boolean }} Planned null: unknown; rate_rps: the
 *   highest; fresh_connections: each request opens one; at_once: connections opened at once (default: all); addresses: local source
 *   addresses (default 1), each with the full port range; loopback: whether the service is on this machine (default true)
 * @typedef {'load' | 'api' | 'machine' | 'lab'} Part of a setup: where load is sent from, where the API runs, either of them, or the
 *   lab itself
 * @typedef {{ what: string, why: string, mend: string, past?: string }} About what was checked, why it matters, how to fix it; past: what
 *   a report says before the value instead, once it is too late to fix it
 * @typedef {About & { of: Part, fresh?: boolean, look: (facts: Facts, plan: Planned) => Found | 0 | null }} Check fresh: only with a
 *   connection per request; look: returns null if the facts are unknown
 * @typedef {Partial<About> & { isOk: boolean, isUsable?: boolean, value: string }} Found overrides the check's own texts
 * @typedef {About & { check: string, level: 'ok' | 'warn' | 'bad' | 'unseen', value: string }} Finding level bad: the run would not
 *   measure the target; value: found and expected values
 */

/**
 * Checks whether a machine would spoil the planned measurement. Pure.
 * @param {Facts} facts @param {Planned} plan @param {Part[]} [parts] that are on this machine
 * @returns {Finding[]} one per check
 */
export function preflight(facts, plan, parts = ['load', 'api', 'machine', 'lab']) {
  const checks = Object.entries({ ...LIMITS, ...MACHINE }).filter(([, { of, fresh }]) => {
    return parts.includes(of) && (!fresh || plan.fresh_connections)
  })
  return checks.map(([check, { what, why, mend, past, look }]) => {
    const about = { check, what, why, mend, ...(past && { past }) }
    const found = look(facts, plan)
    if (!found) return { ...about, value: 'unknown: not visible here', mend: `look by hand; ${mend}`, level: 'unseen' }
    const { isOk, isUsable, ...texts } = found
    const failed = isUsable ? 'warn' : 'bad'
    return { ...about, ...texts, level: isOk ? 'ok' : failed }
  })
}

/**
 * Checks a load host, with its share of the planned load. Pure.
 * @param {Facts} facts of this machine @param {Planned} plan
 * @param {Pick<LoadHost, 'host' | 'facts'> & { share_ratio: number }} host
 */
export function preflightOfHost(facts, plan, { host, facts: own, share_ratio }) {
  const rate_rps = plan.rate_rps && Math.ceil(plan.rate_rps * share_ratio)
  const share = { ...plan, rate_rps, connections: Math.ceil(plan.connections * share_ratio), loopback: false }
  return named(preflight({ ...facts, ...own }, share, ['load']), host)
}

/** Names the host that findings are about. @param {Finding[]} findings @param {string} host */
export function named(findings, host) {
  return findings.map(({ what, past, ...finding }) => {
    return { ...finding, what: `${what}, ${host}`, ...(past && { past: `on ${host}, ${past}` }) }
  })
}

/** Formats a finding as sentences, the last without its full stop, for a run's warnings. @param {Finding} finding */
export function sentenceOf({ what, value, why, mend, past }) {
  if (past) return `${past} ${value}, so its figures are less certain`
  return `${what}: ${value}. ${capitalised(why)}. ${capitalised(mend)}`
}
