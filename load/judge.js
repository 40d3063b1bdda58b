/**
 * A generator that is later than this at p99 has bent the load, and the latencies with it. One tenth of the default SLO.
 */
const MAX_LATENESS_P99_MS = 10

/**
 * Judges a trial. Pure.
 *
 * `invalid` says nothing about the target: its rows are not those it acknowledged, or the generator was the limit. A
 * generator's lateness only ever adds to latency, so what passes with it passes; what fails with it may be its fault.
 *
 * @param {Pick<import('./trial.js').TrialRecord, 'traffic' | 'probes'>} record
 * @param {Slo} slo
 * @returns {{ verdict: 'pass' | 'fail' | 'invalid', because: string }}
 */
export function judge({ traffic, probes }, slo) {
  const mismatch = rowMismatch(traffic)
  if (mismatch) return { verdict: 'invalid', because: mismatch }

  const clientErrors = Object.entries(traffic.errors).filter(([key]) => isGeneratorsFault(key))
  if (clientErrors.length > 0) {
    const list = clientErrors.map(([key, count]) => `${count} ${key}`).join(', ')
    return { verdict: 'invalid', because: `the generator ran out: ${list}` }
  }

  const failure = shortfall(traffic, slo)
  if (failure === null) {
    const p99 = traffic.latency_ms?.p99 ?? 0
    const stored = traffic.rows_stored === null ? 'answered' : 'stored'
    return {
      verdict: 'pass',
      because: `p99 ${p99} ms <= ${slo.p99_ms} ms, ${traffic.ok} of ${traffic.planned} ${stored}`,
    }
  }
  const lateness_ms = probes.generator.lateness_ms?.p99 ?? 0
  if (lateness_ms > MAX_LATENESS_P99_MS) {
    return { verdict: 'invalid', because: `the generator was ${lateness_ms} ms late at p99 (${failure})` }
  }
  return { verdict: 'fail', because: failure }
}

/** @typedef {{ p99_ms: number, success_ratio: number }} Slo */

/**
 * Every 201 is a row. A request without an answer may or may not have become one, so rows may exceed the 201s by as many
 * as were sent and never answered; by one more, and somebody invented it.
 *
 * @param {import('./trial.js').TrialRecord['traffic']} traffic
 */
function rowMismatch({ rows_stored, status, sent, completed }) {
  if (rows_stored === null) return null
  const acknowledged = status[201] ?? 0
  const unanswered = sent - completed
  if (rows_stored >= acknowledged && rows_stored <= acknowledged + unanswered) return null
  return `${acknowledged} requests were answered 201, ${rows_stored} rows were stored (${unanswered} had no answer)`
}

/** @param {import('./trial.js').TrialRecord['traffic']} traffic @param {Slo} slo */
function shortfall(traffic, slo) {
  if (traffic.success_ratio < slo.success_ratio) {
    return `${traffic.ok} of ${traffic.planned} succeeded, ${percent(slo.success_ratio)} expected`
  }
  const p99_ms = traffic.latency_ms?.p99 ?? Number.POSITIVE_INFINITY
  return p99_ms > slo.p99_ms ? `p99 ${p99_ms} ms > ${slo.p99_ms} ms` : null
}

/** Waiting is the target's doing; running out of ports or files is our own. @param {string} key */
function isGeneratorsFault(key) {
  return key.startsWith('client:') && key !== 'client:timeout' && key !== 'client:unsent'
}

/** @param {number} ratio */
function percent(ratio) {
  return `${+(ratio * 100).toFixed(3)} %`
}
