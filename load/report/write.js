import { createPainter, standalone, WIDTHS } from './chart.js'
import { markdownOf } from './markdown.js'

/**
 * @import { Block } from './blocks.js'
 * @import { Picture } from './picture.js'
 */

/**
 * Writes a report as report.md, a file per picture, and report.html. report.md is there even if a picture cannot be drawn.
 *
 * @param {{ writeText: (name: string, text: string) => void }} folder
 * @param {string} title
 * @param {Block[]} all
 */
export async function writeReport(folder, title, all) {
  const blocks = all.filter((block) => !('brief' in block && block.brief))
  folder.writeText('report.md', `# ${title}\n\n${markdownOf(blocks)}\n`)
  const pictures = blocks.flatMap((block) => (block.kind === 'picture' ? [block.picture] : []))
  // Loading them takes half a second, which a run pays when it has ended, and not when it begins.
  const [{ renderPage }, painter] = await Promise.all([
    import('./page.js'),
    pictures.length > 0 ? createPainter() : () => '',
  ])
  const paint = remembered(painter)
  for (const picture of pictures) folder.writeText(`${picture.name}.svg`, standalone(paint(picture)))
  folder.writeText('report.html', renderPage(title, blocks, paint))
}

/**
 * A picture's file and the page show the same drawing, which is made once.
 *
 * @param {(picture: Picture, width: number) => string} paint
 */
function remembered(paint) {
  /** @type {Map<Picture, Map<number, string>>} */
  const drawings = new Map()
  return (/** @type {Picture} */ picture, width = WIDTHS.wide) => {
    const drawn = drawings.get(picture) ?? new Map()
    drawings.set(picture, drawn)
    const drawing = drawn.get(width) ?? paint(picture, width)
    drawn.set(width, drawing)
    return drawing
  }
}
