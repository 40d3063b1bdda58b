import { COLOURS, SERIES } from '../colours.js'
import {
  axisOf,
  bottomAxis,
  INK,
  LINE_PX,
  legendOf,
  MUTED,
  NARROW_PX,
  PAPER,
  rangeOf,
  STILL,
  TEXT_PX,
} from './common.js'

/** @import { Mark, Series, Xy } from '../picture.js' */

/** @param {Xy} form @param {number} width */
export function xyOption({ x, y, series, marks = [] }, width) {
  const styled = series.map((one, i) => ({ ...one, ...SERIES[(one.style ?? i) % SERIES.length] }))
  const names = [...new Set(styled.map(({ name }) => name))]
  // The title of the axis names a single line just as well, if it is the same.
  const legend = legendOf(names.length === 1 && names[0] === y.title ? [] : names, width)
  const drawn = styled.map(({ name, points, as, colour, mark, line }) => ({
    type: 'line',
    name,
    data: points.map(([at, value]) => [at, Number.isFinite(value) ? value : '-']),
    silent: true,
    emphasis: { disabled: true },
    symbol: as === 'line' ? 'none' : mark,
    symbolSize: as === 'both' ? 7 : 8,
    showAllSymbol: true,
    lineStyle: { color: colour, type: line, width: as === 'dots' ? 0 : 2, opacity: as === 'dots' ? 0 : 1 },
    itemStyle: { color: colour, borderColor: colour, borderWidth: 0 },
  }))
  const valuesOf = (/** @type {'x' | 'y'} */ axis) => [
    ...series.flatMap(({ points }) => points.map((point) => point[axis === 'x' ? 0 : 1])),
    ...marks.flatMap((mark) => (mark.axis === axis && 'at' in mark ? [mark.at] : [])),
  ]
  const lifted_px = isUnderTitle(marks, valuesOf('x'), x) ? TITLE_PX : 0
  const top = legend.height + 34 + lifted_px
  const noted = drawn.length === 0 ? [{ type: 'line', data: [] }] : drawn
  Object.assign(noted[0], marksOf(marks, series, lifted_px))
  return {
    height: width < NARROW_PX ? 300 : 340,
    option: {
      ...STILL,
      legend: legend.option,
      grid: { top, left: 62, right: 22, bottom: 46 },
      xAxis: bottomAxis(x, valuesOf('x'), width),
      yAxis: {
        ...axisOf(y, valuesOf('y')),
        nameLocation: 'end',
        nameGap: 10,
        nameTextStyle: { color: MUTED, align: 'left', padding: [0, 0, 0, -54] },
      },
      series: noted,
    },
  }
}

/** Width, as a share of a narrow picture, and height of the title of the y axis at the top left. */
const TITLE_SHARE = 0.4
const TITLE_PX = 20

/** Whether a vertical line ends below the title of the y axis, so that its label has to go above the title. @param {Mark[]} marks @param {number[]} values @param {Xy['x']} axis */
function isUnderTitle(marks, values, axis) {
  const [least, most] = rangeOf(values)
  const { min = least, max = most } = axis
  return marks.some((mark) => mark.axis === 'x' && 'at' in mark && mark.at < min + TITLE_SHARE * (max - min))
}

/** @param {Mark[]} marks @param {Series[]} series @param {number} lifted_px */
function marksOf(marks, series, lifted_px) {
  const values = series.flatMap(({ points }) => points.map(([, value]) => value)).filter(Number.isFinite)
  // Avoids overlaps: if a level is above most values, labels of levels go below them, and labels of areas to the bottom.
  const namesBelow = marks.some((mark) => {
    return mark.axis === 'y' && 2 * values.filter((value) => value < mark.at).length > values.length
  })
  const label = { color: INK, fontSize: TEXT_PX, textBorderColor: PAPER, textBorderWidth: 3 }
  const level = { position: namesBelow ? 'insideStartBottom' : 'insideStartTop' }
  const verticals = marks.filter((mark) => 'at' in mark && mark.axis === 'x')
  const lines = marks.flatMap((mark) => {
    if (!('at' in mark)) return []
    // Labels of vertical lines are stacked, since the lines may be close together.
    const vertical = { position: 'end', rotate: 0, distance: 5 + lifted_px + LINE_PX * verticals.indexOf(mark) }
    const where = mark.axis === 'x' ? { xAxis: mark.at } : { yAxis: mark.at }
    return [{ ...where, label: { ...label, ...(mark.axis === 'x' ? vertical : level), formatter: mark.label } }]
  })
  const areas = marks.flatMap((mark) => {
    if ('at' in mark) return []
    const position = namesBelow ? 'insideBottomLeft' : [4, 4]
    return [[{ xAxis: mark.from, name: mark.label, label: { ...label, position } }, { xAxis: mark.to }]]
  })
  return {
    ...(lines.length > 0 && {
      markLine: { silent: true, symbol: 'none', lineStyle: { color: INK, type: 'dashed', width: 1.2 }, data: lines },
    }),
    ...(areas.length > 0 && {
      // Drawn above the lines, which would otherwise cross out its label.
      markArea: { z: 6, silent: true, itemStyle: { color: COLOURS.green.light, opacity: 0.18 }, data: areas },
    }),
  }
}
