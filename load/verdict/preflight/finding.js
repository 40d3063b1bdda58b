/**
 * @import { LoadHost } from '../../generators/hosts/prepare.js'
 * @import { Facts as Machine } from '../../probes/facts.js'
 * @import { Ceiling } from './ceiling.js'
 */

/**
 * @typedef {object} Finding
 * @property {string} check stable name
 * @property {'ok' | 'warn' | 'bad' | 'unseen'} level bad: what is measured would not be the target
 * @property {string} what was looked at
 * @property {string} value what came, and what was expected
 * @property {string} why it matters
 * @property {string} mend what to do about it
 *
 * @typedef {Pick<Finding, 'check' | 'what' | 'why' | 'mend'>} About what a finding is about, whatever came
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
 * @typedef {Machine & { ceiling: Ceiling | { failed: string } | null }} Facts
 */

/** @param {boolean} isOk @param {boolean} isUsable @returns {'ok' | 'warn' | 'bad'} */
export function levelOf(isOk, isUsable) {
  if (isOk) return 'ok'
  return isUsable ? 'warn' : 'bad'
}

/** @param {About} about @param {string} source @returns {Finding} */
export function unseen(about, source) {
  return { ...about, level: 'unseen', value: `unknown: here is no ${source}`, mend: `look by hand; ${about.mend}` }
}

/** @param {About} about @returns {Finding} */
export function notOurs(about) {
  const value = 'unknown: the service was not started from here'
  return { ...about, level: 'unseen', value, mend: `look where it runs; ${about.mend}` }
}
