import { randomInt } from 'node:crypto'
import { keptHeader, WITHHELD } from '../command/credentials.js'
import { UsageError } from '../command/errors.js'
import { header, switchFlag } from '../command/flags.js'
import { REFERENCES, resolveText } from '../command/references.js'
import { columnsFor } from './data-file.js'
import { readText, readUpTo } from './flag-file.js'
import { isContentType, JSON_TYPE } from './mix.js'
import { FRAMING, isMethod, KNOWN_METHOD, readMixFile } from './mix-file.js'
import { replayMix } from './replay.js'
import { sourceOf } from './source.js'

/**
 * @import { Flag } from '../command/flags.js'
 * @import { MixPlan } from '../report/record.js'
 */

const SEEDS = 2 ** 32
const BODY_MAX_BYTES = 10 << 20
const HEADERS_MAX_BYTES = 64 << 10
/** Matches JSON, XML or a form, rather than the name of a file. */
const INLINE = /^\s*[{["<]|=/

/** Flags that define the requests, and one that consents to sending them. @satisfies {Record<string, Flag>} */
export const MIX_FLAGS = {
  method: {
    value: 'NAME',
    about: 'HTTP method (default POST)',
    parse: (/** @type {string} */ text) => (isMethod(text) ? text : undefined),
    expected: KNOWN_METHOD,
  },
  header: {
    value: "'NAME: VALUE'",
    about: `request header, repeatable; the value may contain ${REFERENCES}; @FILE reads one header per line`,
    parse: referringHeaders,
    expected: 'Name: value, or @FILE with such lines',
    shown: (/** @type {string} */ text) => (text.startsWith('@') ? text : keptHeader(text)),
    multiple: true,
  },
  body: {
    value: 'TEXT|@FILE',
    about:
      'body of every request: JSON, XML, a form, or the content of a file (default: a new user for each; none with GET or HEAD)',
    shown: (/** @type {string} */ text) => (INLINE.test(text) ? WITHHELD : text),
  },
  mix: {
    value: 'FILE',
    about: 'JSON file with several weighted requests, see load/README.md#several-requests-by-weight',
  },
  data: { value: 'FILE', about: 'CSV or NDJSON file; its rows fill {{data COLUMN}} in the mix in turn' },
  yes: switchFlag('do not ask before loading a service on another machine'),
  without: { value: 'NAME', about: 'leave out this entry of the mix (repeatable)', multiple: true },
}

/** @param {Record<string, any>} flags parsed by MIX_FLAGS, plus seed and replay @returns {MixPlan} @throws {UsageError} */
export function mixOf(flags) {
  const { mix, without, data, method = 'POST', body, seed = randomInt(SEEDS) } = flags
  const headers = (flags.header ?? []).flat()
  refuseHeaders(headers)
  const common = { method, headers: typed(headers), seed }
  if (mix) {
    const beside = ['method', 'body'].find((name) => flags[name] !== undefined)
    if (beside) throw new UsageError(`--${beside}: cannot be combined with --mix, whose entries have their own`)
    const entries = readMixFile(mix, without)
    const columns = columnsFor(entries, data ?? null)
    const rows = data !== undefined && { data: columns, data_source: sourceOf('data', data) }
    const source = sourceOf('mix', mix)
    return { ...common, name: mix, method: entries[0].method, body_base64: null, entries, source, ...rows }
  }
  if (data !== undefined) throw new UsageError('--data: requires --mix')
  if (without) throw new UsageError('--without: requires --mix')
  if (flags.replay) return replayMix(flags.replay, headers, seed)
  if (body !== undefined) return { ...common, ...bodyFrom(body) }
  const isBodiless = method === 'GET' || method === 'HEAD'
  if (isBodiless) return { ...common, name: method.toLowerCase(), headers, body_base64: '' }
  return { ...common, name: 'create-user', body_base64: null }
}

/** Reads a file as base64. @param {string} file @throws {UsageError} */
export function bodyOf(file) {
  return readUpTo('body', file, BODY_MAX_BYTES).toString('base64')
}

/** @param {string} text value of --body */
function bodyFrom(text) {
  if (INLINE.test(text)) {
    const content = Buffer.from(text)
    const source = { flag: /** @type {const} */ ('body'), file: WITHHELD, bytes: content.length, modified_at: null }
    return { name: 'body', body_base64: content.toString('base64'), source }
  }
  const file = text.replace(/^@/, '')
  return { name: file, body_base64: bodyOf(file), source: sourceOf('body', file) }
}

/** Adds the JSON content type unless the headers already have one. @param {[string, string][]} headers */
function typed(headers) {
  return headers.some(isContentType) ? headers : [JSON_TYPE, ...headers]
}

/**
 * Parses a header, or a file of them, and resolves their references to secrets, so that no run starts with one missing.
 * @param {string} text @returns {[string, string][] | undefined}
 */
function referringHeaders(text) {
  const lines = text.startsWith('@') ? readText('header', text.slice(1), HEADERS_MAX_BYTES).split(/\r?\n/) : [text]
  const given = lines.filter((line) => line.trim() !== '' || lines.length === 1).map(header)
  const isFit = given.every((one) => one && header(`${one[0]}: ${resolveText('header', one[1])}`))
  return isFit ? /** @type {[string, string][]} */ (given) : undefined
}

/** Refuses headers that the drivers set themselves or would send differently. @param {[string, string][]} headers */
function refuseHeaders(headers) {
  const names = headers.map(([name]) => name.toLowerCase())
  const framing = names.find((name) => FRAMING.includes(name))
  if (framing) throw new UsageError(`--header: expected no framing header, got ${framing}`)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice) throw new UsageError(`--header: expected each name once, got ${twice} twice`)
}
