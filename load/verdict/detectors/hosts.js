import { count, milliseconds } from '../../report/format.js'
import { CORE_FULL_RATIO, NOTHING, percent } from './finding.js'

/**
 * @import { Finding, Trial } from './finding.js'
 * @import { HostTraffic } from '../../report/record.js'
 */

/** A host that begins later than this, and than this share of the trial, was not there for a part of the load. */
const START_MS = 250
const START_SHARE = 0.1

/**
 * Which of several load hosts was the furthest behind: what the others offered meanwhile was not the load that was asked
 * for. In a closed loop none is behind; there the fullest counts.
 *
 * @param {Pick<Trial, 'load' | 'traffic'>} trial
 * @param {number} allowed_ms of lateness at p99
 * @returns {Finding} NOTHING where the load came from one machine
 */
export function slowestHost({ load, traffic: { hosts = [] } }, allowed_ms) {
  const soonest_ms = Math.min(...hosts.flatMap(({ word_ms }) => word_ms ?? []))
  const found = hosts.map((host) => {
    if (load.loop !== 'open') return full(host)
    const heard_ms = typeof host.word_ms === 'number' ? host.word_ms - soonest_ms : 0
    return behind(host, heard_ms, load.duration_s, allowed_ms)
  })
  return found.reduce((worst, one) => (one.reach > worst.reach ? one : worst), NOTHING)
}

/**
 * No clock of one host is compared with another's: how long after the others it heard is by ours, and by its own how long
 * after that it began.
 *
 * @param {HostTraffic} host @param {number} heard_ms @param {number} duration_s @param {number} allowed_ms
 */
function behind({ host, lateness_ms, start_ms, sent, planned = sent, ...use }, heard_ms, duration_s, allowed_ms) {
  const late = (lateness_ms?.p99 ?? 0) / allowed_ms
  const begun = ((start_ms ?? 0) + heard_ms) / Math.max(START_MS, duration_s * 1000 * START_SHARE)
  const what =
    begun > late
      ? beginning(host, start_ms ?? 0, heard_ms)
      : `${host} was ${milliseconds(lateness_ms?.p99)} late at p99`
  const unsent = sent < planned ? [`${host} sent ${count(sent)} of its ${count(planned)} requests`] : []
  return { reach: Math.max(late, begun), evidence: [what, ...unsent, ...useOf({ host, ...use })] }
}

/** @param {string} host @param {number} start_ms @param {number} heard_ms */
function beginning(host, start_ms, heard_ms) {
  if (heard_ms <= start_ms) return `${host} began ${milliseconds(start_ms)} after it was told to`
  return `${host} heard that it was to begin up to ${milliseconds(heard_ms)} after another`
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
