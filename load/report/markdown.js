import { markdownTable } from 'markdown-table'
import { alignOf } from './blocks.js'

/** @import { Block, Table } from './blocks.js' */
/** @import { Picture } from './picture.js' */

/**
 * A report as markdown; its pictures are separate files in the same folder.
 *
 * @param {Block[]} blocks
 * @returns {string}
 */
export function markdownOf(blocks) {
  return blocks.map(blockMarkdown).join('\n\n')
}

/** @param {Block} block @returns {string} */
function blockMarkdown(block) {
  switch (block.kind) {
    case 'heading':
      return `## ${block.text}`
    case 'code':
      return `\`\`\`\n${block.text.trimEnd()}\n\`\`\``
    case 'list':
    case 'method':
      return block.items.flatMap(itemLines).join('\n')
    case 'table':
      return tableMarkdown(block)
    case 'picture':
      return `![${plainText(block.picture)}](${block.picture.name}.svg)`
    default:
      return block.text
  }
}

/** @param {import('./blocks.js').Item} item */
function itemLines(item) {
  if (typeof item === 'string') return [`- ${item}`]
  return [`- ${item.text}`, ...item.items.map((text) => `  - ${text}`)]
}

/** @param {Table} table */
function tableMarkdown(table) {
  const rows = [table.head, ...table.rows].map((cells) => cells.map(cellText))
  return markdownTable(rows, { align: alignOf(table) })
}

/** Text from outside must not open a column of its own. @param {string} text */
function cellText(text) {
  return text.replace(/[|\r\n]/g, ' ')
}

/** @param {Picture} picture */
function plainText({ title, about }) {
  return `${title}: ${about}`.replace(/[[\]\\\r\n]/g, ' ')
}
