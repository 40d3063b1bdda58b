import { HEAT } from '../colours.js'
import { cut, INK, inTwoLines, LINE_PX, PAPER, STILL, TEXT_PX, widthOf } from './common.js'

/** @import { Heat } from '../picture.js' */

/** High enough for a name in two lines. */
const ROW_PX = 32

/** @param {Heat} form @param {number} width */
export function heatOption({ rows, columns, cells }, width) {
  const most_px = width * 0.46
  const shown = rows.map((label) => inTwoLines(label, most_px))
  const left = Math.max(...shown.map(widthOf), 30) + 16
  const column_px = (width - left - 12) / columns.length
  const data = cells.flatMap((own, row) =>
    own.flatMap((cell, column) => {
      if (!cell) return []
      const step = Math.round(((Math.max(-1, Math.min(1, cell.score)) + 1) / 2) * (HEAT.length - 1))
      const { fill, text } = HEAT[step]
      // What does not fit is in the table below.
      const formatter = cut(cell.text, column_px - 4)
      return [
        {
          value: [column, row, cell.score],
          itemStyle: { color: fill, borderColor: PAPER, borderWidth: 2 },
          label: { show: true, color: text, fontSize: TEXT_PX, formatter },
        },
      ]
    }),
  )
  const axis = { type: 'category', axisLine: { show: false }, axisTick: { show: false }, splitArea: { show: false } }
  return {
    height: rows.length * ROW_PX + 52,
    option: {
      ...STILL,
      grid: { top: 44, left, right: 12, bottom: 8 },
      xAxis: {
        ...axis,
        position: 'top',
        data: columns,
        axisLabel: { color: INK, fontSize: TEXT_PX, interval: 0, width: column_px - 8, overflow: 'break' },
      },
      yAxis: {
        ...axis,
        inverse: true,
        data: shown,
        axisLabel: { color: INK, fontSize: TEXT_PX, lineHeight: LINE_PX, interval: 0 },
      },
      visualMap: { show: false, min: -1, max: 1, dimension: 2, inRange: { opacity: 1 } },
      series: [{ type: 'heatmap', silent: true, emphasis: { disabled: true }, data }],
    },
  }
}
