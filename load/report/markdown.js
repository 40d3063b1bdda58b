import { markdownTable } from 'markdown-table'
import { printable } from './format.js'

/** @import { Block, Item } from './blocks.js' */

/** A report as markdown; its pictures are separate files in the same folder. @param {Block[]} blocks */
export function markdownOf(blocks) {
  return blocks.map(blockMarkdown).join('\n\n')
}

/** @param {Block} block @returns {string} */
function blockMarkdown(block) {
  switch (block.kind) {
    case 'heading':
      return `## ${oneLine(block.text)}`
    case 'list':
    case 'method':
      return block.items.flatMap(itemLines).join('\n')
    case 'table':
      return markdownTable([block.head, ...block.rows].map(plainCells), { align: block.align })
    case 'picture': {
      const { name, title, about } = block.picture
      return `![${`${title}: ${about}`.replace(/[[\]\\\r\n]/g, ' ')}](${name}.svg)`
    }
    default:
      return oneLine(block.text)
  }
}

/** One line for an item, and one for each of its sub-items. @param {Item} item */
export function itemLines(item) {
  if (typeof item === 'string') return [`- ${oneLine(item)}`]
  return [`- ${oneLine(item.text)}`, ...item.items.map((text) => `  - ${oneLine(text)}`)]
}

/** Removes characters with which text from outside could open a column or a row of its own. @param {string[]} cells */
export function plainCells(cells) {
  return cells.map((text) => oneLine(text).replaceAll('|', ' '))
}

/** Keeps a message of several lines from beginning sections or items of its own. @param {string} text */
function oneLine(text) {
  return printable(text.replace(/[\r\n]+/g, ' '))
}
