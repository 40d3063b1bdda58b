import { isValid } from '../../load/capacity/ladder.js'
import { generatorCpu } from '../../load/verdict/detectors/generator.js'
import { median } from './ranks.js'

/** @import { TrialRecord } from '../../load/report/record.js' */

/**
 * Node's timers resolve 1 ms, so an open loop is up to half of one late in the median, and alike in all that is compared.
 * Beyond this, its lateness is a part of the medians, or of the 95th percentiles of hundreds of ms, that are.
 */
const MAX_LATENESS_MS = /** @type {const} */ ({ p50: 1, p95: 20 })

/** Closed loops have no schedule that a latency would be measured against. */
const NO_SLO = { p99_ms: Number.POSITIVE_INFINITY, success_ratio: 0 }

/** Whether an open loop sent so late that it measured itself. @param {Pick<TrialRecord, 'probes'>} record */
function isLate({ probes }) {
  const { lateness_ms } = probes.generator
  return lateness_ms ? lateness_ms.p50 > MAX_LATENESS_MS.p50 || lateness_ms.p95 > MAX_LATENESS_MS.p95 : false
}

/** Whether a trial need not be repeated. @param {Pick<TrialRecord, 'probes' | 'outcome'>} record */
export function isTimely(record) {
  return isValid(record) && !isLate(record)
}

/**
 * Whether a trial tells what the work costs: no request failed that had to succeed, since a refusal costs next to nothing,
 * and each was sent when it was due.
 *
 * @param {Pick<TrialRecord, 'probes' | 'outcome'>} record
 */
export function isSound(record) {
  return record.outcome.verdict === 'pass' && !isLate(record)
}

/** Why a trial is not sound. @param {Pick<TrialRecord, 'probes' | 'outcome'>} record */
export function whyUnsound(record) {
  const { outcome, probes } = record
  const { lateness_ms } = probes.generator
  if (outcome.verdict !== 'pass' || !lateness_ms || !isLate(record)) return outcome.because
  const { p50, p95 } = lateness_ms
  return `the generator was ${p50} ms late at p50 and ${p95} ms at p95`
}

/**
 * Whether the generator of a closed loop was full in the median trial: then a target that is faster brings no more.
 *
 * @param {Pick<TrialRecord, 'load' | 'traffic' | 'probes'>[]} records
 */
export function generatorWasLimit(records) {
  const closed = records.filter(({ load }) => load.loop === 'closed')
  return median(closed.map((record) => generatorCpu(record, NO_SLO).reach)) >= 1
}

export const GENERATOR_LIMIT = 'the generator was the limit'

/** What was left out, for the report. @param {Pick<TrialRecord, 'probes' | 'outcome'>[]} records @returns {string[]} */
export function leftOut(records) {
  const failed = records.filter(({ outcome }) => outcome.verdict === 'fail').length
  const late = records.filter((record) => record.outcome.verdict === 'pass' && isLate(record)).length
  if (failed + late === 0) return []
  return [
    `Warning: ${failed + late} of ${records.length} trials were left out: requests failed in ${failed}, the generator was late in ${late}.`,
  ]
}
