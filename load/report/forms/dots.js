import { SERIES } from '../colours.js'
import { bottomAxis, INK, legendOf, rowAxis, STILL } from './common.js'

/** @import { Dots } from '../picture.js' */

const BESIDE_PX = 15

/** Outlines of the marks of SERIES, around their centre. @type {Record<string, string>} */
const OUTLINES = {
  circle: 'M-4.5 0A4.5 4.5 0 1 0 4.5 0A4.5 4.5 0 1 0 -4.5 0Z',
  triangle: 'M0 -5L5 4L-5 4Z',
  rect: 'M-4 -4H4V4H-4Z',
  diamond: 'M0 -6L5 0L0 6L-5 0Z',
  arrow: 'M0 -6L5 5L0 2L-5 5Z',
  roundRect: 'M-1 -4H1A3 3 0 0 1 4 -1V1A3 3 0 0 1 1 4H-1A3 3 0 0 1 -4 1V-1A3 3 0 0 1 -1 -4Z',
}

/** @param {Dots} form @param {number} width */
export function dotsOption(form, width) {
  const { x, labels, series, reference } = form
  const names = series.map(({ name }) => name)
  const marks = series.map((_, i) => SERIES[i % SERIES.length].mark)
  const legend = legendOf(names.length > 1 ? names : [], width, marks)
  const { left, label_px, axis } = rowAxis(labels, width)
  const row_px = Math.max(label_px, sideBySide(series) * BESIDE_PX + 10)
  const top = legend.height + 8
  const from = reference === undefined ? [] : [{ xAxis: reference, label: { show: false } }]
  const line = { silent: true, symbol: 'none', lineStyle: { color: INK, type: 'solid', width: 1 }, data: from }
  return {
    height: top + labels.length * row_px + 52,
    option: {
      ...STILL,
      legend: legend.option,
      grid: { top, left, right: 24, bottom: 48 },
      xAxis: bottomAxis(x, endsOf(form), width),
      yAxis: { ...axis, axisTick: { show: false }, splitLine: { show: false } },
      series: [...series.map((_, i) => dotsSeries(form, i)), { type: 'line', data: [], silent: true, markLine: line }],
    },
  }
}

/** Number of marks to make room for in a row: one if no row has more, or else one for each series. @param {Dots['series']} series */
function sideBySide(series) {
  const rows = series[0]?.values.map((_, row) => series.filter(({ values }) => values[row]).length) ?? []
  return Math.max(1, ...rows) === 1 ? 1 : series.length
}

/** Values that the axis has to include. @param {Dots} form */
function endsOf({ series, reference }) {
  const values = series.flatMap((one) => one.values).filter((value) => value !== null)
  const ends = values.flatMap(({ value, low = value, high = value }) => [value, low, high])
  return reference === undefined ? ends : [...ends, reference]
}

/** A mark with its interval for each row, next to those of the other series. @param {Dots} form @param {number} index of the series */
function dotsSeries({ series, bars = false }, index) {
  const { name, values } = series[index]
  const { colour, mark } = SERIES[index % SERIES.length]
  // If no row has more than one value, each is centred, whichever series it belongs to.
  const offset_px = sideBySide(series) === 1 ? 0 : (index - (series.length - 1) / 2) * BESIDE_PX
  const data = values.flatMap((one, row) =>
    one && Number.isFinite(one.value) ? [[one.value, row, one.low ?? one.value, one.high ?? one.value]] : [],
  )
  return {
    type: 'custom',
    name,
    silent: true,
    itemStyle: { color: colour },
    encode: { x: [0, 2, 3], y: 1 },
    data,
    renderItem: (/** @type {any} */ _, /** @type {any} */ api) => {
      const at = (/** @type {number} */ value) => api.coord([value, api.value(1)])
      const [[x_px, middle_px], [from], [to]] = [0, 2, 3].map((dimension) => at(api.value(dimension)))
      const y_px = middle_px + offset_px
      const path = (/** @type {string} */ pathData, /** @type {object} */ style) => ({
        type: 'path',
        shape: { pathData },
        style,
      })
      const ends = [from, to].map((end) => `M${end} ${y_px - 4}V${y_px + 4}`).join('')
      const stroke = { fill: 'none', stroke: bars ? INK : colour, lineWidth: 2 }
      const whisker = to - from < 0.5 ? [] : [path(`M${from} ${y_px}H${to}${ends}`, stroke)]
      const shape = bars ? `M${at(0)[0]} ${y_px - 7}H${x_px}V${y_px + 7}H${at(0)[0]}Z` : OUTLINES[mark]
      const own = { ...path(shape, { fill: colour }), ...(!bars && { x: x_px, y: y_px }) }
      return { type: 'group', children: bars ? [own, ...whisker] : [...whisker, own] }
    },
  }
}
