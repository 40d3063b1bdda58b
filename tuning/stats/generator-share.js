import { expandCores } from '../../load/system/machine.js'

/** @import { TrialRecord } from '../../load/report/record.js' */

/** Of the cores that a generator can use: beyond it, its own time is part of what was measured. */
const FULL = 0.9

/** @param {number} share of generatorShare; NaN where it is not known */
export function isFullShare(share) {
  return share >= FULL
}

/**
 * What the generator used or waited for, of the cores that it can use: no more than it has threads that send.
 *
 * @param {Pick<TrialRecord, 'traffic' | 'probes'>} record
 */
export function generatorShare({ traffic, probes }) {
  // Of several load hosts, the fullest: the others wait for nobody, but their shares of the load are about the same.
  const hosts = (traffic.hosts ?? []).map((host) => (host.cpu_core_ratio ?? Number.NaN) / (host.cores ?? 1))
  if (hosts.length > 0) return Math.max(...hosts)
  const { cpu_core_ratio = Number.NaN, run_delay_ratio = 0, cores } = probes?.generator ?? {}
  const usable = Math.min(traffic.threads ?? 1, cores ? expandCores(cores).length : 1)
  return (cpu_core_ratio + run_delay_ratio) / usable
}
