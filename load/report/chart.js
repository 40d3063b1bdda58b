import { existsSync } from 'node:fs'
import { COLOURS, darkStyle } from './colours.js'
import { printable } from './format.js'
import { dotsOption } from './forms/dots.js'
import { heatOption } from './forms/heat.js'
import { xyOption } from './forms/xy.js'

/** @import { Picture } from './picture.js' */

/** Widths in px. A phone gets a drawing of its own: scaled down, the wide one would be too small to read. */
const WIDTHS = { wide: 760, narrow: 350 }

/** Options for ECharts, and the height in px. @type {Record<string, (form: any, width: number) => { option: any, height: number }>} */
const OPTIONS = { xy: xyOption, dots: dotsOption, heat: heatOption }

/**
 * ECharts as a single file: to load its several hundred modules takes six times as long. A packed Redline ships that file instead of the
 * package's 62 MB.
 * @returns {Promise<typeof import('echarts')>}
 */
function echarts() {
  const packed = new URL('echarts.js', import.meta.url)
  // @ts-expect-error: it has no types of its own
  return existsSync(packed) ? import(packed.href) : import('echarts/dist/echarts.esm.min.mjs')
}

/**
 * Draws pictures as SVG, without a browser, a canvas, or scripts in the result. This is the only importer of ECharts.
 * @param {Picture[]} pictures
 * @returns {Promise<Record<string, Record<keyof typeof WIDTHS, string>>>} `<svg>…</svg>` by name and size
 */
export async function draw(pictures) {
  if (pictures.length === 0) return {}
  const { init } = await echarts()
  const svgOf = (/** @type {Picture} */ picture, /** @type {number} */ width) => {
    const { option, height } = OPTIONS[picture.form.kind](picture.form, width)
    const chart = init(null, null, { renderer: 'svg', ssr: true, width, height })
    try {
      chart.setOption(option)
      return accessible(chart.renderToSVGString(), picture, width, height)
    } finally {
      // Its timers would keep the process alive.
      chart.dispose()
    }
  }
  return Object.fromEntries(
    pictures.map((one) => [one.name, { wide: svgOf(one, WIDTHS.wide), narrow: svgOf(one, WIDTHS.narrow) }]),
  )
}

/** A picture as a separate file, with its background and its dark colours. @param {string} svg */
export function standalone(svg) {
  const ground = `<style>${darkStyle()}</style><rect width="100%" height="100%" fill="${COLOURS.paper.light}"/>`
  return `${svg.replace('</desc>', () => `</desc>${ground}`)}\n`
}

/**
 * Adds a name for screen readers, removes what only a script would use, and makes ids unique, so that drawings can share a page.
 * @param {string} svg @param {Picture} picture @param {number} width @param {number} height
 */
function accessible(svg, { name, title, about }, width, height) {
  const id = `${name}-${width}`
  const inner = svg
    .replace(/^<svg [^>]*>|<\/svg>\s*$/g, '')
    .replace(/<style ?>[\s\S]*?<\/style>/g, '')
    .replace(/ (?:ecmeta_\w+|class|pointer-events|xml:space)="[^"]*"/g, '')
    .replace(/(id="|url\(#)zr\d+-/g, (_, start) => `${start}${id}-`)
    .replace(/<[^>]*>/g, (tag) => tag.replace(/(\d+\.\d\d)\d+/g, '$1'))
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${id}-title ${id}-about">`
  const named = `<title id="${id}-title">${escaped(title)}</title><desc id="${id}-about">${escaped(about)}</desc>`
  return printable(`${head}${named}${inner}</svg>`)
}

/** Escapes text for HTML, including attributes in quotes. @param {string} text */
export function escaped(text) {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
