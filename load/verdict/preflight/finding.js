/**
 * @import { LoadHost } from '../../generators/hosts/prepare.js'
 * @import { Facts as Machine } from '../../probes/facts.js'
 * @import { Ceiling } from './ceiling.js'
 */

/**
 * @typedef {{ check: string, level: 'ok' | 'warn' | 'bad' | 'unseen', what: string, value: string, why: string, mend: string }} Finding
 *   check: stable name; level bad: the run would not measure the target; what: what was checked; value: found and expected
 *   values; why: why it matters; mend: how to fix it
 * @typedef {Omit<Finding, 'level' | 'value'> & { look: (facts: Facts, plan: Planned) => Found }} Check
 * @typedef {Pick<Finding, 'level' | 'value'> & Partial<Finding> & { where?: string }} Found what a check found, and
 *   overrides of the check's own texts; where: the place to look, by hand
 * @typedef {Pick<LoadHost, 'host' | 'facts'> & { share_ratio?: number }} OfLoad a load host;
 *   share_ratio: its share of the load (default: an equal share)
 *
 * @typedef {object} Planned
 * @property {number} connections
 * @property {number | null} pool_max for each process of the service; null: we did not start the service
 * @property {number} processes of the service
 * @property {number | null} rate_rps highest planned rate; null: not known yet
 * @property {number | null} backlog null: the service does not report it
 * @property {boolean} fresh_connections whether each request opens a connection
 * @property {number} timeout_s
 * @property {number} [at_once] connections opened at once (default: all)
 * @property {number} [addresses] local source addresses (default 1), each with the full port range
 * @property {boolean} [loopback] whether the service is on this machine (default true)
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

/** For a service that we did not start. @returns {Found} */
export function notOurs() {
  return { level: 'unseen', value: 'unknown: the service was not started from here', where: 'where it runs' }
}
