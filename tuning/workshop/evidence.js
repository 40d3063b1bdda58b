import { paragraph, table } from '../../load/report/blocks.js'
import { count, milliseconds, NONE, offered, percent, wholePercent } from '../../load/report/format.js'

/**
 * @import { Exercise, Found } from './exercise.js'
 * @import { TrialRecord } from '../../load/report/record.js'
 */

/**
 * Terminals are 100 columns wide, so each exercise shows the few that it needs.
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
  'CPU us': ({ probes }) => fixed(probes.api.cpu_us_per_request, 0),
  Postgres: ({ probes }) => wholePercent(probes.postgres.cpu_core_ratio),
  generator: ({ probes }) => wholePercent(probes.generator.cpu_core_ratio),
  'pool used': ({ probes }) => fixed(probes.api.pool_used_mean, 1),
  waiting: ({ probes }) => fixed(probes.api.pool_waiting_mean, 0),
  statement: ({ probes }) => milliseconds(probes.api.statement_mean_ms ?? undefined),
  'rows/statement': ({ traffic, probes }) => fixed(traffic.ok / Number(probes.api.statements), 1),
  'open files': ({ probes }) => fixed(probes.api.open_files, 0),
  'hashes at once': ({ probes }) => fixed(probes.api.hashing_mean, 1),
  outcome: ({ outcome }) => outcome.verdict,
}

/** @typedef {keyof typeof COLUMNS} Column */

/** What was measured so far, a row for each trial, with notes. @param {Exercise} exercise @param {Found} found */
export function evidenceOf({ rows, columns, notes = {} }, { trials }) {
  const measured = Object.entries(rows).filter(([, name]) => trials[name])
  const cells = measured.map(([row, name]) => [row, ...columns.map((column) => COLUMNS[column](trials[name]))])
  const lines = Object.entries(notes).flatMap(([name, linesOf]) => (trials[name] ? linesOf(trials[name]) : []))
  return [table(['', ...columns], cells), ...lines.map((text) => paragraph(text))]
}

/** What limited a trial, with its figures. @param {TrialRecord} trial */
export function limitText({ limit, outcome }) {
  if (outcome.verdict === 'invalid') return `This trial says nothing about the service: ${outcome.because}.`
  if (outcome.verdict === 'pass') return 'The promise was kept.'
  if (limit.resource === 'none-reached') return 'Nothing that was looked at was at its limit.'
  return `At its limit: ${limit.resource}: ${limit.evidence.join('; ')}.`
}

/** Whether a guess, as a multiple of what was measured, is within bounds. @param {number} ratio @param {[number, number]} bounds */
export function isNear(ratio, [least, most]) {
  return ratio > least && ratio < most
}

/** A guessed percentage: right within 15 percentage points. @param {number} said @param {number} left_ratio */
export function guessedLeft(said, left_ratio) {
  const left = 100 * left_ratio
  return { right: Math.abs(left - said) <= 15, text: `You said ${said} %, ${figure(left)} % was left.` }
}

/** An outcome that the SLO decides. @param {TrialRecord} trial */
export function promised({ outcome }) {
  return { solved: outcome.verdict === 'pass', because: outcome.because }
}

/** @param {number} value */
export function figure(value) {
  return count(value < 10 ? Number(value.toFixed(1)) : Math.round(value))
}

/** @param {number | null | undefined} value @param {number} digits */
function fixed(value, digits) {
  return value === null || value === undefined || !Number.isFinite(value) ? NONE : value.toFixed(digits)
}
