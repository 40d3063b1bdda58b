import { COLOURS, darkStyle } from './colours.js'
import { dotsOption } from './forms/dots.js'
import { heatOption } from './forms/heat.js'
import { xyOption } from './forms/xy.js'

/** @import { Picture } from './picture.js' */

/** Wide for a page and a file; narrow so that letters stay letters on a telephone. */
export const WIDTHS = { wide: 760, narrow: 350 }

/**
 * Draws pictures as SVG: no browser, no script in what comes out.
 *
 * The only importer of ECharts, which draws SVG without a browser or a canvas and brings two packages more.
 *
 * @returns {Promise<(picture: Picture, width?: number) => string>} `<svg>…</svg>`
 */
export async function createPainter() {
  const [{ init, use }, charts, components, { SVGRenderer }] = await Promise.all([
    import('echarts/core'),
    import('echarts/charts'),
    import('echarts/components'),
    import('echarts/renderers'),
  ])
  const { LineChart, HeatmapChart, CustomChart } = charts
  const { GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, VisualMapComponent } = components
  use([LineChart, HeatmapChart, CustomChart, SVGRenderer])
  use([GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, VisualMapComponent])

  return (picture, width = WIDTHS.wide) => {
    const { option, height } = optionOf(picture.form, width)
    const chart = init(null, null, { renderer: 'svg', ssr: true, width, height })
    try {
      chart.setOption(/** @type {any} */ (option))
      return accessible(chart.renderToSVGString(), picture, { width, height })
    } finally {
      // Its clock would keep the process alive.
      chart.dispose()
    }
  }
}

/** A picture as a file of its own: it has its ground and its dark colours with it. @param {string} svg */
export function standalone(svg) {
  const ground = `<style>${darkStyle()}</style><rect width="100%" height="100%" fill="${COLOURS.paper.light}"/>`
  return `${svg.replace('</desc>', () => `</desc>${ground}`)}\n`
}

/** A picture's form as the library wants it, and how high it gets. @param {Picture['form']} form @param {number} width */
function optionOf(form, width) {
  if (form.kind === 'xy') return xyOption(form, width)
  return form.kind === 'dots' ? dotsOption(form, width) : heatOption(form, width)
}

/**
 * With a name that is read aloud, without what only a script would use, and with names of its own for its parts, so that
 * many fit on a page.
 *
 * @param {string} svg
 * @param {Picture} picture
 * @param {{ width: number, height: number }} size
 */
function accessible(svg, { name, title, about }, { width, height }) {
  const id = `${name}-${width}`
  const inner = svg
    .replace(/^<svg [^>]*>|<\/svg>\s*$/g, '')
    .replace(/<style ?>[\s\S]*?<\/style>/g, '')
    .replace(/ (?:ecmeta_\w+|class|pointer-events|xml:space)="[^"]*"/g, '')
    .replace(/(id="|url\(#)zr\d+-/g, (_, start) => `${start}${id}-`)
    .replace(/(\d+\.\d\d)\d+/g, '$1')
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${id}-title ${id}-about">`
  return `${head}<title id="${id}-title">${escaped(title)}</title><desc id="${id}-about">${escaped(about)}</desc>${inner}</svg>`
}

/** For text and for attributes in quotes. @param {string} text */
export function escaped(text) {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
