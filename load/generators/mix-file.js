import { METHODS } from 'node:http'
import { keptUrl } from '../command/credentials.js'
import { UsageError } from '../command/errors.js'
import { header } from '../command/flags.js'
import { boundsOf, SLO_EXPECTED } from '../report/slo.js'
import { readText } from './flag-file.js'
import { KNOWN_BLANKS, namesOf, unknownBlank } from './template.js'

/** @import { Entry } from '../report/record.js' */

const MAX_BYTES = 1 << 20
const MAX_ENTRIES = 1000
const MAX_WEIGHT = 1e9

const KEYS = ['name', 'method', 'path', 'body', 'headers', 'take', 'weight', 'slo']
const SHAPE =
  '[{"name":"create","method":"POST","path":"/user","body":"{\\"email\\":\\"{{seq}}@a.test\\"}","weight":1}]'

/** Headers that the drivers set themselves, or that delimit the request. */
export const FRAMING = ['host', 'content-length', 'transfer-encoding', 'connection']

/** Describes a valid method, for messages. */
export const KNOWN_METHOD = 'a method of HTTP in capitals, such as GET or POST'

/** Returns whether Node can send a method. CONNECT opens a tunnel, in which there are no responses to count. @param {unknown} text */
export function isMethod(text) {
  return METHODS.includes(String(text)) && text !== 'CONNECT'
}

/**
 * Reads a weighted mix from a JSON file: a list of objects with a name, a path and, optionally, a method (default: POST with
 * a body, otherwise GET), a body (text or JSON), headers, values to take from the response (JSON Pointers by name), a weight
 * (default: 1) and an SLO of its own (default: none).
 * @param {string} file @param {string[]} without names of entries to leave out @returns {Entry[]} at least one
 * @throws {UsageError}
 */
export function readMixFile(file, without = []) {
  const found = parsed(readText('mix', file, MAX_BYTES), file)
  expect(Array.isArray(found), `a list such as ${SHAPE}`, kindOf(found))
  expect(found.length > 0, 'at least one entry', 'none')
  expect(found.length <= MAX_ENTRIES, `at most ${MAX_ENTRIES} entries`, found.length)
  /** @type {Entry[]} */
  const entries = found.map(entryOf)
  const names = entries.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  expect(twice === undefined, 'each name once', `${twice} twice`)
  const stranger = without.find((name) => !names.includes(name))
  if (stranger !== undefined) {
    throw new UsageError(`--without: expected one of ${names.join(', ')}, got ${JSON.stringify(stranger)}`)
  }
  const left = entries.filter(({ name }) => !without.includes(name))
  if (left.length === 0) throw new UsageError('--without: expected at least one entry to be left, got none')
  checkTaken(left)
  return left
}

/** Checks that exactly one entry takes each value, and that no entries wait for each other in a circle. @param {Entry[]} entries */
function checkTaken(entries) {
  const takenBy = (/** @type {Entry} */ { take = {} }) => Object.keys(take)
  for (const value of new Set([...namesOf(entries, 'taken'), ...entries.flatMap(takenBy)])) {
    const by = entries.filter((entry) => takenBy(entry).includes(value)).map(({ name }) => name)
    expect(by.length === 1, `one entry to take ${JSON.stringify(value)}`, by.length === 0 ? 'none' : by.join(' and '))
  }
  let waiting = entries
  for (let before = []; waiting.length !== before.length; ) {
    before = waiting
    const late = new Set(before.flatMap(takenBy))
    waiting = before.filter((entry) => namesOf([entry], 'taken').some((value) => late.has(value)))
  }
  const names = waiting.map(({ name }) => name).join(', ')
  expect(waiting.length === 0, 'entries that do not wait for each other', `a cycle of ${names}`)
}

/** @param {string} text @param {string} file */
function parsed(text, file) {
  try {
    return JSON.parse(text)
  } catch (error) {
    // The rest of the message quotes the file, which may contain secrets.
    const [where = ''] = / at position \d+( \(line \d+ column \d+\))?/.exec(/** @type {Error} */ (error).message) ?? []
    throw new UsageError(`--mix: expected JSON in ${file}, got something else${where}`)
  }
}

/** @param {any} given @param {number} i @returns {Entry} */
function entryOf(given, i) {
  const where = `entry ${i + 1}`
  expect(kindOf(given) === 'an object', `an object as ${where}`, kindOf(given))
  const unknown = Object.keys(given).find((key) => !KEYS.includes(key))
  expect(!unknown, `no keys in ${where} but ${KEYS.join(', ')}`, JSON.stringify(unknown))
  const { name, path, weight = 1 } = given
  const isName = typeof name === 'string' && /^[A-Za-z0-9][\w .:/-]{0,63}$/.test(name)
  expect(isName, `a name of 1 to 64 letters, digits or any of "_ .:/-" in ${where}`, shown(name))
  const whose = `${where} (${name})`
  const isWeight = typeof weight === 'number' && weight > 0 && weight <= MAX_WEIGHT
  expect(isWeight, `a weight above 0, at most ${MAX_WEIGHT}, in ${whose}`, shown(weight))
  const content = given.body ?? ''
  const isBody = ['string', 'object'].includes(typeof content)
  expect(isBody, `a text, an object or a list as the body of ${whose}`, kindOf(content))
  const body = typeof content === 'string' ? content : JSON.stringify(content)
  const method = given.method ?? (body === '' ? 'GET' : 'POST')
  expect(isMethod(method), `${KNOWN_METHOD}, in ${whose}`, shown(method))
  const isText = typeof path === 'string'
  const isPath = isText && /^\/[\x21\x22\x24-\x7e]*$/.test(path.replace(/\{\{.*?\}\}/g, '0'))
  const found = shown(isText ? keptUrl(path) : path)
  expect(isPath, `a path that begins with / without spaces, # or unescaped characters, in ${whose}`, found)
  const headers = textsOf(given.headers, `headers of ${whose}`, { Accept: 'text/html' })
  const names = Object.keys(headers ?? {}).map((one) => one.toLowerCase())
  const repeated = names.find((one, i) => names.indexOf(one) !== i)
  expect(repeated === undefined, `each header of ${whose} once, in whatever case`, shown(repeated))
  for (const [one, value] of Object.entries(headers ?? {})) {
    expect(header(`${one}: ${value}`) !== undefined, `a header in ${whose}`, shown(one))
    expect(!FRAMING.includes(one.toLowerCase()), `no framing header among those of ${whose}`, one)
  }
  const take = textsOf(given.take, `take of ${whose}`, { id: '/user/id' })
  for (const [one, pointer] of Object.entries(take ?? {})) {
    const isPointer = /^[\w.-]{1,64}$/.test(one) && /^(\/([^~]|~[01])*)+$/.test(pointer)
    const pair = shown({ [one]: pointer })
    expect(isPointer, `a name and a JSON Pointer, such as {"id":"/user/id"}, as take of ${whose}`, pair)
  }
  const blank = [path, body, ...Object.values(headers ?? {})].map(unknownBlank).find((one) => one !== null)
  expect(blank === undefined, `${KNOWN_BLANKS} in ${whose}`, String(blank))
  const slo = given.slo === undefined ? undefined : boundsOf(given.slo)
  expect(slo !== undefined || given.slo === undefined, `${SLO_EXPECTED} as the slo of ${whose}`, shown(given.slo))
  return { name, method, path, body, weight, ...(headers && { headers }), ...(take && { take }), ...(slo && { slo }) }
}

/** @param {unknown} given @param {string} what @param {object} example @returns {Record<string, string> | undefined} */
function textsOf(given, what, example) {
  if (given === undefined) return undefined
  expect(kindOf(given) === 'an object', `an object such as ${JSON.stringify(example)} as the ${what}`, kindOf(given))
  const texts = /** @type {Record<string, string>} */ (given)
  const other = Object.values(texts).find((value) => typeof value !== 'string')
  expect(other === undefined, `texts in the ${what}`, kindOf(other))
  return texts
}

/** @param {unknown} value */
function kindOf(value) {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** @param {unknown} value */
function shown(value) {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 100)
}

/** @param {boolean} holds @param {string} expected @param {string | number} got @throws {UsageError} */
function expect(holds, expected, got) {
  if (!holds) throw new UsageError(`--mix: expected ${expected}, got ${got}`)
}
