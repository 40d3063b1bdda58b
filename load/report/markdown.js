import { markdownTable } from 'markdown-table'

/** @import { Block, Item } from './blocks.js' */

/** A report as markdown; its pictures are separate files in the same folder. @param {Block[]} blocks */
export function markdownOf(blocks) {
  return blocks.map(blockMarkdown).join('\n\n')
}

/** @param {Block} block @returns {string} */
function blockMarkdown(block) {
  switch (block.kind) {
    case 'heading':
      return `## ${block.text}`
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
      return block.text
  }
}

/** One line for an item, and one for each of its sub-items. @param {Item} item */
export function itemLines(item) {
  if (typeof item === 'string') return [`- ${item}`]
  return [`- ${item.text}`, ...item.items.map((text) => `  - ${text}`)]
}

/** Removes characters with which text from outside could open a column or a row of its own. @param {string[]} cells */
export function plainCells(cells) {
  return cells.map((text) => text.replace(/[|\r\n]/g, ' '))
}
