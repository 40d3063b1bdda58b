import { attempt } from '../../sql/attempt.js'
import { UsageError } from '../command/errors.js'

/** @import { Replay, Skipped } from '../report/record.js' */

/**
 * The requests of an access log that can be replayed, in chronological order.
 * @typedef {{ requests: string[], order: Uint32Array, times_s: Float64Array, span_s: number, summary: Omit<Replay, 'file'> }} Recording
 *   requests: each distinct one once, such as GET /x; order: the request's index for each arrival; times_s: since the first
 *   arrival, ascending; span_s: period after which the log repeats
 */

const MAX_LINES = 1_000_000
/** Servers refuse longer request lines; a longer line is not parsed. */
const MAX_LINE_BYTES = 64 * 1024
const LF = 10
/** Common and combined format; other words may come first, such as the virtual host, or an IPv6 address in brackets. */
const COMBINED = /^(?:\[[^\] ]*\]|[^["])*\[([^\]]*)\] "((?:[^"\\]|\\.)*)" \d{3}(?: |$)/
const REQUEST = /^([A-Z]+) (\S+) HTTP\/\d(?:\.\d)?$/
const CLF_TIME = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d{4})$/
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const ISO = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?$/
/** Fields of a JSON line, by preference. nginx's uri lacks the query, which its request_uri contains. */
const TIME_FIELDS = ['time', 'timestamp', 'ts', '@timestamp', 'msec']
const METHOD_FIELDS = ['method', 'request_method']
const TARGET_FIELDS = ['request_uri', 'url', 'uri', 'path']
/** Threshold: seconds since 1970 stay below it until 5138; milliseconds have exceeded it since 1973. */
const LEAST_MS = 1e11
const MAX_MS = 1e14
/** Methods without a body and without side effects on the service. */
const REPLAYED = ['GET', 'HEAD']
/** Matches an origin-form target. It excludes the backslash, with which servers escape what they cannot log verbatim. */
const PATH = /^\/[\x21-\x5b\x5d-\x7e]*$/
const FORMATS =
  'an access log in combined or common format, or JSON lines with a time, a method and a path (see load/README.md)'

/**
 * Reads an access log; the first line determines its format. Pure.
 * @param {Buffer} bytes @returns {Recording} @throws {UsageError} without any of its content
 */
export function parseLog(bytes) {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    throw new UsageError('--replay: expected text, got a gzip file: zcat it into a file first')
  }
  /** @type {Skipped} */
  const skipped = { lines: 0, not_understood: 0, first_line: null, methods: 0, paths: 0 }
  /** @type {Map<string, number>} */
  const known = new Map()
  const arrived = { at_s: /** @type {number[]} */ ([]), request: /** @type {number[]} */ ([]) }
  /** @type {((line: string) => Line | null) | undefined} */
  let read
  let number = 0
  for (const line of linesOf(bytes)) {
    number++
    if (line === '') continue
    if (++skipped.lines > MAX_LINES) throw new UsageError(`--replay: expected at most ${MAX_LINES} lines, got more`)
    read ??= line.startsWith('{') ? fromJson : fromCombined
    const found = line.length > MAX_LINE_BYTES ? null : read(line)
    if (!found) {
      skipped.not_understood++
      skipped.first_line ??= number
      continue
    }
    const path = pathOf(found.target)
    if (!REPLAYED.includes(found.method)) skipped.methods++
    else if (!PATH.test(path)) skipped.paths++
    else {
      const key = `${found.method} ${path}`
      if (!known.has(key)) known.set(key, known.size)
      arrived.at_s.push(found.time_s)
      arrived.request.push(Number(known.get(key)))
    }
  }
  if (skipped.not_understood === skipped.lines) {
    throw new UsageError(`--replay: expected ${FORMATS}, got ${skipped.lines} lines, none of which was understood`)
  }
  return recordingOf([...known.keys()], arrived, skipped)
}

/** @typedef {{ time_s: number, method: string, target: string }} Line time_s: since 1970 */

/** @param {Buffer} bytes @returns {Iterable<string>} with a character per byte */
function* linesOf(bytes) {
  for (let from = 0; from < bytes.length; ) {
    const found = bytes.indexOf(LF, from)
    const to = found === -1 ? bytes.length : found
    // Decodes only enough of a line to detect that it is too long.
    const line = bytes.toString('latin1', from, Math.min(to, from + MAX_LINE_BYTES + 2))
    yield line.replace(/^\xef\xbb\xbf/, '').trim()
    from = to + 1
  }
}

/** @param {string} line @returns {Line | null} */
function fromCombined(line) {
  const [, time, request] = COMBINED.exec(line) ?? []
  return lineOf(timeOf(time), request)
}

/** @param {string} line @returns {Line | null} */
function fromJson(line) {
  const row = attempt(() => JSON.parse(line), null)
  if (typeof row !== 'object' || row === null) return null
  const [time, method, target] = [TIME_FIELDS, METHOD_FIELDS, TARGET_FIELDS].map((names) => {
    return names.map((name) => row[name]).find((value) => ['string', 'number'].includes(typeof value))
  })
  const [time_s, hasBoth] = [timeOf(time), typeof method === 'string' && typeof target === 'string']
  const own = hasBoth && time_s !== null ? { time_s, method: method.toUpperCase(), target } : null
  return lineOf(time_s, row.request) ?? own
}

/** @param {number | null} time_s @param {unknown} request such as GET /x HTTP/1.1 @returns {Line | null} */
function lineOf(time_s, request) {
  const [, method, target] = (typeof request === 'string' && REQUEST.exec(request)) || []
  return time_s === null || !method ? null : { time_s, method, target }
}

/** @param {unknown} value in common format, ISO 8601 (UTC without a zone), or seconds or ms since 1970 @returns {number | null} s */
function timeOf(value) {
  const text = String(value)
  const [, day, name, year, ...rest] = CLF_TIME.exec(text) ?? []
  const month = String(MONTHS.indexOf(name) + 1).padStart(2, '0')
  const [, date, time, fraction = '0', zone = 'Z'] =
    ISO.exec(day ? `${year}-${month}-${day}T${rest.join('')}` : text) ?? []
  if (date) {
    const whole_ms = Date.parse(`${date}T${time}${zone.replace(/^(...)(\d\d)$/, '$1:$2')}`)
    return Number.isNaN(whole_ms) ? null : whole_ms / 1000 + Number(`0.${fraction}`)
  }
  const number = /^\d{1,15}(\.\d{1,20})?$/.test(text) ? Number(text) : Number.NaN
  if (!(number < MAX_MS)) return null
  return number < LEAST_MS ? number : number / 1000
}

/** Removes the origin of an absolute URL, and any fragment. @param {string} target */
function pathOf(target) {
  const own = target.replace(/^https?:\/\/[^/?#]*/i, '')
  return (own === target || own.startsWith('/') ? own : `/${own}`).replace(/#.*$/, '')
}

/** @param {string[]} requests @param {Record<'at_s' | 'request', number[]>} arrived @param {Skipped} skipped @returns {Recording} */
function recordingOf(requests, { at_s, request }, skipped) {
  const n = at_s.length
  const inOrder = Uint32Array.from(at_s.keys()).sort((a, b) => at_s[a] - at_s[b] || a - b)
  const times_s = Float64Array.from(inOrder, (i) => at_s[i])
  if (!(rounded(times_s[n - 1] - times_s[0]) > 0)) {
    const got = n < 2 ? `${n}` : `${n} at the same time`
    throw new UsageError(`--replay: expected at least two requests by GET or HEAD at different times, got ${got}`)
  }
  const peak_rps = spread(times_s)
  const start_s = times_s[0]
  for (let i = 0; i < n; i++) times_s[i] = rounded(times_s[i] - start_s)
  const span_s = rounded((times_s[n - 1] * n) / (n - 1))
  const methods = [...new Set(requests.map((text) => text.slice(0, text.indexOf(' '))))].sort()
  const summary = { requests: n, span_s, mean_rps: n / span_s, peak_rps, methods, skipped }
  return { requests, order: Uint32Array.from(inOrder, (i) => request[i]), times_s, span_s, summary }
}

/** Rounds to the microsecond, the precision of seconds since 1970 in a double. @param {number} time_s */
function rounded(time_s) {
  return Math.round(time_s * 1e6) / 1e6
}

/** Spaces each second's arrivals evenly if times are whole. @param {Float64Array} times_s ascending @returns {number} most per second */
function spread(times_s) {
  const isWhole = times_s.every(Number.isInteger)
  let most = 0
  for (let from = 0, to = 0; from < times_s.length; from = to) {
    const second = Math.floor(times_s[from])
    while (to < times_s.length && Math.floor(times_s[to]) === second) to++
    most = Math.max(most, to - from)
    if (isWhole) for (let i = from; i < to; i++) times_s[i] += (i - from) / (to - from)
  }
  return most
}
