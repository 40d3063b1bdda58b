import { table } from './blocks.js'
import { breakdown, cellName, count, figure, milliseconds, NONE, offered, percent, wholePercent } from './format.js'

/** @import { TrialRecord } from './record.js' */

/**
 * The columns of a table of trials. A terminal shows no `detail`; only it shows `trouble`, and that only if there was any.
 * @type {{ head: string, text: (record: TrialRecord) => string, is?: 'detail' | 'trouble' }[]}
 */
const COLUMNS = [
  { head: 'trial', text: ({ trial }) => String(trial) },
  { head: 'offered', text: ({ cell, load }) => `${cell ? `${cellName(cell)}: ` : ''}${offered(load)}` },
  { head: 'achieved', text: ({ traffic }) => `${count(Math.round(traffic.achieved_rps))}/s` },
  { head: 'success', text: ({ traffic }) => percent(traffic.success_ratio) },
  { head: 'p50', text: ({ traffic }) => milliseconds(traffic.latency_ms?.p50) },
  { head: 'p95', text: ({ traffic }) => milliseconds(traffic.latency_ms?.p95), is: 'detail' },
  { head: 'p99', text: ({ traffic }) => milliseconds(traffic.latency_ms?.p99) },
  { head: 'p99.9', text: ({ traffic }) => milliseconds(traffic.latency_ms?.p999), is: 'detail' },
  { head: 'max', text: ({ traffic }) => milliseconds(traffic.latency_ms?.max), is: 'detail' },
  { head: '201', text: ({ traffic }) => count(traffic.status[201] ?? 0), is: 'detail' },
  { head: 'other answers', text: ({ traffic: { status } }) => breakdown({ ...status, 201: 0 }), is: 'detail' },
  { head: 'not 2xx', text: ({ traffic: { status } }) => breakdown(withoutSuccesses(status)), is: 'trouble' },
  { head: 'errors', text: errorsText, is: 'detail' },
  { head: 'errors', text: errorsText, is: 'trouble' },
  { head: 'API core', text: ({ probes }) => wholePercent(probes.api.cpu_core_ratio) },
  { head: 'Postgres', text: ({ probes }) => wholePercent(probes.postgres?.cpu_core_ratio), is: 'detail' },
  { head: 'generator', text: ({ probes }) => wholePercent(probes.generator.cpu_core_ratio), is: 'detail' },
  { head: 'rows stored', text: ({ traffic }) => figure(traffic.rows_stored), is: 'detail' },
  { head: 'outcome', text: outcomeText },
]

/**
 * All trials of a run, one per row, in the order in which they ran.
 * @param {TrialRecord[]} records @param {TrialRecord[]} [notCounted] those that do not count, since the core had another speed
 */
export function trialTable(records, notCounted = []) {
  const shown = COLUMNS.filter(({ is }) => is !== 'trouble')
  return tableOf(shown, records, notCounted)
}

/** The trial table for a terminal, with fewer columns. @param {TrialRecord[]} records @param {TrialRecord[]} [notCounted] as above */
export function shortTrialTable(records, notCounted = []) {
  const isAlways = (/** @type {typeof COLUMNS[0]} */ { text }, /** @type {string} */ shown) =>
    records.every((record) => text(record) === shown)
  const shown = COLUMNS.filter((column) => {
    return column.is !== 'detail' && !isAlways(column, NONE) && !(column.is === 'trouble' && isAlways(column, '0'))
  })
  return tableOf(shown, records, notCounted)
}

/** @param {typeof COLUMNS} columns @param {TrialRecord[]} records @param {TrialRecord[]} notCounted */
function tableOf(columns, records, notCounted) {
  const heads = columns.map(({ head }) => head)
  const rows = records.map((record) => {
    const row = columns.map(({ text }) => text(record))
    return notCounted.includes(record) ? [...row.slice(0, -1), `${row.at(-1)}, not counted: core speed`] : row
  })
  return table(heads, rows, { align: heads.map((head) => (head === 'outcome' ? 'l' : 'r')) })
}

/** @param {TrialRecord} record */
function errorsText({ traffic }) {
  return breakdown(traffic.errors)
}

/** @param {Record<string, number>} status */
function withoutSuccesses(status) {
  return Object.fromEntries(Object.entries(status).filter(([code]) => !/^2\d\d$/.test(code)))
}

/** @param {TrialRecord} record */
function outcomeText({ outcome: { verdict, blame }, limit, doses }) {
  if (doses && verdict === 'pass') return 'dosed'
  const why = verdict === 'fail' ? limit?.resource : blame
  return why ? `${verdict}: ${why}` : verdict
}
