import markdownIt from 'markdown-it'
import { sectionsOf, table } from './blocks.js'
import { escaped } from './chart.js'
import { tableOf } from './picture.js'
import { STYLE } from './style.js'

/**
 * @import { Block, Item, Table } from './blocks.js'
 * @import { draw } from './chart.js'
 * @import { Picture } from './picture.js'
 */

/** @typedef {Awaited<ReturnType<typeof draw>>} Drawings */

/** Number of characters beyond which a cell is wrapped. */
const LONG = 40

/** The file fetches nothing, not even a picture. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

/**
 * report.html: the report as one file that needs no network and no script.
 * @param {string} title @param {Block[]} blocks @param {Drawings} drawings @returns {string} HTML
 */
export function renderPage(title, blocks, drawings) {
  const answer = blocks.find((block) => block.kind === 'answer')
  const write = writer(drawings)
  const parts = sectionsOf(blocks.filter((block) => block !== answer)).map(({ heading, blocks: own }, i) => {
    const html = own.map(write).join('\n')
    if (heading === null) return `<section aria-labelledby="answer">\n${html}\n</section>`
    const id = `section-${i}`
    const head = `<h2 id="${id}">${escaped(heading.text)}</h2>`
    if (!heading.folded) return `<section aria-labelledby="${id}">\n${head}\n${html}\n</section>`
    return `<details class="part"><summary>${head}</summary>\n${html}\n</details>`
  })
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<a class="skip" href="#report">To the report</a>
<header><h1>${escaped(title)}</h1><p id="answer" class="answer">${escaped(answer?.text ?? '')}</p></header>
<main id="report" tabindex="-1">
${parts.join('\n')}
</main>
</body>
</html>
`
}

/**
 * Writes blocks as HTML. Text may contain **bold** and `code`; HTML and image links in it stay text.
 * @param {Drawings} drawings @returns {(block: Block) => string}
 */
function writer(drawings) {
  const markdown = markdownIt({ html: false, linkify: false })
  markdown.renderer.rules.image = (tokens, i) => escaped(`${tokens[i].content} (${tokens[i].attrGet('src')})`)
  const inline = (/** @type {string} */ text) => markdown.renderInline(text)
  let tables = 0
  return (block) => {
    switch (block.kind) {
      case 'picture':
        return figure(block.picture, drawings[block.picture.name])
      case 'table':
        return scrolled(`Table ${++tables}`, tableHtml(block, inline))
      case 'list':
      case 'method':
        return listHtml(block.items, inline)
      default:
        return `<p>${inline(block.text)}</p>`
    }
  }
}

/** @param {Item[]} items @param {(text: string) => string} inline @returns {string} */
function listHtml(items, inline) {
  const rows = items.map((item) => {
    return `<li>${typeof item === 'string' ? inline(item) : `${inline(item.text)}\n${listHtml(item.items, inline)}`}</li>`
  })
  return `<ul>\n${rows.join('\n')}\n</ul>`
}

/** @param {Picture} picture @param {Drawings[string]} drawing */
function figure(picture, drawing) {
  const { name, title, about } = picture
  const { head, rows } = tableOf(picture)
  const figures = table(head, rows, { align: head.map(() => 'l') })
  const drawn = Object.entries(drawing).map(([size, svg]) => `<div class="${size}">${svg}</div>`)
  return `<figure id="${name}">
<figcaption><strong>${escaped(title)}</strong> ${escaped(about)}</figcaption>
${drawn.join('\n')}
<details><summary>The figures as a table<span class="unseen">: ${escaped(title)}</span></summary>
${scrolled(`${title}, as a table`, tableHtml(figures, escaped))}
</details>
</figure>`
}

/** @param {Table} table @param {(text: string) => string} inline */
function tableHtml({ head, rows, align }, inline) {
  const styles = align.map((side) => (side === 'r' ? ' style="text-align:right"' : ''))
  const cells = (/** @type {string[]} */ row) =>
    row.map((cell, i) => `<td${cell.length > LONG ? ' class="long"' : styles[i]}>${inline(cell)}</td>`).join('')
  // An empty header cell is a plain cell.
  const heads = head.map((cell, i) => (cell === '' ? '<td></td>' : `<th scope="col"${styles[i]}>${inline(cell)}</th>`))
  const body = rows.map((row) => `<tr>${cells(row)}</tr>`)
  return `<table><thead><tr>${heads.join('')}</tr></thead><tbody>${body.join('\n')}</tbody></table>`
}

/** A part that may be wider than the page scrolls on its own, also by keyboard. @param {string} label @param {string} html */
function scrolled(label, html) {
  return `<div class="scroll" role="group" tabindex="0" aria-label="${escaped(label)}">${html}</div>`
}
