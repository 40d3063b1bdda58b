import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { keptHeader, WITHHELD } from '../command/credentials.js'
import { UsageError } from '../command/errors.js'
import { header } from '../command/flags.js'
import { REFERENCES, resolveText } from '../command/references.js'
import { JSON_TYPE } from './mix.js'
import { isMethod, KNOWN_METHOD, readable, readMixFile } from './mix-file.js'
import { replayMix } from './replay.js'
import { sourceOf } from './source.js'

/**
 * @import { Flag } from '../command/flags.js'
 * @import { MixPlan } from '../report/record.js'
 */

const SEEDS = 2 ** 32
/** JSON, XML or a form, rather than the name of a file. */
const INLINE = /^\s*[{["<]|=/

/** Flags that define the requests, and agree to them. @satisfies {Record<string, Flag>} */
export const MIX_FLAGS = {
  method: {
    value: 'NAME',
    about: 'HTTP method (default POST)',
    parse: (/** @type {string} */ text) => (isMethod(text) ? text : undefined),
    expected: KNOWN_METHOD,
  },
  header: {
    value: "'NAME: VALUE'",
    about: `may be given more than once; the value may hold ${REFERENCES}`,
    parse: referringHeader,
    expected: 'Name: value',
    shown: keptHeader,
    multiple: true,
  },
  body: {
    value: 'TEXT|@FILE',
    about: 'the same body for every request: JSON, XML or a form, or the content of a file (default: a new user each)',
    shown: (/** @type {string} */ text) => (INLINE.test(text) ? WITHHELD : text),
  },
  mix: { value: 'FILE', about: 'several requests by weight, instead: JSON, see load/README.md' },
  yes: { value: '', about: 'send them to a service on another machine without being asked' },
  without: { value: 'NAME', about: 'leave out this entry of the mix; may be given more than once', multiple: true },
}

/** @param {Record<string, any>} flags parsed by MIX_FLAGS, plus seed and replay @returns {MixPlan} @throws {UsageError} */
export function mixOf(flags) {
  const { mix, without, method = 'POST', body, header: headers = [], seed = randomInt(SEEDS) } = flags
  refuseHeaders(headers)
  const common = { method, headers: typed(headers), seed }
  if (mix) {
    const beside = ['method', 'body'].find((name) => flags[name] !== undefined)
    if (beside) throw new UsageError(`--${beside}: cannot be combined with --mix, whose entries have their own`)
    const entries = readMixFile(mix, without)
    const source = sourceOf('mix', mix)
    return { ...common, name: mix, method: entries[0].method, body_base64: null, entries, source }
  }
  if (without) throw new UsageError('--without: requires --mix')
  if (flags.replay) return replayMix(flags.replay, headers, seed)
  if (body !== undefined) return { ...common, ...bodyFrom(body) }
  const isBodiless = method === 'GET' || method === 'HEAD'
  if (isBodiless) return { ...common, name: method.toLowerCase(), headers, body_base64: '' }
  return { ...common, name: 'create-user', body_base64: null }
}

/** The content of a file in base64. @param {string} file @throws {UsageError} */
export function bodyOf(file) {
  return readable('body', () => readFileSync(file, 'base64'))
}

/** @param {string} text of --body */
function bodyFrom(text) {
  if (INLINE.test(text)) {
    const source = {
      flag: /** @type {const} */ ('body'),
      file: WITHHELD,
      bytes: Buffer.byteLength(text),
      modified_at: null,
    }
    return { name: 'body', body_base64: Buffer.from(text).toString('base64'), source }
  }
  const file = text.replace(/^@/, '')
  return { name: file, body_base64: bodyOf(file), source: sourceOf('body', file) }
}

/** Adds the JSON content type unless the headers already have one. @param {[string, string][]} headers */
function typed(headers) {
  const has = headers.some(([name]) => name.toLowerCase() === 'content-type')
  return has ? headers : [JSON_TYPE, ...headers]
}

/** Parses a header and resolves its references to secrets, so that no run starts without them. @param {string} text */
function referringHeader(text) {
  const given = header(text)
  return given && header(`${given[0]}: ${resolveText('header', given[1])}`) ? given : undefined
}

/** Refuses headers that the drivers set themselves or would send differently. @param {[string, string][]} headers */
function refuseHeaders(headers) {
  const names = headers.map(([name]) => name.toLowerCase())
  const framing = names.find((name) => ['host', 'content-length', 'transfer-encoding', 'connection'].includes(name))
  if (framing) throw new UsageError(`--header: expected none that frames the request, got ${framing}`)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice) throw new UsageError(`--header: expected each name once, got ${twice} twice`)
}
