/**
 * @import { LoadHost } from '../../generators/hosts/prepare.js'
 * @import { Facts as Machine } from '../../probes/facts.js'
 * @import { Ceiling } from './ceiling.js'
 */

/**
 * @typedef {{ check: string, level: 'ok' | 'warn' | 'bad' | 'unseen', what: string, value: string, why: string, mend: string }} Finding
 *   check: stable name; bad: what is measured would not be the target; what was looked at; value: what came, and what was
 *   expected; why it matters; mend: what to do about it
 * @typedef {Omit<Finding, 'level' | 'value'> & { look: (facts: Facts, plan: Planned) => Found }} Check
 * @typedef {Pick<Finding, 'level' | 'value'> & Partial<Finding> & { where?: string }} Found what a check saw, and what it changes
 *   of what the check says otherwise; where: the place to look, by hand
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
 * @property {number} [at_once] connections that are opened at once (default: all)
 * @property {number} [addresses] local ones that connections come from (default 1): each has all ports
 * @property {boolean} [loopback] the service is on this machine (default true)
 *
 * @typedef {Machine & { ceiling: Ceiling | { failed: string } | null }} Facts
 */

/** @param {boolean} isOk @param {boolean} isUsable @returns {'ok' | 'warn' | 'bad'} */
export function levelOf(isOk, isUsable) {
  if (isOk) return 'ok'
  return isUsable ? 'warn' : 'bad'
}

/** @param {string} source @returns {Found} */
export function unseen(source) {
  return { level: 'unseen', value: `unknown: here is no ${source}`, where: 'by hand' }
}

/** Of a service that was not started from here. @returns {Found} */
export function notOurs() {
  return { level: 'unseen', value: 'unknown: the service was not started from here', where: 'where it runs' }
}
