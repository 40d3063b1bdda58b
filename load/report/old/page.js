import markdownIt from 'markdown-it'
import { escaped, WIDTHS } from '../chart.js'
import { tableOf } from '../picture.js'
import { STYLE } from '../style.js'
import { EVERY_TRIAL } from './sections.js'

/**
 * @import { Picture } from '../picture.js'
 * @import { Section } from './sections.js'
 */

/** What few will read, and who does will look for. */
const FOLDED =
  /^(How it was measured|Where|Published|What HAProxy ran with|Endpoints of the simulation|What each stage is)$/

/** A cell of more letters is broken into lines. */
const LONG = 40

/** Not even a picture is fetched: what is in the file is all there is. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

/**
 * report.html: the report as one file that needs no network and no script.
 *
 * @param {object} report
 * @param {string} report.title
 * @param {string} report.sentence the answer
 * @param {Section[]} report.sections
 * @param {(picture: Picture, width: number) => string} paint
 * @returns {string} HTML
 */
export function renderPage({ title, sentence, sections }, paint) {
  const write = writer()
  const parts = sections.map(({ heading, blocks }, i) => {
    // What stands above already is not said twice.
    const own = blocks.filter((block) => block !== sentence)
    const html = own.map((block) => (typeof block === 'string' ? write(block) : figure(block, paint))).join('\n')
    if (heading === null) return `<section aria-labelledby="answer">\n${html}\n</section>`
    const id = `section-${i}`
    const head = `<h2 id="${id}">${escaped(heading)}</h2>`
    if (!FOLDED.test(heading) && !heading.startsWith(EVERY_TRIAL))
      return `<section aria-labelledby="${id}">\n${head}\n${html}\n</section>`
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
<header><h1>${escaped(title)}</h1><p id="answer" class="answer">${escaped(sentence)}</p></header>
<main id="report" tabindex="-1">
${parts.join('\n')}
</main>
</body>
</html>
`
}

/** @param {Picture} picture @param {(picture: Picture, width: number) => string} paint */
function figure(picture, paint) {
  const { name, title, about } = picture
  const { head, rows } = tableOf(picture)
  const drawn = Object.entries(WIDTHS).map(([size, width]) => `<div class="${size}">${paint(picture, width)}</div>`)
  return `<figure id="${name}">
<figcaption><strong>${escaped(title)}</strong> ${escaped(about)}</figcaption>
${drawn.join('\n')}
<details><summary>The figures as a table<span class="unseen">: ${escaped(title)}</span></summary>
${scrolled(`${title}, as a table`, tableHtml(head, rows))}
</details>
</figure>`
}

/** @param {string[]} head @param {string[][]} rows */
function tableHtml(head, rows) {
  const cells = (/** @type {string[]} */ row) =>
    row.map((cell) => `<td${cell.length > LONG ? ' class="long"' : ''}>${escaped(cell)}</td>`).join('')
  const heads = head.map((cell) => (cell === '' ? '<td></td>' : `<th scope="col">${escaped(cell)}</th>`))
  const body = rows.map((row) => `<tr>${cells(row)}</tr>`)
  return `<table><thead><tr>${heads.join('')}</tr></thead><tbody>${body.join('\n')}</tbody></table>`
}

/** What is wider than the page scrolls by itself, by keys too. @param {string} label @param {string} html */
function scrolled(label, html) {
  return `<div class="scroll" role="group" tabindex="0" aria-label="${escaped(label)}">${html}</div>`
}

/** Markdown as HTML; HTML in it stays text, and so does a picture, which might be anywhere. */
function writer() {
  const markdown = markdownIt({ html: false, linkify: false })
  const { rules } = markdown.renderer
  let tables = 0
  rules.image = (tokens, i) => escaped(`${tokens[i].content} (${tokens[i].attrGet('src')})`)
  rules.table_open = () => `<div class="scroll" role="group" tabindex="0" aria-label="Table ${++tables}"><table>\n`
  rules.table_close = () => '</table></div>\n'
  rules.th_open = (tokens, i, options, _, self) => {
    // A header without a word is none.
    if (tokens[i + 1].content === '') tokens[i].tag = 'td'
    else tokens[i].attrSet('scope', 'col')
    return self.renderToken(tokens, i, options)
  }
  rules.td_open = (tokens, i, options, _, self) => {
    if (tokens[i + 1].content.length > LONG) tokens[i].attrSet('class', 'long')
    return self.renderToken(tokens, i, options)
  }
  rules.th_close = (tokens, i) => (tokens[i - 1].content === '' ? '</td>' : '</th>')
  return (/** @type {string} */ text) => markdown.render(text)
}
