import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { draw, standalone } from './chart.js'
import { markdownOf } from './markdown.js'

/** @import { Block } from './blocks.js' */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Sections of Redline's own pages, by their path in it. */
const SECTION = /\btuning\/[\w/-]+\.md#[\w-]+/g

/**
 * Writes a report as report.md, a file per picture, and report.html. report.md is written even if a picture cannot be drawn.
 * @param {{ folder: string, writeText: (name: string, text: string) => void }} results @param {string} title @param {Block[]} all
 */
export async function writeReport(results, title, all) {
  const blocks = all.filter((block) => !('brief' in block && block.brief))
  const toSection = (/** @type {string} */ name) => hrefOf(path.relative(results.folder, path.join(ROOT, name)))
  const markdown = markdownOf(blocks).replace(SECTION, (name) => `[${name}](${toSection(name)})`)
  results.writeText('report.md', `# ${title}\n\n${markdown}\n`)
  const pictures = blocks.flatMap((block) => (block.kind === 'picture' ? [block.picture] : []))
  // Imports here, since loading takes half a second, which should not delay the start of a run.
  const [{ renderPage }, drawings] = await Promise.all([import('./page.js'), draw(pictures)])
  for (const { name } of pictures) results.writeText(`${name}.svg`, standalone(drawings[name].wide))
  const page = renderPage(title, blocks, drawings)
  const linked = page.replace(SECTION, (name) => `<a href="${toSection(name)}">${name}</a>`)
  results.writeText('report.html', linked)
}

/** A path as the address of a link, in Markdown and in HTML. @param {string} file */
function hrefOf(file) {
  const [name, section] = file.split('#')
  const href = `${name.split(path.sep).map(encodeURIComponent).join('/')}#${section}`
  return href.replace(/[()']/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`)
}
