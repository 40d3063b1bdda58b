import { HEAT } from '../colours.js'
import { cut, INK, PAPER, rowAxis, STILL, TEXT_PX } from './common.js'

/** @import { Heat } from '../picture.js' */

/** Height that is enough for a name in two lines. */
const ROW_PX = 32

/** @param {Heat} form @param {number} width */
export function heatOption({ rows, columns, cells }, width) {
  const { left, axis } = rowAxis(rows, width)
  const column_px = (width - left - 12) / columns.length
  const data = cells.flatMap((own, row) =>
    own.flatMap((cell, column) => {
      if (!cell) return []
      const score = Math.max(-1, Math.min(1, cell.score))
      const { fill, text } = HEAT[Math.round(((score + 1) / 2) * (HEAT.length - 1))]
      // The full text is in the table below.
      const formatter = cut(cell.text, column_px - 4)
      const itemStyle = { color: fill, borderColor: PAPER, borderWidth: 2 }
      const label = { show: true, color: text, fontSize: TEXT_PX, formatter }
      return [{ value: [column, row, cell.score], itemStyle, label }]
    }),
  )
  const bare = { axisLine: { show: false }, axisTick: { show: false }, splitArea: { show: false } }
  return {
    height: rows.length * ROW_PX + 52,
    option: {
      ...STILL,
      grid: { top: 44, left, right: 12, bottom: 8 },
      xAxis: {
        ...bare,
        type: 'category',
        position: 'top',
        data: columns,
        axisLabel: { color: INK, fontSize: TEXT_PX, interval: 0, width: column_px - 8, overflow: 'break' },
      },
      yAxis: { ...axis, ...bare },
      visualMap: { show: false, min: -1, max: 1, dimension: 2, inRange: { opacity: 1 } },
      series: [{ type: 'heatmap', silent: true, emphasis: { disabled: true }, data }],
    },
  }
}
