/** @import { Cell } from './record.js' */

export const NONE = '–'

/** Replaces characters that a terminal obeys, or that XML 1.0 cannot hold, even escaped (its production 2). @param {string} text */
export function printable(text) {
  return text.replace(/\r\n/g, '\n').replace(/[^\P{Cc}\t\n]|[\ufffe\uffff]/gu, '\ufffd')
}

/** A text as the start of a sentence. @param {string} text */
export function capitalised(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}`
}

/** The rate of an open loop, or the connections of a closed one. @param {any} load */
export function offered({ rate_rps, connections }) {
  return rate_rps === null ? `${count(connections)} conn.` : `${count(rate_rps)}/s`
}

/** 12345.6 -> 12,345.6 @param {number} value */
export function count(value) {
  return decimal(value, 3, 0)
}

/** { 503: 1000, 'server:reset': 2 } -> 1,000 × 503, 2 × server:reset @param {Record<string, number>} counts */
export function breakdown(counts) {
  const parts = Object.entries(counts).filter(([, number]) => number > 0)
  return parts.map(([key, number]) => `${count(number)} × ${key}`).join(', ') || '0'
}

/** A measured rate: 12.34 -> 12.3, 1234.5 -> 1,235 @param {number | null | undefined} value */
export function figure(value) {
  return Number.isNaN(value ?? Number.NaN) ? NONE : decimal(Number(value), Number(value) < 100 ? 1 : 0, 0)
}

/** Three significant digits, or a whole number from 100: 0.01234 -> 0.0123, 1234.5 -> 1,235 @param {number} value */
export function threeDigits(value) {
  return Math.abs(value) >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(3)))
}

/** @type {Map<string, Intl.NumberFormat>} cached, since creating one takes far longer than using it */
const formats = new Map()

/** 12345.67 -> 12,345.7, -0.04 -> 0.0 @param {number} value @param {number} most decimals @param {number} [least] decimals kept even if zero */
export function decimal(value, most, least = most) {
  // Shortcut for most figures: Intl takes ten times as long.
  if (least === 0 && value >= 0 && value < 1000 && Number.isInteger(value)) return String(value)
  const key = `${least} ${most}`
  const digits = { minimumFractionDigits: least, maximumFractionDigits: most }
  const format = formats.get(key) ?? new Intl.NumberFormat('en-US', { ...digits, signDisplay: 'negative' })
  formats.set(key, format)
  return format.format(value)
}

/** A capacity in words; one end may be unknown. @param {{ low_rps: number | null, high_rps: number | null }} bounds */
export function ratesText({ low_rps, high_rps }) {
  if (low_rps === null) return `below ${count(Number(high_rps))}/s`
  return high_rps === null ? `at least ${count(low_rps)}/s` : `${count(low_rps)} to ${count(high_rps)}/s`
}

/** Rounds down, so that only 1 becomes 100 %. @param {number} ratio */
export function percent(ratio) {
  if (ratio === 1) return '100 %'
  // 0.0003 * 10,000 is a little less than 3.
  return `${(Math.floor(Number((ratio * 10_000).toFixed(6))) / 100).toFixed(2)} %`
}

/** About three digits, in ms or s. @param {number | null | undefined} ms null: JSON's NaN */
export function milliseconds(ms) {
  if (typeof ms !== 'number' || !Number.isFinite(ms)) return NONE
  if (ms < 1000) return `${ms < 10 ? ms.toFixed(2) : ms.toFixed(ms < 100 ? 1 : 0)} ms`
  return `${(ms / 1000).toFixed(2)} s`
}

/** @param {number} bytes */
export function mebibytes(bytes) {
  return `${count(Math.round(bytes / 2 ** 20))} MiB`
}

/** 0.847 -> 85 % @param {number | null | undefined} ratio */
export function wholePercent(ratio) {
  return Number.isNaN(ratio ?? Number.NaN) ? NONE : `${Math.round(Number(ratio) * 100)} %`
}

/** Most processes that a sentence lists. */
const MOST_PROCESSES = 3

/** `chrome (pid 4711) 41 %, node (pid 12) 9 %`, of a core @param {{ name: string, pid: number, core_ratio: number }[]} processes busiest first */
export function processesText(processes) {
  return processes
    .slice(0, MOST_PROCESSES)
    .map(({ name, pid, core_ratio }) => `${printable(name)} (pid ${pid}) ${wholePercent(core_ratio)}`)
    .join(', ')
}

/** 0.8472 -> 84.7 % @param {number} ratio */
export function tenthPercent(ratio) {
  return Number.isFinite(ratio) ? `${(ratio * 100).toFixed(1)} %` : NONE
}

/** { POOL_MAX: 5, INSERT_MODE: 'single' } -> POOL_MAX=5 INSERT_MODE=single; omits lower-case names. @param {Cell | string | null} cell */
export function cellName(cell) {
  if (cell === null || typeof cell === 'string') return cell ?? ''
  return Object.entries(cell)
    .map(([name, level]) => (/^[a-z]/.test(name) ? level : `${name}=${level}`))
    .join(' ')
}

/** Whether two cells have the same name. @param {Cell | string | null} a @param {Cell | string | null} b */
export function isSameCell(a, b) {
  return cellName(a) === cellName(b)
}
