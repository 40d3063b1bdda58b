/**
 * Templates with blanks that are filled for each request: `/user/{{int 1 1000}}`, `{"email":"{{word}}-{{seq}}@redline.test"}`.
 *
 * @typedef {string | Blank} Part a string has one byte per character
 * @typedef {{ fill: 'seq' | 'index' | 'word' } | { fill: 'int', min: number, max: number }} Blank
 *   seq: number unique within the run; index: number of the request within its trial
 */

export const KNOWN_BLANKS = '{{seq}}, {{int FROM TO}} or {{word}}'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const WORD_LETTERS = 6

/** @param {string} text @returns {Part[]} @throws {RangeError} on an unknown blank */
export function parseTemplate(text) {
  const pieces = text.split(/\{\{(.*?)\}\}/s)
  // UTF-8, with one character per byte.
  const parts = pieces.map((piece, i) => (i % 2 ? blankOf(piece.trim()) : Buffer.from(piece).toString('latin1')))
  return parts.filter((part) => part !== '')
}

/** @param {string} text @returns {Blank} */
function blankOf(text) {
  if (text === 'seq' || text === 'word') return { fill: text }
  const [min, max] = (/^int (-?\d{1,10}) (-?\d{1,10})$/.exec(text) ?? []).slice(1).map(Number)
  if (min <= max) return { fill: 'int', min, max }
  throw new RangeError(`{{${text}}}`)
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
  let letters = ''
  let left = Math.floor(random * LETTERS.length ** WORD_LETTERS)
  for (let i = 0; i < WORD_LETTERS; i++) {
    letters += LETTERS[left % LETTERS.length]
    left = Math.floor(left / LETTERS.length)
  }
  return letters
}
