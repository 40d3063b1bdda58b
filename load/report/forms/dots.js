import { SERIES } from '../colours.js'
import { axisOf, INK, inTwoLines, LINE_PX, legendOf, MUTED, NARROW_PX, STILL, TEXT_PX, widthOf } from './common.js'

/** @import { Dots } from '../picture.js' */

const ROW_PX = 26
const TWO_LINES_PX = 34

/** @param {Dots} form @param {number} width */
export function dotsOption(form, width) {
  const { x, labels, series, reference } = form
  const legend = legendOf(
    series.map(({ name }) => name),
    width,
    series.map((_, i) => SERIES[i % SERIES.length].mark),
  )
  const most_px = width * 0.46
  const shown = labels.map((label) => inTwoLines(label, most_px))
  const left = Math.max(...shown.map(widthOf), 30) + 16
  const name_px = shown.some((label) => label.includes('\n')) ? TWO_LINES_PX : ROW_PX
  const row_px = Math.max(name_px, sideBySide(series) * 15 + 10)
  const top = legend.height + 8
  const drawn = series.map(({ name, values }, i) => dotsSeries(form, i, name, values))
  const from = reference === undefined ? [] : [{ xAxis: reference, label: { show: false } }]
  return {
    height: top + labels.length * row_px + 52,
    option: {
      ...STILL,
      legend: legend.option,
      grid: { top, left, right: 24, bottom: 48 },
      xAxis: {
        ...axisOf(x, endsOf(form), width < NARROW_PX),
        nameLocation: 'middle',
        nameGap: 28,
      },
      yAxis: {
        type: 'category',
        inverse: true,
        data: shown,
        axisLine: { lineStyle: { color: MUTED } },
        axisTick: { show: false },
        axisLabel: { color: INK, fontSize: TEXT_PX, lineHeight: LINE_PX, interval: 0 },
        splitLine: { show: false },
      },
      series: [
        ...drawn,
        {
          type: 'line',
          data: [],
          silent: true,
          markLine: { silent: true, symbol: 'none', lineStyle: { color: INK, type: 'solid', width: 1 }, data: from },
        },
      ],
    },
  }
}

/** How many marks a row has at most. @param {Dots['series']} series */
function sideBySide(series) {
  const rows = series[0]?.values.map((_, row) => series.filter(({ values }) => values[row]).length) ?? []
  return Math.max(1, ...rows) === 1 ? 1 : series.length
}

/** What has to be on the axis. @param {Dots} form */
function endsOf({ series, reference }) {
  const ends = series.flatMap(({ values }) =>
    values.flatMap((one) => (one ? [one.value, one.low ?? one.value, one.high ?? one.value] : [])),
  )
  return reference === undefined ? ends : [...ends, reference]
}

/**
 * A mark with its interval, beside those of the other series in the same row.
 *
 * @param {Dots} form
 * @param {number} index
 * @param {string} name
 * @param {Dots['series'][number]['values']} values
 */
function dotsSeries({ series, bars = false, x }, index, name, values) {
  const { colour, mark } = SERIES[index % SERIES.length]
  // Where a row has one value, whichever series it is of, it stands in the middle.
  const offset_px = sideBySide(series) === 1 ? 0 : (index - (series.length - 1) / 2) * 15
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
      const row = api.value(1)
      const at = (/** @type {number} */ value) => api.coord([value, row])
      const [[cx, base], [from], [to], [zero]] = [
        at(api.value(0)),
        at(api.value(2)),
        at(api.value(3)),
        at(x.log ? api.value(0) : 0),
      ]
      const cy = base + offset_px
      const line = (/** @type {number[]} */ [x1, y1, x2, y2]) => ({
        type: 'line',
        shape: { x1, y1, x2, y2 },
        style: { stroke: bars ? INK : colour, lineWidth: 2 },
      })
      const whisker =
        to - from < 0.5
          ? []
          : [
              [from, cy, to, cy],
              [from, cy - 4, from, cy + 4],
              [to, cy - 4, to, cy + 4],
            ].map(line)
      const bar = {
        type: 'rect',
        shape: { x: Math.min(zero, cx), y: cy - 7, width: Math.abs(cx - zero), height: 14 },
        style: { fill: colour },
      }
      return { type: 'group', children: bars ? [bar, ...whisker] : [...whisker, markAt(mark, cx, cy, colour)] }
    },
  }
}

/** @param {string} mark @param {number} x @param {number} y @param {string} fill */
function markAt(mark, x, y, fill) {
  const style = { fill }
  if (mark === 'circle') return { type: 'circle', shape: { cx: x, cy: y, r: 4.5 }, style }
  if (mark === 'rect' || mark === 'roundRect') {
    return { type: 'rect', shape: { x: x - 4, y: y - 4, width: 8, height: 8, r: mark === 'rect' ? 0 : 3 }, style }
  }
  const points =
    {
      triangle: [
        [0, -5],
        [5, 4],
        [-5, 4],
      ],
      diamond: [
        [0, -6],
        [5, 0],
        [0, 6],
        [-5, 0],
      ],
      arrow: [
        [0, -6],
        [5, 5],
        [0, 2],
        [-5, 5],
      ],
    }[mark] ?? []
  return { type: 'polygon', shape: { points: points.map(([dx, dy]) => [x + dx, y + dy]) }, style }
}
