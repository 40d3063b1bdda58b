/** @import { Picture } from '../picture.js' */

/** The heading of the raw table. */
export const EVERY_TRIAL = 'Every trial'

/**
 * A report in parts: what stands under each of its headings, with its pictures in their places.
 *
 * @typedef {string | Picture} Block
 * @typedef {{ heading: string | null, blocks: Block[] }} Section heading null: the top
 *
 * @param {string} markdown
 * @param {Picture[]} pictures
 * @returns {{ title: string, sections: Section[] }}
 */
export function sectionsOf(markdown, pictures) {
  const [top, ...others] = markdown.trim().split(/\n(?=## )/)
  const [, title, text] = /^# (.*)\n?([\s\S]*)$/.exec(top) ?? ['', '', top]
  const sections = [sectionOf(null, text), ...others.map((part) => sectionOf(...headed(part)))]
  for (const picture of pictures) {
    const own = sections.find(({ heading }) => heading !== null && heading === picture.under)
    const { blocks } = own ?? sections[0]
    blocks.splice(own ? pictured(blocks) : placeOf(blocks), 0, picture)
  }
  return { title, sections }
}

/**
 * The report with its pictures as files beside it.
 *
 * @param {{ title: string, sections: Section[] }} report
 * @returns {string} markdown
 */
export function markdownOf({ title, sections }) {
  const parts = sections.flatMap(({ heading, blocks }) => [
    ...(heading === null ? [] : [`## ${heading}`]),
    ...blocks.map((block) => (typeof block === 'string' ? block : `![${plainText(block)}](${block.name}.svg)`)),
  ])
  return `${[`# ${title}`, ...parts].join('\n\n')}\n`
}

/** @param {string | null} heading @param {string} text @returns {Section} */
function sectionOf(heading, text) {
  return { heading, blocks: text.trim() === '' ? [] : text.trim().split(/\n{2,}(?![ `\n])/) }
}

/** @param {string} part @returns {[string, string]} */
function headed(part) {
  const [first, ...rest] = part.split('\n')
  return [first.slice(3), rest.join('\n')]
}

/** Behind the pictures that are there already, so that they keep their order. @param {Section['blocks']} blocks */
function pictured(blocks) {
  const text = blocks.findIndex((block) => typeof block === 'string')
  return text === -1 ? blocks.length : text
}

/** After the answer, before the first table and what introduces it. @param {Section['blocks']} blocks */
function placeOf(blocks) {
  const table = blocks.findIndex((block) => {
    return typeof block === 'string' && /^(\||\*\*)/.test(block) && !block.startsWith('**No trustworthy answer')
  })
  return table === -1 ? blocks.length : table
}

/** @param {Picture} picture */
function plainText({ title, about }) {
  return `${title}: ${about}`.replace(/[[\]\\\r\n]/g, ' ')
}
