import { HEAT } from '../colours.js'
import { cut, INK, LETTER_PX, PAPER, STILL, TEXT_PX } from './common.js'

/** @param {import('../picture.js').Heat} form @param {number} width */
export function heatOption({ rows, columns, cells }, width) {
  const most = Math.floor((width * 0.45) / LETTER_PX)
  const shown = rows.map((label) => cut(label, most))
  const left = Math.max(...shown.map((label) => label.length), 4) * LETTER_PX + 18
  const column_px = (width - left - 12) / columns.length
  const data = cells.flatMap((own, row) =>
    own.flatMap((cell, column) => {
      if (!cell) return []
      const step = Math.round(((Math.max(-1, Math.min(1, cell.score)) + 1) / 2) * (HEAT.length - 1))
      const { fill, text } = HEAT[step]
      // What does not fit is in the table below.
      const formatter = cut(cell.text, Math.floor(column_px / LETTER_PX))
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
  const letters = Math.max(6, Math.floor(column_px / LETTER_PX) - 1)
  return {
    height: rows.length * 30 + 52,
    option: {
      ...STILL,
      grid: { top: 44, left, right: 12, bottom: 8 },
      xAxis: {
        ...axis,
        position: 'top',
        data: columns,
        axisLabel: { color: INK, fontSize: TEXT_PX, interval: 0, width: letters * LETTER_PX, overflow: 'break' },
      },
      yAxis: { ...axis, inverse: true, data: shown, axisLabel: { color: INK, fontSize: TEXT_PX, interval: 0 } },
      visualMap: { show: false, min: -1, max: 1, dimension: 2, inRange: { opacity: 1 } },
      series: [{ type: 'heatmap', silent: true, emphasis: { disabled: true }, data }],
    },
  }
}
