import { isValid } from '../../load/capacity/ladder.js'
import { isSameCell } from '../../load/report/format.js'
import { expandCores } from '../../load/system/machine.js'
import { generatorLateness } from '../../load/verdict/detectors/generator.js'
import { median } from '../../load/verdict/ranks.js'

/**
 * @import { TrialRecord } from '../../load/report/record.js'
 * @typedef {Pick<TrialRecord, 'probes' | 'outcome'>} Judged
 */

/**
 * Node's timers have a resolution of 1 ms, so an open loop's median lateness is up to 0.5 ms, the same in all compared trials.
 * Beyond these limits, lateness becomes part of the compared medians, or of compared 95th percentiles of hundreds of ms.
 */
const MAX_LATENESS_MS = { p50: 1, p95: 20 }

/** Share of the cores that a generator can use, beyond which its own time is part of what was measured. */
const FULL = 0.9

/** Closed loops have no schedule to measure a latency against. */
const NO_SLO = { p99_ms: Number.POSITIVE_INFINITY, success_ratio: 0 }

/** Tells how late an open loop was, if so late that it measured itself; otherwise null. @param {Judged} record */
function latenessOf({ probes: { generator } }) {
  const { p50 = 0, p95 = 0 } = generator.lateness_ms ?? {}
  const isLate = p50 > MAX_LATENESS_MS.p50 || p95 > MAX_LATENESS_MS.p95
  return isLate ? `the generator was ${p50} ms late at p50 and ${p95} ms at p95` : null
}

/** Whether a trial need not be repeated. @param {Judged} record */
export function isTimely(record) {
  return isValid(record) && latenessOf(record) === null
}

/** The reason why a trial does not show the cost of the work: requests failed (a refusal is cheap) or were late. @param {Judged} record */
export function whyUnsound(record) {
  const { verdict, because } = record.outcome
  return verdict === 'pass' ? latenessOf(record) : because
}

/** @param {Judged} record */
export function isSound(record) {
  return whyUnsound(record) === null
}

/** The first cell without a sound trial, and why it has none; null if each has one. @template {object} C @param {C[]} cells @param {TrialRecord[]} records */
export function unmeasured(cells, records) {
  const trialsOf = (/** @type {C} */ cell) =>
    records.filter((record) => isSameCell(record.cell, /** @type {any} */ (cell)))
  const cell = cells.find((one) => !trialsOf(one).some(isSound))
  if (!cell) return null
  const last = trialsOf(cell).at(-1)
  return { cell, why: `had no trial that counts: ${last ? whyUnsound(last) : 'no trial'}` }
}

/** Whether a closed loop's generator was full in the median trial: a faster target adds nothing. @param {Pick<TrialRecord, 'load' | 'traffic' | 'probes'>[]} records */
export function generatorWasLimit(records) {
  const closed = records.filter(({ load }) => load.loop === 'closed')
  return median(closed.map((record) => generatorLateness(record, NO_SLO).reach)) >= 1
}

export const GENERATOR_LIMIT = 'the generator was the limit'
export const GENERATOR_FULL = 'the generator ran, or waited for its core, nearly all the time'

/** A warning if trials were left out. @param {Judged[]} records */
export function leftOut(records) {
  const failed = records.filter(({ outcome }) => outcome.verdict === 'fail').length
  const late = records.filter((record) => record.outcome.verdict === 'pass' && !isSound(record)).length
  const why = `requests failed in ${failed}, the generator was late in ${late}`
  return failed + late > 0 ? [`Warning: ${failed + late} of ${records.length} trials were left out: ${why}.`] : []
}

/** @param {number} share from generatorShare; NaN if not known */
export function isFullShare(share) {
  return share >= FULL
}

/** Share of its cores that the generator used or waited for; it can use one per thread. @param {Pick<TrialRecord, 'traffic' | 'probes'>} record */
export function generatorShare({ traffic, probes }) {
  // The busiest of several load hosts counts: the others do not wait for it, but all have about the same share of the load.
  const hosts = (traffic.hosts ?? []).map((host) => (host.cpu_core_ratio ?? Number.NaN) / (host.cores ?? 1))
  if (hosts.length > 0) return Math.max(...hosts)
  const { cpu_core_ratio = Number.NaN, run_delay_ratio = 0, cores } = probes?.generator ?? {}
  const usable = Math.min(traffic.threads ?? 1, cores ? expandCores(cores).length : 1)
  return (cpu_core_ratio + run_delay_ratio) / usable
}
