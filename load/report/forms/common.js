import { COLOURS } from '../colours.js'
import { valueText } from '../picture.js'

export const INK = COLOURS.ink.light
export const MUTED = COLOURS.muted.light
export const PAPER = COLOURS.paper.light
export const TEXT_PX = 12

/** Of a letter, on the average: SVG that is drawn without a browser cannot measure. */
export const LETTER_PX = 6.4
const LEGEND_ROW_PX = 20

/** Narrower than this there is room for few labels. */
export const NARROW_PX = 500

export const STILL = {
  animation: false,
  backgroundColor: 'transparent',
  textStyle: { fontFamily: 'system-ui, sans-serif', color: INK },
}

/** @param {import('../picture.js').Axis} axis @param {boolean} [few] labels */
export function axisOf({ title, unit, log, min, max }, few = false) {
  return {
    type: log ? 'log' : 'value',
    name: title,
    min: min ?? (log ? undefined : 0),
    max,
    ...(few && { splitNumber: 3 }),
    nameTextStyle: { color: MUTED },
    axisLine: { show: true, lineStyle: { color: MUTED } },
    axisTick: { lineStyle: { color: MUTED } },
    axisLabel: {
      color: MUTED,
      fontSize: TEXT_PX,
      hideOverlap: true,
      formatter: (/** @type {number} */ value) => valueText(value, unit),
    },
    splitLine: { lineStyle: { color: COLOURS.grid.light } },
  }
}

/** @param {string[]} names @param {number} width */
export function legendOf(names, width) {
  if (names.length < 2) return { height: 0, option: { show: false } }
  const widths = names.map((name) => name.length * LETTER_PX + 48)
  let rows = 1
  let used = 0
  for (const own of widths) {
    if (used > 0 && used + own > width - 10) {
      rows++
      used = 0
    }
    used += own
  }
  const option = {
    top: 2,
    left: 4,
    itemGap: 14,
    itemWidth: 26,
    itemHeight: 9,
    textStyle: { color: INK, fontSize: TEXT_PX },
    data: names,
    selectedMode: false,
  }
  return { height: rows * LEGEND_ROW_PX, option }
}

/** @param {string} text @param {number} letters */
export function cut(text, letters) {
  return text.length > letters ? `${text.slice(0, Math.max(1, letters - 1))}…` : text
}
