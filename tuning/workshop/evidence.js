import { count, milliseconds, NONE, offered, percent } from '../../load/report/format.js'
import { table } from '../stats/spread.js'

/** @import { TrialRecord } from '../../load/run/trial.js' */

/** @typedef {TrialRecord} Trial */

/**
 * What may stand in a table of evidence. Terminals are 100 columns wide, so each exercise takes what it needs.
 *
 * @satisfies {Record<string, (trial: Trial) => string>}
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
  'API core': ({ probes }) => share(probes.api.cpu_core_ratio),
  'API waits': ({ probes }) => share(probes.api.run_delay_ratio),
  'CPU us': ({ probes }) => fixed(probes.api.cpu_us_per_request, 0),
  Postgres: ({ probes }) => share(probes.postgres.cpu_core_ratio),
  generator: ({ probes }) => share(probes.generator.cpu_core_ratio),
  'pool used': ({ probes }) => fixed(probes.api.pool_used_mean, 1),
  waiting: ({ probes }) => fixed(probes.api.pool_waiting_mean, 0),
  statement: ({ probes }) => milliseconds(probes.api.statement_mean_ms ?? undefined),
  'rows/statement': ({ traffic, probes }) => fixed(traffic.ok / Number(probes.api.statements), 1),
  'open files': ({ probes }) => fixed(probes.api.open_files, 0),
  'hashes at once': ({ probes }) => fixed(probes.api.hashing_mean, 1),
  outcome: ({ outcome }) => outcome.verdict,
}

/**
 * Trials, a row each, with the columns that are asked for.
 *
 * @param {Record<string, Trial | undefined>} trials by what each is called; one that is not there yet has no row
 * @param {(keyof typeof COLUMNS)[]} columns
 */
export function evidenceTable(trials, columns) {
  const rows = Object.entries(trials).flatMap(([name, trial]) => {
    return trial ? [[name, ...columns.map((column) => COLUMNS[column](trial))]] : []
  })
  return table(['', ...columns], rows)
}

/**
 * What a trial that was no success is laid to, with its figures.
 *
 * @param {Trial} trial
 */
export function limitText({ limit, outcome }) {
  if (outcome.verdict === 'invalid') return `This trial says nothing about the service: ${outcome.because}.`
  if (outcome.verdict === 'pass') return 'The promise was kept.'
  if (limit.resource === 'none-reached') return 'Nothing that was looked at was at its limit.'
  return `At its limit: ${limit.resource}: ${limit.evidence.join('; ')}.`
}

/** @param {number} value */
export function figure(value) {
  return count(value < 10 ? Number(value.toFixed(1)) : Math.round(value))
}

/** @param {number | null | undefined} ratio */
function share(ratio) {
  return ratio === null || ratio === undefined ? NONE : `${Math.round(ratio * 100)} %`
}

/** @param {number | null | undefined} value @param {number} digits */
function fixed(value, digits) {
  return value === null || value === undefined || !Number.isFinite(value) ? NONE : value.toFixed(digits)
}
