import { judge } from '../verdict/judge.js'
import { isotonicFit } from './rates.js'

/** @import { Slo, TrialRecord } from '../report/record.js' */

/** Two-sided quantile of the normal distribution at 95 %. */
const Z = 1.96
/** 99 % quantile of the likelihood ratio below if errors do not rise, at six to eight rates. */
const RISING = 9.2
/** Fewer errors than this do not tell whether they rise with the rate. */
const LEAST_ERRORS = 10
/** Share of trials that may fail at any rate, by a stray error or a stall: intervalAround() allows for them. */
const LAPSE = 0.04

/**
 * The errors of a search in which they, and not the rate, decide which trials fail. Returns null if the rate decides: if the ratio of
 * errors rises with it, or if so few trials failed by errors alone that the interval of the capacity allows for them. Only trials that
 * kept the rest of the SLO count. Their pooled ratio is within the SLO or beyond it if its 95 % interval (Wilson 1927) is, and unclear
 * otherwise. Pure.
 * @param {TrialRecord[]} records of the search @param {Slo} slo
 * @returns {FlatErrors | null}
 * @typedef {{ verdict: 'within' | 'beyond' | 'unclear', failed: TrialRecord[], ratio: number, low: number, high: number, allowed: number }} FlatErrors
 *   failed: trials that only their errors failed; low, high: interval of the ratio
 */
export function flatErrors(records, slo) {
  const failed = records.filter((record) => isFailedByErrors(record, slo))
  const kept = records.filter((record) => record.outcome.verdict === 'pass' || failed.includes(record))
  if (intervalOf(failed.length, kept.length).low <= LAPSE) return null
  const { errors, planned } = sumOf(kept)
  if (errors < LEAST_ERRORS || riseOf(kept) > RISING) return null
  const allowed = 1 - slo.success_ratio
  const interval = intervalOf(errors, planned)
  const verdict = interval.high <= allowed ? 'within' : interval.low > allowed ? 'beyond' : 'unclear'
  return { verdict, failed, ratio: errors / planned, ...interval, allowed }
}

/** An SLO that accepts any number of errors. @param {Slo} slo @returns {Slo} */
export function withoutErrors(slo) {
  return { ...slo, success_ratio: 0 }
}

/** @param {TrialRecord} record @param {Slo} slo */
function isFailedByErrors(record, slo) {
  if (record.outcome.verdict !== 'fail' || record.traffic.success_ratio >= slo.success_ratio) return false
  return judge(record, withoutErrors(slo)).verdict === 'pass'
}

/** @param {TrialRecord[]} records */
function sumOf(records) {
  const planned = records.reduce((sum, { traffic }) => sum + traffic.planned, 0)
  return { planned, errors: planned - records.reduce((sum, { traffic }) => sum + traffic.ok, 0) }
}

/**
 * How much better a ratio of errors that rises with the rate explains the errors than a constant one: twice the logarithm of the likelihood
 * ratio (Barlow et al. 1972, chapter 3).
 * @param {TrialRecord[]} records
 */
function riseOf(records) {
  const rates = [...new Set(records.map(({ load }) => Number(load.rate_rps)))].sort((a, b) => a - b)
  const levels = rates.map((rate_rps) => sumOf(records.filter(({ load }) => load.rate_rps === rate_rps)))
  const all = sumOf(records)
  const constant = all.errors / all.planned
  const rising = isotonicFit(levels.map(({ errors, planned }) => ({ value: errors / planned, weight: planned })))
  return levels.reduce((sum, { errors, planned }, i) => {
    const ofErrors = timesLog(errors, rising[i] / constant)
    return sum + 2 * (ofErrors + timesLog(planned - errors, (1 - rising[i]) / (1 - constant)))
  }, 0)
}

/** @param {number} times @param {number} ratio */
function timesLog(times, ratio) {
  return times > 0 ? times * Math.log(ratio) : 0
}

/** Score interval of a ratio. @param {number} part @param {number} whole */
function intervalOf(part, whole) {
  const ratio = part / whole
  const middle = ratio + Z ** 2 / (2 * whole)
  const half = Z * Math.sqrt((ratio * (1 - ratio)) / whole + (Z / (2 * whole)) ** 2)
  const [low, high] = [middle - half, middle + half].map((bound) => bound / (1 + Z ** 2 / whole))
  return { low, high }
}
