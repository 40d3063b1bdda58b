import Papa from 'papaparse'
import { cellName } from './format.js'

/** @import { TrialRecord } from './record.js' */

/** A row for each trial, for spreadsheets and scripts. Names include units; an empty cell means unknown. @param {TrialRecord[]} records */
export function trialsCsv(records) {
  const rows = records.map(({ trial, started_at, at, cell, load, traffic, probes, outcome, limit }) => {
    const { status, errors, latency_ms } = traffic
    return {
      trial,
      started_at,
      phase: at.phase ?? '',
      cell: cellName(cell),
      driver: load.driver,
      loop: load.loop,
      offered_rps: load.rate_rps,
      connections: load.connections,
      duration_s: load.duration_s,
      achieved_rps: traffic.achieved_rps,
      goodput_rps: traffic.goodput_rps,
      success_ratio: traffic.success_ratio,
      ...Object.fromEntries(PERCENTILES.map((name) => [`${name}_ms`, latency_ms?.[name]])),
      statuses: pairs(status),
      errors: pairs(errors),
      rows_stored: traffic.rows_stored,
      api_cpu_core_ratio: probes.api?.cpu_core_ratio,
      postgres_cpu_core_ratio: probes.postgres?.cpu_core_ratio,
      generator_cpu_core_ratio: probes.generator?.cpu_core_ratio,
      verdict: outcome.verdict,
      because: outcome.because,
      limit: limit?.resource,
    }
  })
  return text(rows)
}

/** A row for each second of each trial. @param {TrialRecord[]} records */
export function secondsCsv(records) {
  const rows = records.flatMap(({ trial, load, traffic: { per_second = [] } }) => {
    // The record ends with the last answer, so the seconds of load after it had none.
    const length = per_second.length === 0 ? 0 : Math.max(per_second.length, Math.floor(load.duration_s))
    return Array.from({ length }, (_, second) => {
      const { completed = 0, ok = 0 } = per_second[second] ?? {}
      return { trial, second, completed, ok }
    })
  })
  return text(rows)
}

const PERCENTILES = /** @type {const} */ (['p50', 'p90', 'p95', 'p99', 'p999', 'max'])

/** { 503: 2, 201: 9 } -> 201: 9; 503: 2 @param {Record<string, number>} counts */
function pairs(counts) {
  return Object.entries(counts)
    .map(([name, number]) => `${name}: ${number}`)
    .join('; ')
}

/** @param {object[]} rows */
function text(rows) {
  // A service's response must not become a spreadsheet formula.
  return `${Papa.unparse(rows, { newline: '\n', escapeFormulae: true })}\n`
}
