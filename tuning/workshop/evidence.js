import { paragraph, table } from '../../load/report/blocks.js'
import { count, figure, milliseconds, offered, percent, wholePercent } from '../../load/report/format.js'

/**
 * @import { Exercise, Found } from './exercise.js'
 * @import { TrialRecord } from '../../load/report/record.js'
 */

/**
 * A terminal is 100 columns wide, so each exercise shows only the columns that it needs.
 *
 * @satisfies {Record<string, (trial: TrialRecord) => string>}
 */
const COLUMNS = {
  offered: ({ load }) => offered(load),
  'goodput/s': ({ traffic }) => figure(traffic.goodput_rps),
  success: ({ traffic }) => percent(traffic.success_ratio),
  p50: ({ traffic }) => milliseconds(traffic.latency_ms?.p50),
  p99: ({ traffic }) => milliseconds(traffic.latency_ms?.p99),
  'accepted p99': ({ traffic }) => milliseconds(traffic.ok_latency_ms?.p99),
  refused: ({ traffic }) => count(traffic.status[503] ?? 0),
  'no answer': ({ traffic }) => count(Object.values(traffic.errors).reduce((sum, number) => sum + number, 0)),
  'API core': ({ probes }) => wholePercent(probes.api.cpu_core_ratio),
  'API waits': ({ probes }) => wholePercent(probes.api.run_delay_ratio),
  'CPU us': ({ probes }) => figure(probes.api.cpu_us_per_request),
  Postgres: ({ probes }) => wholePercent(probes.postgres.cpu_core_ratio),
  generator: ({ probes }) => wholePercent(probes.generator.cpu_core_ratio),
  'pool used': ({ probes }) => figure(probes.api.pool_used_mean),
  waiting: ({ probes }) => figure(probes.api.pool_waiting_mean),
  statement: ({ probes }) => milliseconds(probes.api.statement_mean_ms),
  'rows/statement': ({ traffic, probes }) => figure(traffic.ok / (probes.api.statements || Number.NaN)),
  'open files': ({ probes }) => figure(probes.api.open_files),
  'hashes at once': ({ probes }) => figure(probes.api.hashing_mean),
  locked: ({ probes }) => wholePercent(lockedOf(probes.postgres.waits)),
  outcome: ({ outcome }) => outcome.verdict,
}

/** @typedef {keyof typeof COLUMNS} Column */

/** The measurements so far: a row for each, in their order, then the notes. @param {Exercise} exercise @param {Found} found */
export function evidenceOf({ columns, notes = {} }, { trials }) {
  const rows = Object.entries(trials).map(([name, trial]) => [name, ...columns.map((column) => COLUMNS[column](trial))])
  const lines = Object.entries(notes).flatMap(([name, linesOf]) => {
    return trials[name] ? linesOf(trials[name]).map((text) => paragraph(`"${name}": ${text}`)) : []
  })
  return [table(['', ...columns], rows), ...lines]
}

/** Share of the running statements that waited for a lock; undefined if Postgres was not observed. @param {Record<string, number> | undefined} waits */
function lockedOf(waits) {
  if (!waits) return undefined
  return Object.entries(waits).reduce((sum, [wait, share]) => sum + (wait.startsWith('Lock:') ? share : 0), 0)
}
