/**
 * Texts with blanks that each request fills anew: `/user/{{int 1 1000}}`, `{"email":"{{word}}-{{seq}}@redline.test"}`.
 *
 * @typedef {string | Blank} Part a string is one byte a character
 * @typedef {{ fill: 'seq' } | { fill: 'index' } | { fill: 'word' } | { fill: 'int', min: number, max: number }} Blank
 *   seq: a number that no other request of the run has; index: the number of the request within its trial
 */

export const KNOWN_BLANKS = '{{seq}}, {{int FROM TO}} or {{word}}'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const WORD_LETTERS = 6
const WORDS = LETTERS.length ** WORD_LETTERS

/** @param {string} text @returns {Part[]} @throws {RangeError} that names the blank which nobody knows */
export function parseTemplate(text) {
  const pieces = text.split(/\{\{(.*?)\}\}/s)
  const parts = pieces.map((piece, i) => (i % 2 === 1 ? blankOf(piece.trim()) : latin1(piece)))
  return parts.filter((part) => part !== '')
}

/**
 * @param {Part[]} parts
 * @param {number} index of the request
 * @param {number} firstSeq the seq of the request with index 0
 * @param {() => number} random one number is taken for each word and int
 */
export function fillTemplate(parts, index, firstSeq, random) {
  let text = ''
  for (const part of parts) text += typeof part === 'string' ? part : filling(part, index, firstSeq, random)
  return text
}

/** How many random numbers a text takes. @param {Part[]} parts */
export function drawsOf(parts) {
  return parts.filter((part) => typeof part !== 'string' && (part.fill === 'word' || part.fill === 'int')).length
}

/** @param {Blank} blank @param {number} index @param {number} firstSeq @param {() => number} random */
function filling(blank, index, firstSeq, random) {
  if (blank.fill === 'index') return index
  if (blank.fill === 'seq') return firstSeq + index
  if (blank.fill === 'int') return blank.min + Math.floor(random() * (blank.max - blank.min + 1))
  return word(Math.floor(random() * WORDS))
}

/** @param {number} number below WORDS */
function word(number) {
  let letters = ''
  for (let left = number, i = 0; i < WORD_LETTERS; i++, left = Math.floor(left / LETTERS.length)) {
    letters += LETTERS[left % LETTERS.length]
  }
  return letters
}

/** @param {string} text @returns {Blank} */
function blankOf(text) {
  if (text === 'seq' || text === 'word') return { fill: text }
  const [, from, to] = /^int (-?\d{1,10}) (-?\d{1,10})$/.exec(text) ?? []
  const [min, max] = [Number(from), Number(to)]
  if (min <= max) return { fill: 'int', min, max }
  throw new RangeError(`{{${text}}}`)
}

/** The bytes of a text as UTF-8, one character each. @param {string} text */
function latin1(text) {
  return Buffer.from(text).toString('latin1')
}
