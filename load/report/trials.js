import { table } from './blocks.js'
import { breakdown, cellName, count, milliseconds, NONE, offered, percent, wholePercent } from './format.js'

/** @import { TrialRecord } from './record.js' */

/**
 * The columns of a table of trials. A terminal shows no `detail`, and `trouble` only if there was any.
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
  { head: 'other answers', text: ({ traffic: { status } }) => breakdown({ ...status, 201: 0 }), is: 'trouble' },
  { head: 'errors', text: ({ traffic }) => breakdown(traffic.errors), is: 'trouble' },
  { head: 'API core', text: ({ probes }) => wholePercent(probes.api.cpu_core_ratio) },
  { head: 'Postgres', text: ({ probes }) => wholePercent(probes.postgres?.cpu_core_ratio), is: 'detail' },
  { head: 'generator', text: ({ probes }) => wholePercent(probes.generator.cpu_core_ratio), is: 'detail' },
  {
    head: 'rows stored',
    text: ({ traffic }) => (traffic.rows_stored === null ? NONE : count(traffic.rows_stored)),
    is: 'detail',
  },
  { head: 'outcome', text: outcomeText },
]

/** All trials of a run, one per row, in the order in which they ran. @param {TrialRecord[]} records */
export function trialTable(records) {
  return tableOf(COLUMNS, records)
}

/** The trial table for a terminal, with fewer columns. @param {TrialRecord[]} records */
export function shortTrialTable(records) {
  const isEmpty = (/** @type {typeof COLUMNS[0]} */ { text }) => records.every((record) => text(record) === '0')
  const shown = COLUMNS.filter((column) => column.is !== 'detail' && !(column.is === 'trouble' && isEmpty(column)))
  return tableOf(shown, records)
}

/** @param {typeof COLUMNS} columns @param {TrialRecord[]} records */
function tableOf(columns, records) {
  const heads = columns.map(({ head }) => head)
  const rows = records.map((record) => columns.map(({ text }) => text(record)))
  return table(heads, rows, { align: heads.map((head) => (head === 'outcome' ? 'l' : 'r')) })
}

/** @param {TrialRecord} record */
function outcomeText({ outcome: { verdict, blame }, limit, doses }) {
  if (doses && verdict === 'pass') return 'dosed'
  const why = verdict === 'fail' ? limit?.resource : blame
  return why ? `${verdict}: ${why}` : verdict
}
