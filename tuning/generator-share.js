import { expandCores } from '../load/machine.js'

/** Of the cores that a generator can use: beyond it, its own time is part of what was measured. */
const FULL = 0.9

/** @param {number} share of generatorShare; NaN where it is not known */
export function isFullShare(share) {
  return share >= FULL
}

/**
 * What the generator used or waited for, of the cores that it can use: no more than it has threads that send.
 *
 * @param {Pick<import('../load/trial.js').TrialRecord, 'traffic' | 'probes'>} record
 */
export function generatorShare({ traffic, probes }) {
  const { cpu_core_ratio = Number.NaN, run_delay_ratio = 0, cores } = probes?.generator ?? {}
  const usable = Math.min(traffic.threads ?? 1, cores ? expandCores(cores).length : 1)
  return (cpu_core_ratio + run_delay_ratio) / usable
}
