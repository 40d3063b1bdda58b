import { TIMEOUT, UNSENT } from './drivers/errors.js'

/** A generator that is later than this share of the SLO's p99 has a part in the latencies that is not the target's. */
const MAX_LATENESS_SHARE = 0.1

/**
 * Judges a trial. Pure.
 *
 * `invalid` says nothing about the target: its rows are not those it acknowledged, or the generator was the limit. A
 * generator's lateness only ever adds to latency, so what passes with it passes; a p99 that fails with it may be its
 * fault; answers that are no success are not.
 *
 * @param {Pick<import('./trial.js').TrialRecord, 'traffic' | 'probes'>} record
 * @param {Slo} slo
 * @returns {{ verdict: 'pass' | 'fail' | 'invalid', because: string }}
 */
export function judge({ traffic, probes }, slo) {
  const mismatch = rowMismatch(traffic)
  if (mismatch) return { verdict: 'invalid', because: mismatch }

  const foreign = Object.entries(traffic.errors).filter(([key]) => !isTargets(key))
  if (foreign.length > 0) {
    const list = foreign.map(([key, count]) => `${count} ${key}`).join(', ')
    return { verdict: 'invalid', because: `errors that are not the target's: ${list}` }
  }

  if (traffic.success_ratio < slo.success_ratio) {
    const because = `${traffic.ok} of ${traffic.planned} succeeded, ${percent(slo.success_ratio)} expected`
    return { verdict: 'fail', because }
  }
  const p99_ms = traffic.latency_ms?.p99 ?? Number.POSITIVE_INFINITY
  if (p99_ms <= slo.p99_ms) {
    const stored = traffic.rows_stored === null ? 'answered' : 'stored'
    return {
      verdict: 'pass',
      because: `p99 ${p99_ms} ms <= ${slo.p99_ms} ms, ${traffic.ok} of ${traffic.planned} ${stored}`,
    }
  }
  const failure = `p99 ${p99_ms} ms > ${slo.p99_ms} ms`
  const lateness_ms = probes.generator.lateness_ms?.p99 ?? 0
  if (lateness_ms > slo.p99_ms * MAX_LATENESS_SHARE) {
    return { verdict: 'invalid', because: `the generator was ${lateness_ms} ms late at p99 (${failure})` }
  }
  return { verdict: 'fail', because: failure }
}

/** @typedef {{ p99_ms: number, success_ratio: number }} Slo */

/**
 * Every 201 is a row. A request without an answer may or may not have become one, so rows may exceed the 201s by as many
 * as were sent, warm-up included, and never answered; by one more, and somebody invented it.
 *
 * @param {import('./trial.js').TrialRecord['traffic']} traffic
 */
function rowMismatch({ rows_stored, status, sent, completed, warmup_unanswered }) {
  if (rows_stored === null) return null
  const acknowledged = status[201] ?? 0
  const unanswered = sent - completed + warmup_unanswered
  if (rows_stored >= acknowledged && rows_stored <= acknowledged + unanswered) return null
  return `${acknowledged} requests were answered 201, ${rows_stored} rows were stored (${unanswered} had no answer)`
}

/** Its own errors, and answers that it did not give while we waited. @param {string} key */
function isTargets(key) {
  return key.startsWith('server:') || key === TIMEOUT || key === UNSENT
}

/** @param {number} ratio */
function percent(ratio) {
  return `${+(ratio * 100).toFixed(3)} %`
}
