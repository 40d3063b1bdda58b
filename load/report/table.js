import { markdownTable } from 'markdown-table'

/**
 * @import { TrialRecord } from '../run/trial.js'
 * @import { Outcome } from '../verdict/judge.js'
 * @import { Limit } from '../verdict/limit.js'
 */

const HEAD = [
  'offered',
  'achieved',
  'success',
  'p50',
  'p99',
  'max',
  '201',
  'other answers',
  'errors',
  'API core',
  'rows stored',
  'outcome',
]

/** Left out where there is little room; that rows are missing, say, makes a trial invalid. */
const DETAILS = ['max', '201', 'rows stored']
/** Left out, too, where they say nothing. */
const TROUBLES = ['other answers', 'errors']

export const NONE = '–'

/**
 * The trials of a run as a markdown table, a row each, in the order in which they ran.
 *
 * @param {TrialRecord[]} records
 * @returns {string}
 */
export function trialTable(records) {
  return tableOf(HEAD, records.map(row))
}

/** The same for a terminal. @param {TrialRecord[]} records @returns {string} */
export function shortTrialTable(records) {
  const rows = records.map(row)
  const kept = HEAD.map((name, i) => {
    return !DETAILS.includes(name) && !(TROUBLES.includes(name) && rows.every((cells) => cells[i] === '0'))
  })
  const short = (/** @type {string[]} */ cells) => cells.filter((_, i) => kept[i])
  return tableOf(short(HEAD), rows.map(short))
}

/** @param {string[]} head @param {string[][]} rows */
function tableOf(head, rows) {
  const align = [...head.slice(0, -1).map(() => 'r'), 'l']
  return markdownTable([head, ...rows], { align })
}

/** @param {TrialRecord} record */
function row({ load, traffic, probes, outcome, limit, cell: place }) {
  const { 201: created = 0, ...others } = traffic.status
  return [
    `${place ? `${cell(place)}: ` : ''}${offered(load)}`,
    `${count(Math.round(traffic.achieved_rps))}/s`,
    percent(traffic.success_ratio),
    milliseconds(traffic.latency_ms?.p50),
    milliseconds(traffic.latency_ms?.p99),
    milliseconds(traffic.latency_ms?.max),
    count(created),
    breakdown(others),
    breakdown(traffic.errors),
    probes.api.cpu_core_ratio === undefined ? NONE : `${Math.round(probes.api.cpu_core_ratio * 100)} %`,
    traffic.rows_stored === null ? NONE : count(traffic.rows_stored),
    outcomeOf(outcome, limit),
  ]
}

/** @param {Outcome} outcome @param {Limit | null} limit */
function outcomeOf({ verdict, blame }, limit) {
  const why = verdict === 'fail' ? limit?.resource : blame
  return why ? `${verdict}: ${why}` : verdict
}

/** What a load asks for: a rate, or connections that each send when they have their answer. @param {any} load */
export function offered({ rate_rps, connections }) {
  return rate_rps === null ? `${count(connections)} conn.` : `${count(rate_rps)}/s`
}

/** 12345.6 -> 12,345.6 @param {number} value */
export function count(value) {
  return decimal(value, 3, 0)
}

/** @type {Map<string, Intl.NumberFormat>} to make one takes far longer than to use it */
const formats = new Map()

/**
 * 12345.67 -> 12,345.7
 *
 * @param {number} value
 * @param {number} most digits behind the point
 * @param {number} [least] zeros at the end are left out down to it
 */
export function decimal(value, most, least = most) {
  // Most figures are such; Intl takes ten times as long.
  if (least === 0 && value >= 0 && value < 1000 && Number.isInteger(value)) return String(value)
  const key = `${least} ${most}`
  const format =
    formats.get(key) ?? new Intl.NumberFormat('en-US', { minimumFractionDigits: least, maximumFractionDigits: most })
  formats.set(key, format)
  return format.format(value)
}

/**
 * A capacity in words, of which one end may be unknown.
 *
 * @param {{ low_rps: number | null, high_rps: number | null }} bounds
 */
export function ratesText({ low_rps, high_rps }) {
  if (low_rps === null) return `below ${count(Number(high_rps))}/s`
  return high_rps === null ? `at least ${count(low_rps)}/s` : `${count(low_rps)} to ${count(high_rps)}/s`
}

/** Never rounded up to 100 %. @param {number} ratio */
export function percent(ratio) {
  return ratio === 1 ? '100 %' : `${(Math.floor(ratio * 10_000) / 100).toFixed(2)} %`
}

/** Three digits, in the unit that reads best. @param {number | undefined} ms */
export function milliseconds(ms) {
  if (ms === undefined || Number.isNaN(ms)) return NONE
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(ms < 100 ? 1 : 0)} ms`
  return `${(ms / 1000).toFixed(2)} s`
}

/** @param {Record<string, number>} counts */
function breakdown(counts) {
  const parts = Object.entries(counts).map(([key, number]) => `${count(number)} × ${cell(key)}`)
  return parts.join(', ') || '0'
}

/** Text from outside must not open a column of its own. @param {string} text */
function cell(text) {
  return text.replace(/[|\r\n]/g, ' ')
}
