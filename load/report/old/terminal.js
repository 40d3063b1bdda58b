import { markdownTable } from 'markdown-table'
import wrapAnsi from 'wrap-ansi'

export const TERMINAL_COLUMNS = 100

/** Of a table: `| ` before the first cell, ` | ` between two, ` |` behind the last. */
const BORDER = 3

/** A column's dashes with the colon of its alignment. */
const LEAST = 3

/** A number and its unit. */
const TOGETHER = '\u00a0'

/**
 * A report's text as a terminal can show it: lines are broken, and a table that is too wide has the words of its widest
 * columns below each other. Nothing is left out.
 *
 * @param {string} markdown
 * @param {number} [columns]
 * @returns {string}
 */
export function terminalText(markdown, columns = TERMINAL_COLUMNS) {
  // Between the lines of a table nothing stands but the end of a line.
  const blocks = markdown.split(/(?<!^\|.*)\n|\n(?!\|)/m)
  return blocks
    .map((block) => (block.startsWith('|') ? tableText(block, columns) : lineText(block, columns)))
    .join('\n')
    .replaceAll(TOGETHER, ' ')
}

/** What follows a list's dash stands below its text. A path or a URL is left in one piece: it is there to be copied. @param {string} line @param {number} columns */
function lineText(line, columns) {
  const [indent] = /^ *(?:- )?/.exec(line) ?? ['']
  // No character is wider than two columns; escapes only take less.
  if (2 * line.length <= columns) return indent + line.slice(indent.length).trim()
  const broken = wrapAnsi(line.slice(indent.length), columns - indent.length)
  return indent + broken.replaceAll('\n', `\n${' '.repeat(indent.length)}`)
}

/** @param {string} text @param {number} columns */
function tableText(text, columns) {
  if (Math.max(...text.split('\n').map((line) => line.length)) <= columns) return text
  const [head, marks, ...body] = text.split('\n').map(cellsOf)
  const rows = [head, ...body]
  const words = head.map((_, i) => Math.max(LEAST, ...rows.flatMap((cells) => cells[i].split(' ').map(lengthOf))))
  return partsOf(words, columns)
    .map((part) => {
      const own = (/** @type {string[]} */ cells) => part.map((i) => cells[i])
      const align = own(marks).map((mark) => (mark.endsWith(':') ? 'r' : 'l'))
      return brokenTable(
        rows.map(own),
        align,
        fitted(
          rows.map(own),
          part.map((i) => words[i]),
          columns,
        ),
      )
    })
    .join('\n\n')
}

/**
 * The columns of tables that are narrow enough, the first column in each.
 *
 * @param {number[]} words the longest of each column
 * @param {number} columns
 * @returns {number[][]}
 */
function partsOf([first, ...others], columns) {
  const parts = [[0]]
  let width = first + BORDER + 1
  for (const [i, word] of others.entries()) {
    const last = parts[parts.length - 1]
    if (width + word + BORDER > columns && last.length > 1) {
      parts.push([0, i + 1])
      width = first + BORDER + 1 + word + BORDER
    } else {
      last.push(i + 1)
      width += word + BORDER
    }
  }
  return parts
}

/** @param {string[][]} rows the head first @param {string[]} align @param {number[]} widths */
function brokenTable(rows, align, widths) {
  const [head, ...body] = rows.map((cells) => {
    const parts = cells.map((cell, i) => wrapAnsi(cell, widths[i], { hard: true }).split('\n'))
    const height = Math.max(...parts.map(({ length }) => length))
    return Array.from({ length: height }, (_, line) => parts.map((part) => part[line] ?? ''))
  })
  // The library puts its line of dashes below the first line; a head of several has it below the last.
  const drawn = markdownTable([...head, ...body.flat()], { align }).split('\n')
  const [dashes] = drawn.splice(1, 1)
  drawn.splice(head.length, 0, dashes)
  return drawn.join('\n')
}

/** @param {string} line */
function cellsOf(line) {
  return line
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim().replace(/(\d) (ms|us|s|%|conn\.)/g, `$1${TOGETHER}$2`))
}

/**
 * Widths of the columns: the widest is made narrower until all fit, but no word is broken.
 *
 * @param {string[][]} rows
 * @param {number[]} words the longest of each column
 * @param {number} columns
 */
function fitted(rows, words, columns) {
  const widths = words.map((word, i) => Math.max(word, ...rows.map((cells) => cells[i].length)))
  const room = columns - BORDER * widths.length - 1
  const spare = (/** @type {number} */ i) => (widths[i] > words[i] ? widths[i] : 0)
  while (widths.reduce((total, width) => total + width, 0) > room) {
    const widest = widths.reduce((best, _, i) => (spare(i) > spare(best) ? i : best), 0)
    if (spare(widest) === 0) break
    widths[widest]--
  }
  return widths
}

/** @param {string} text */
function lengthOf(text) {
  return text.length
}
