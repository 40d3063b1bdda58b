import { count, milliseconds } from '../report/table.js'
import { CORE_FULL_RATIO, NOTHING, percent } from './finding.js'

/** A host that begins later than this, and than this share of the trial, was not there for a part of the load. */
const START_MS = 250
const START_SHARE = 0.1

/**
 * Which of several load hosts was the furthest behind: what the others offered meanwhile was not the load that was asked
 * for. In a closed loop none is behind; there the fullest counts.
 *
 * @param {Pick<import('./finding.js').Trial, 'load' | 'traffic'>} trial
 * @param {number} allowed_ms of lateness at p99
 * @returns {import('./finding.js').Finding} NOTHING where the load came from one machine
 */
export function slowestHost({ load, traffic: { hosts = [] } }, allowed_ms) {
  const found = hosts.map((host) => (load.loop === 'open' ? behind(host, load.duration_s, allowed_ms) : full(host)))
  return found.reduce((worst, one) => (one.reach > worst.reach ? one : worst), NOTHING)
}

/** @typedef {import('../drivers/vegeta/hits.js').HostTraffic} HostTraffic */

/** @param {HostTraffic} host @param {number} duration_s @param {number} allowed_ms */
function behind({ host, lateness_ms, start_ms, sent, planned = sent, ...use }, duration_s, allowed_ms) {
  const late = (lateness_ms?.p99 ?? 0) / allowed_ms
  const begun = (start_ms ?? 0) / Math.max(START_MS, duration_s * 1000 * START_SHARE)
  const what =
    begun > late
      ? `${host} began ${milliseconds(Number(start_ms))} after it was told to`
      : `${host} was ${milliseconds(lateness_ms?.p99)} late at p99`
  const unsent = sent < planned ? [`${host} sent ${count(sent)} of its ${count(planned)} requests`] : []
  return { reach: Math.max(late, begun), evidence: [what, ...unsent, ...useOf({ host, ...use })] }
}

/** @param {HostTraffic} host */
function full(host) {
  const { cpu_core_ratio, cores } = host
  return { reach: (cpu_core_ratio ?? 0) / Math.max(1, cores ?? 1) / CORE_FULL_RATIO, evidence: useOf(host) }
}

/** @param {Pick<HostTraffic, 'host' | 'cpu_core_ratio' | 'cores'>} host */
function useOf({ host, cpu_core_ratio, cores }) {
  if (cpu_core_ratio === null) return [`what the generator used on ${host} is not seen`]
  return [`the generator on ${host} used ${percent(cpu_core_ratio)} of a core${cores ? `, of ${cores}` : ''}`]
}
