/**
 * Templates with blanks that are filled for each request: `/user/{{int 1 1000}}`, `{"email":"{{word}}-{{seq}}@redline.test"}`.
 * @typedef {string | Blank} Part a string has one byte per character
 * @typedef {{ fill: 'seq' | 'index' | 'word' } | { fill: 'int', min: number, max: number }} Blank
 *   seq: number unique within the run; index: number of the request within its trial
 */

export const KNOWN_BLANKS = '{{seq}}, {{int FROM TO}} or {{word}}'

const BLANK = /\{\{(.*?)\}\}/s
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const WORD_LETTERS = 6

/** A blank of the text that is none of the known ones, if there is any. @param {string} text */
export function unknownBlank(text) {
  const unknown = text.split(BLANK).find((piece, i) => i % 2 && !blankOf(piece))
  return unknown === undefined ? null : `{{${unknown}}}`
}

/** @param {string} text without unknown blanks */
export function parseTemplate(text) {
  const parts = text.split(BLANK).map((piece, i) => {
    // UTF-8, with one character per byte.
    return i % 2 ? /** @type {Blank} */ (blankOf(piece)) : Buffer.from(piece).toString('latin1')
  })
  return parts.filter((part) => part !== '')
}

/** @param {string} text @returns {Blank | null} null: it is unknown */
function blankOf(text) {
  const name = text.trim()
  if (name === 'seq' || name === 'word') return { fill: name }
  const [min, max] = (/^int (-?\d{1,10}) (-?\d{1,10})$/.exec(name) ?? []).slice(1).map(Number)
  return min <= max ? { fill: 'int', min, max } : null
}

/**
 * @param {Part[]} parts @param {number} index of the request @param {number} firstSeq seq value of request 0
 * @param {() => number} random called once for each word and int
 */
export function fillTemplate(parts, index, firstSeq, random) {
  let text = ''
  for (const part of parts) {
    if (typeof part === 'string') text += part
    else if (part.fill === 'index') text += index
    else if (part.fill === 'seq') text += firstSeq + index
    else if (part.fill === 'int') text += part.min + Math.floor(random() * (part.max - part.min + 1))
    else text += word(random())
  }
  return text
}

/** Number of random numbers that a template uses. @param {Part[]} parts */
export function drawsOf(parts) {
  return parts.filter((part) => typeof part !== 'string' && (part.fill === 'word' || part.fill === 'int')).length
}

/** @param {number} random */
function word(random) {
  const number = Math.floor(random * LETTERS.length ** WORD_LETTERS)
  let letters = ''
  for (let i = 0; i < WORD_LETTERS; i++) letters += LETTERS[Math.floor(number / LETTERS.length ** i) % LETTERS.length]
  return letters
}
