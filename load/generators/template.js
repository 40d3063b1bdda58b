/** @import { Entry } from '../report/record.js' */

/**
 * Templates with blanks that are filled for each request: `/user/{{int 1 1000}}`, `{"email":"{{word}}-{{seq}}@redline.test"}`.
 * @typedef {string | Blank} Part a string has one byte per character
 * @typedef {{ fill: 'seq' | 'index' | 'word' } | { fill: 'int', min: number, max: number } | { fill: 'data', values: string[] } |
 *   { fill: 'taken', name: string, into: Into }} Blank seq: number unique within the run; index: number of the request within its trial;
 *   data: a column of --data; taken: a value from an earlier response
 * @typedef {'path' | 'json' | 'text'} Into the context of a value, for which it is escaped
 * @typedef {{ index: number, firstSeq: number, random: () => number, taken: (name: string, random: number) => string }} Filling
 *   index: of the request; firstSeq: seq value of request 0; random: called once for each word, int and taken
 */

export const KNOWN_BLANKS = '{{seq}}, {{int FROM TO}}, {{word}}, {{data COLUMN}} or {{taken NAME}}'

const BLANK = /\{\{(.*?)\}\}/s
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const WORD_LETTERS = 6

/** Returns the first unknown or unclosed blank of a text; null: there is none. @param {string} text */
export function unknownBlank(text) {
  const pieces = text.split(BLANK)
  const [unclosed] = /\{\{[\w .-]*/.exec(pieces[pieces.length - 1]) ?? []
  if (unclosed) return `${unclosed} without }}`
  const unknown = pieces.find((piece, i) => i % 2 && !blankOf(piece))
  return unknown === undefined ? null : `{{${unknown}}}`
}

/**
 * @param {string} text without unknown blanks @param {Into} into @param {Record<string, string[]>} data columns by name, including all that
 *   the text refers to
 */
export function parseTemplate(text, into, data = {}) {
  const parts = text.split(BLANK).map((piece, i) => {
    if (i % 2 === 0) return bytesOf(piece)
    const blank = /** @type {Named} */ (blankOf(piece))
    if (blank.fill === 'data')
      return { fill: blank.fill, values: data[blank.name].map((value) => escaped(value, into)) }
    return blank.fill === 'taken' ? { ...blank, into } : blank
  })
  return /** @type {Part[]} */ (parts.filter((part) => part !== ''))
}

/**
 * Lists the names that requests take from --data, or from earlier responses, each once.
 * @param {Pick<Entry, 'path' | 'body' | 'headers'>[]} entries @param {'data' | 'taken'} fill
 */
export function namesOf(entries, fill) {
  const texts = entries.flatMap(({ path, body, headers = {} }) => [path, body, ...Object.values(headers)])
  return [...new Set(texts.flatMap((text) => namesIn(text, fill)))]
}

/** Lists the names that a text takes from --data, or from earlier responses. @param {string} text @param {'data' | 'taken'} fill */
export function namesIn(text, fill) {
  const blanks = text.split(BLANK).map((piece, i) => (i % 2 ? blankOf(piece) : null))
  return blanks.flatMap((blank) => (blank?.fill === fill ? blank.name : []))
}

/** Encodes a text as UTF-8, with one character per byte. @param {string} text */
export function bytesOf(text) {
  return Buffer.from(text).toString('latin1')
}

/** @param {string} value @param {Into} into */
function escaped(value, into) {
  if (into === 'path') return encodeURIComponent(value)
  return bytesOf(into === 'json' ? JSON.stringify(value).slice(1, -1) : value)
}

/**
 * @param {string} text @returns {Named | null} null: unknown
 * @typedef {{ fill: 'seq' | 'word' } | { fill: 'int', min: number, max: number } | { fill: 'data' | 'taken', name: string }} Named
 */
function blankOf(text) {
  const name = text.trim()
  if (name === 'seq' || name === 'word') return { fill: name }
  const [, fill, of] = /^(data|taken) ([\w.-]{1,64})$/.exec(name) ?? []
  if (fill === 'data' || fill === 'taken') return { fill, name: of }
  const [min, max] = (/^int (-?\d{1,10}) (-?\d{1,10})$/.exec(name) ?? []).slice(1).map(Number)
  return min <= max ? { fill: 'int', min, max } : null
}

/** @param {Part[]} parts @param {Filling} filling */
export function fillTemplate(parts, { index, firstSeq, random, taken }) {
  let text = ''
  for (const part of parts) {
    if (typeof part === 'string') text += part
    else if (part.fill === 'index') text += index
    else if (part.fill === 'seq') text += firstSeq + index
    else if (part.fill === 'int') text += part.min + Math.floor(random() * (part.max - part.min + 1))
    else if (part.fill === 'data') text += part.values[(firstSeq + index) % part.values.length]
    else if (part.fill === 'taken') text += escaped(taken(part.name, random()), part.into)
    else text += word(random())
  }
  return text
}

/** Number of random numbers that a template uses. @param {Part[]} parts */
export function drawsOf(parts) {
  return parts.filter((part) => typeof part !== 'string' && ['word', 'int', 'taken'].includes(part.fill)).length
}

/** @param {number} random */
function word(random) {
  const number = Math.floor(random * LETTERS.length ** WORD_LETTERS)
  let letters = ''
  for (let i = 0; i < WORD_LETTERS; i++) letters += LETTERS[Math.floor(number / LETTERS.length ** i) % LETTERS.length]
  return letters
}
