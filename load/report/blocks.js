/** @import { Picture } from './picture.js' */

/**
 * A report consists of blocks. The terminal, report.md and report.html render the same ones.
 * @typedef {Answer | Heading | Text | List | Table | Drawn | Method} Block
 * @typedef {{ kind: 'answer', text: string }} Answer the answer in a sentence or two; comes first, and only once
 * @typedef {{ kind: 'heading', text: string, folded?: boolean, detail?: boolean }} Heading begins a section; folded: closed in
 *   report.html until somebody opens it; detail: the section is not for the terminal
 * @typedef {{ kind: 'text', text: string }} Text one paragraph; `code` and **bold** are allowed
 * @typedef {{ kind: 'list', items: Item[] }} List
 * @typedef {string | { text: string, items: string[] }} Item
 * @typedef {{ kind: 'table', name?: string, head: string[], rows: string[][], align: ('l' | 'r')[], brief?: boolean }} Table name: by
 *   which a page finds it; brief: only for the terminal
 * @typedef {{ kind: 'picture', picture: Picture }} Drawn not for the terminal
 * @typedef {{ kind: 'method', items: string[] }} Method how it was measured, for the section of that name
 */

/** @param {string} text @returns {Answer} */
export const answer = (text) => ({ kind: 'answer', text })

/** @param {string} text @param {{ folded?: boolean, detail?: boolean }} [options] @returns {Heading} */
export const heading = (text, options) => ({ kind: 'heading', text, ...options })

/** @param {string} text @returns {Text} */
export const paragraph = (text) => ({ kind: 'text', text })

/** @param {Item[]} items @returns {List} */
export const list = (items) => ({ kind: 'list', items })

/**
 * By default, the first column is aligned to the left and the others to the right.
 * @param {string[]} head @param {string[][]} rows
 * @param {Partial<Pick<Table, 'name' | 'align' | 'brief'>>} [options] @returns {Table}
 */
export function table(head, rows, options) {
  return { kind: 'table', head, rows, align: head.map((_, i) => (i === 0 ? 'l' : 'r')), ...options }
}

/** A table under a line that says what it shows; empty without rows. @param {string} about @param {Parameters<typeof table>} of */
export function titled(about, ...of) {
  return of[1].length > 0 ? [paragraph(about), table(...of)] : []
}

/** @param {Picture} picture @returns {Drawn} */
export const drawn = (picture) => ({ kind: 'picture', picture })

/** @param {string[]} items @returns {Method} */
export const method = (items) => ({ kind: 'method', items })

/** Splits a report into sections: the blocks before the first heading, then the blocks under each heading. @param {Block[]} blocks */
export function sectionsOf(blocks) {
  /** @type {{ heading: Heading | null, blocks: Block[] }[]} */
  const sections = [{ heading: null, blocks: [] }]
  for (const block of blocks) {
    if (block.kind === 'heading') sections.push({ heading: block, blocks: [] })
    else sections[sections.length - 1].blocks.push(block)
  }
  return sections
}
