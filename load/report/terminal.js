import { markdownTable } from 'markdown-table'
import wrapAnsi from 'wrap-ansi'
import { sectionsOf } from './blocks.js'
import { printable } from './format.js'
import { itemLines, plainCells } from './markdown.js'

/** @import { Block } from './blocks.js' */

export const TERMINAL_COLUMNS = 100

/** Width that a table adds to each column, ` | `, and that of its narrowest column, `:--`. */
const BORDER = 3
const LEAST = 3

/** Keeps a number and its unit on one line. */
const NO_BREAK = '\u00a0'

/**
 * A report for a terminal: without pictures and details, with long lines and wide columns wrapped.
 * @param {Block[]} blocks @param {number} [columns]
 */
export function terminalOf(blocks, columns = TERMINAL_COLUMNS) {
  return sectionsOf(blocks)
    .filter(({ heading }) => !heading?.detail)
    .flatMap(({ heading, blocks: own }) => (heading ? [heading, ...own] : own))
    .flatMap((block) => blockText(block, columns) ?? [])
    .join('\n\n')
    .replaceAll(NO_BREAK, ' ')
}

/** @param {Block} block @param {number} columns @returns {string | null} null if it is not for a terminal */
function blockText(block, columns) {
  if (block.kind === 'picture' || block.kind === 'method') return null
  if (block.kind === 'table') return tableText([block.head, ...block.rows].map(cellsOf), block.align, columns)
  if (block.kind === 'list') {
    const lines = block.items.flatMap(itemLines)
    return lines.map((line) => lineText(line, columns)).join('\n')
  }
  return lineText(block.kind === 'heading' ? `## ${block.text}` : block.text, columns)
}

/** Paths and URLs are never broken, since people copy them. @param {string} line @param {number} columns */
function lineText(line, columns) {
  const [dash] = /^( *- )?/.exec(line) ?? ['']
  const text = wrapAnsi(printable(line.slice(dash.length)), columns - dash.length)
  return dash + text.replaceAll('\n', `\n${' '.repeat(dash.length)}`)
}

/** @param {string[]} cells */
function cellsOf(cells) {
  return plainCells(cells).map((cell) => cell.replace(/(\d) (ms|us|s|%|conn\.)/g, `$1${NO_BREAK}$2`))
}

/** @param {string[][]} rows the head first @param {('l' | 'r')[]} align @param {number} columns */
function tableText(rows, align, columns) {
  const whole = markdownTable(rows, { align })
  if (whole.indexOf('\n') <= columns) return whole
  const words = align.map((_, i) => {
    return Math.max(LEAST, ...rows.flatMap((cells) => cells[i].split(' ').map(({ length }) => length)))
  })
  const tables = partsOf(words, columns).map((part) => {
    const pick = (/** @type {any[]} */ all) => part.map((i) => all[i])
    const own = rows.map(pick)
    return wrappedTable(own, pick(align), fitted(own, pick(words), columns))
  })
  return tables.join('\n\n')
}

/** Splits columns among tables that are narrow enough, each with the first column. @param {number[]} words length of each column's longest word @param {number} columns */
function partsOf([first, ...others], columns) {
  const parts = [[0]]
  const firstWidth = first + BORDER + 1
  let width = firstWidth
  for (const [i, word] of others.entries()) {
    const isFull = width + word + BORDER > columns && width > firstWidth
    if (isFull) {
      parts.push([0])
      width = firstWidth
    }
    parts[parts.length - 1].push(i + 1)
    width += word + BORDER
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
  // The library puts the line of dashes below the first line; it belongs below the last line of the head.
  const lines = markdownTable([...head, ...body.flat()], { align }).split('\n')
  const [dashes] = lines.splice(1, 1)
  lines.splice(head.length, 0, dashes)
  return lines.join('\n')
}

/** Narrows the widest column until all fit, without breaking a word. @param {string[][]} rows @param {number[]} words @param {number} columns */
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
