import { markdownTable } from 'markdown-table'
import wrapAnsi from 'wrap-ansi'
import { alignOf } from './blocks.js'

/** @import { Block } from './blocks.js' */

export const TERMINAL_COLUMNS = 100

/** Of a table: `| ` before the first cell, ` | ` between two, ` |` after the last. */
const BORDER = 3

/** A column's dashes with the colon of its alignment. */
const LEAST = 3

/** Keeps a number and its unit on one line. */
const NO_BREAK = '\u00a0'

/**
 * A report as a terminal shows it: without pictures and details. Lines are wrapped, and so are the words of the widest
 * columns of a table that is too wide.
 *
 * @param {Block[]} blocks
 * @param {number} [columns]
 * @returns {string}
 */
export function terminalOf(blocks, columns = TERMINAL_COLUMNS) {
  return blocks
    .flatMap((block) => blockText(block, columns) ?? [])
    .join('\n\n')
    .replaceAll(NO_BREAK, ' ')
}

/** @param {Block} block @param {number} columns @returns {string | null} null: not shown on a terminal */
function blockText(block, columns) {
  if ('detail' in block && block.detail) return null
  if (block.kind === 'picture' || block.kind === 'method' || block.kind === 'code') return null
  if (block.kind === 'table') return tableText([block.head, ...block.rows].map(cellsOf), alignOf(block), columns)
  if (block.kind === 'list') {
    return block.items
      .flatMap((item) => {
        if (typeof item === 'string') return [lineText(item, columns, '- ')]
        return [lineText(item.text, columns, '- '), ...item.items.map((text) => lineText(text, columns, '  - '))]
      })
      .join('\n')
  }
  return lineText(block.kind === 'heading' ? `## ${block.text}` : block.text, columns)
}

/** Further lines are indented below the text after a list's dash. A path or URL is never broken: people copy it. @param {string} text @param {number} columns @param {string} [dash] */
function lineText(text, columns, dash = '') {
  // No character is wider than two columns; escapes only take less.
  if (2 * text.length <= columns) return dash + text.trim()
  const wrapped = wrapAnsi(text, columns - dash.length)
  return dash + wrapped.replaceAll('\n', `\n${' '.repeat(dash.length)}`)
}

/** @param {string[]} cells */
function cellsOf(cells) {
  return cells.map((cell) => cell.replace(/[|\r\n]/g, ' ').replace(/(\d) (ms|us|s|%|conn\.)/g, `$1${NO_BREAK}$2`))
}

/** @param {string[][]} rows the head first @param {('l' | 'r')[]} align @param {number} columns */
function tableText(rows, align, columns) {
  const whole = markdownTable(rows, { align })
  if (whole.indexOf('\n') <= columns) return whole
  const words = align.map((_, i) => Math.max(LEAST, ...rows.flatMap((cells) => cells[i].split(' ').map(lengthOf))))
  return partsOf(words, columns)
    .map((part) => {
      const own = rows.map((cells) => part.map((i) => cells[i]))
      const least = part.map((i) => words[i])
      return wrappedTable(
        own,
        part.map((i) => align[i]),
        fitted(own, least, columns),
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

/** @param {string[][]} rows the head first @param {('l' | 'r')[]} align @param {number[]} widths */
function wrappedTable(rows, align, widths) {
  const [head, ...body] = rows.map((cells) => {
    const parts = cells.map((cell, i) => wrapAnsi(cell, widths[i], { hard: true }).split('\n'))
    const height = Math.max(...parts.map(({ length }) => length))
    return Array.from({ length: height }, (_, line) => parts.map((part) => part[line] ?? ''))
  })
  // The library puts its line of dashes below the first line; a head of several lines has it below the last.
  const lines = markdownTable([...head, ...body.flat()], { align }).split('\n')
  const [dashes] = lines.splice(1, 1)
  lines.splice(head.length, 0, dashes)
  return lines.join('\n')
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
