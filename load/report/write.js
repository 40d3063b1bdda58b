import { draw, standalone } from './chart.js'
import { markdownOf } from './markdown.js'

/** @import { Block } from './blocks.js' */

/**
 * Writes a report as report.md, a file per picture, and report.html. report.md is written even if a picture cannot be drawn.
 * @param {{ writeText: (name: string, text: string) => void }} folder @param {string} title @param {Block[]} all
 */
export async function writeReport(folder, title, all) {
  const blocks = all.filter((block) => !('brief' in block && block.brief))
  folder.writeText('report.md', `# ${title}\n\n${markdownOf(blocks)}\n`)
  const pictures = blocks.flatMap((block) => (block.kind === 'picture' ? [block.picture] : []))
  // Imports here, since loading takes half a second, which should not delay the start of a run.
  const [{ renderPage }, drawings] = await Promise.all([import('./page.js'), draw(pictures)])
  for (const { name } of pictures) folder.writeText(`${name}.svg`, standalone(drawings[name].wide))
  folder.writeText('report.html', renderPage(title, blocks, drawings))
}
