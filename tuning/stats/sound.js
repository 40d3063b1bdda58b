import { isValid } from '../../load/capacity/ladder.js'
import { expandCores } from '../../load/system/machine.js'
import { generatorLateness } from '../../load/verdict/detectors/generator.js'
import { median } from '../../load/verdict/ranks.js'

/**
 * @import { TrialRecord } from '../../load/report/record.js'
 * @typedef {Pick<TrialRecord, 'probes' | 'outcome'>} Judged
 */

/**
 * Node's timers resolve 1 ms, so an open loop is up to half of one late in the median, and alike in all that is compared.
 * Beyond this, its lateness is part of the medians, or of 95th percentiles of hundreds of ms, that are compared.
 */
const MAX_LATENESS_MS = { p50: 1, p95: 20 }

/** Share of the cores that a generator can use, beyond which its own time is part of what was measured. */
const FULL = 0.9

/** Closed loops have no schedule against which a latency would be measured. */
const NO_SLO = { p99_ms: Number.POSITIVE_INFINITY, success_ratio: 0 }

/** How late an open loop was, if so late that it measured itself; else null. @param {Judged} record */
function latenessOf({ probes: { generator } }) {
  const { p50 = 0, p95 = 0 } = generator.lateness_ms ?? {}
  const isLate = p50 > MAX_LATENESS_MS.p50 || p95 > MAX_LATENESS_MS.p95
  return isLate ? `the generator was ${p50} ms late at p50 and ${p95} ms at p95` : null
}

/** Whether a trial need not be repeated. @param {Judged} record */
export function isTimely(record) {
  return isValid(record) && latenessOf(record) === null
}

/** Why a trial does not tell the cost of the work: requests failed, since a refusal is cheap, or were late. @param {Judged} record */
export function whyUnsound(record) {
  const { verdict, because } = record.outcome
  return verdict === 'pass' ? latenessOf(record) : because
}

/** @param {Judged} record */
export function isSound(record) {
  return whyUnsound(record) === null
}

/** Whether a closed loop's generator was full in the median trial: a faster target brings no more. @param {Pick<TrialRecord, 'load' | 'traffic' | 'probes'>[]} records */
export function generatorWasLimit(records) {
  const closed = records.filter(({ load }) => load.loop === 'closed')
  return median(closed.map((record) => generatorLateness(record, NO_SLO).reach)) >= 1
}

export const GENERATOR_LIMIT = 'the generator was the limit'

/** A warning if trials were left out. @param {Judged[]} records */
export function leftOut(records) {
  const failed = records.filter(({ outcome }) => outcome.verdict === 'fail').length
  const late = records.filter((record) => record.outcome.verdict === 'pass' && !isSound(record)).length
  const why = `requests failed in ${failed}, the generator was late in ${late}`
  return failed + late > 0 ? [`Warning: ${failed + late} of ${records.length} trials were left out: ${why}.`] : []
}

/** @param {number} share of generatorShare; NaN: not known */
export function isFullShare(share) {
  return share >= FULL
}

/** Share of its cores that the generator used or waited for; it can use as many as it has threads. @param {Pick<TrialRecord, 'traffic' | 'probes'>} record */
export function generatorShare({ traffic, probes }) {
  // The fullest of several load hosts: the others wait for nobody, but their shares of the load are about the same.
  const hosts = (traffic.hosts ?? []).map((host) => (host.cpu_core_ratio ?? Number.NaN) / (host.cores ?? 1))
  if (hosts.length > 0) return Math.max(...hosts)
  const { cpu_core_ratio = Number.NaN, run_delay_ratio = 0, cores } = probes?.generator ?? {}
  const usable = Math.min(traffic.threads ?? 1, cores ? expandCores(cores).length : 1)
  return (cpu_core_ratio + run_delay_ratio) / usable
}
