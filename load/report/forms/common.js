import { COLOURS } from '../colours.js'
import { valueText } from '../picture.js'

/** @import { Axis } from '../picture.js' */

export const INK = COLOURS.ink.light
export const MUTED = COLOURS.muted.light
export const PAPER = COLOURS.paper.light
export const TEXT_PX = 12
export const LINE_PX = 14

const LEGEND_ROW_PX = 20
const LEGEND_BESIDE_PX = 58

/** Pictures narrower than this have room for few labels. */
export const NARROW_PX = 500

export const STILL = {
  animation: false,
  backgroundColor: 'transparent',
  textStyle: { fontFamily: 'system-ui, sans-serif', color: INK },
}

/** Minimum and maximum of values, which may be too many to pass as arguments of a call. @param {number[]} values @returns {[number, number]} */
export function rangeOf(values) {
  return values.reduce(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  )
}

/**
 * Ends and labels of a logarithmic axis: 1, 2 and 5 per decade, or only 1 if there are more than three decades.
 * @param {number[]} values @returns {{ min?: number, max?: number, axisLabel?: object, axisTick?: object }}
 */
function logScale(values) {
  const known = values.filter((value) => Number.isFinite(value) && value > 0)
  if (known.length === 0) return {}
  const [least, most] = rangeOf(known)
  const decades = Math.log10(most / least)
  const steps = decades > 3 ? [1] : [1, 2, 5]
  const from = Math.floor(Math.log10(least))
  const ticks = Array.from({ length: Math.ceil(Math.log10(most)) - from + 1 }, (_, i) => {
    return steps.map((step) => step * 10 ** (from + i))
  }).flat()
  const lower = ticks.findLast((tick) => tick <= least * 1.001) ?? least
  const upper = ticks.find((tick) => tick >= most * 0.999) ?? most
  // A single value that is a tick would leave the axis without length.
  const [low, high] = lower < upper ? [lower, upper] : [lower / 2, upper * 2]
  const shown = ticks.filter((tick) => tick >= low && tick <= high)
  return { min: low, max: high, axisLabel: { customValues: shown }, axisTick: { customValues: shown } }
}

/** @param {Axis} axis @param {number[]} values that have to be on it, if it is logarithmic */
export function axisOf({ title, unit, log, min, max }, values) {
  const scale = log ? logScale(values) : { min: exact(min ?? 0), max: max && exact(max) }
  return {
    type: log ? 'log' : 'value',
    name: title,
    ...scale,
    nameTextStyle: { color: MUTED },
    axisLine: { show: true, lineStyle: { color: MUTED } },
    axisTick: { lineStyle: { color: MUTED }, ...scale.axisTick },
    axisLabel: {
      color: MUTED,
      fontSize: TEXT_PX,
      hideOverlap: true,
      ...scale.axisLabel,
      formatter: (/** @type {number} */ value) => valueText(value, unit),
    },
    splitLine: { lineStyle: { color: COLOURS.grid.light } },
  }
}

/** Rounds the end of an axis: the library rejects 1.7999999999999998 if it computes 1.8 itself. @param {number} value */
function exact(value) {
  return Number(value.toPrecision(12))
}

/** @param {Axis} axis @param {number[]} values @param {number} width of the picture */
export function bottomAxis(axis, values, width) {
  const few = width < NARROW_PX && { splitNumber: 3 }
  return { ...axisOf(axis, values), ...few, nameLocation: 'middle', nameGap: 28 }
}

/** An axis with a name for each row, in one line or two. @param {string[]} names @param {number} width of the picture */
export function rowAxis(names, width) {
  const shown = names.map((name) => inTwoLines(name, width * 0.46))
  const axisLabel = { color: INK, fontSize: TEXT_PX, lineHeight: LINE_PX, interval: 0 }
  return {
    left: Math.max(...shown.map(widthOf), 30) + 16,
    label_px: shown.some((name) => name.includes('\n')) ? 34 : 26,
    axis: { type: 'category', inverse: true, data: shown, axisLine: { lineStyle: { color: MUTED } }, axisLabel },
  }
}

/**
 * The names of the series, in as many rows as it takes; nothing without names.
 * @param {string[]} names @param {number} width @param {string[]} [marks] one per series, if drawn without a line
 */
export function legendOf(names, width, marks) {
  if (names.length === 0) return { height: 0, option: [{ show: false }] }
  /** @type {string[][]} */
  const rows = [[]]
  let used_px = 0
  for (const name of names) {
    const own_px = widthOf(name) + LEGEND_BESIDE_PX
    if (used_px > 0 && used_px + own_px > width) {
      rows.push([])
      used_px = 0
    }
    rows[rows.length - 1].push(name)
    used_px += own_px
  }
  const look = marks ? { itemWidth: 11, itemHeight: 11 } : { itemWidth: 26, itemHeight: 9 }
  const style = { left: 4, itemGap: 26, textStyle: { color: INK, fontSize: TEXT_PX }, selectedMode: false, ...look }
  const option = rows.map((row, i) => ({
    ...style,
    top: 2 + i * LEGEND_ROW_PX,
    data: row.map((name) => ({ name, ...(marks && { icon: marks[names.indexOf(name)] }) })),
  }))
  return { height: rows.length * LEGEND_ROW_PX, option }
}

/** Estimated width in the widest of the usual fonts: only a browser could measure it. @param {string} text */
function widthOf(text) {
  return Math.max(...text.split('\n').map((line) => [...line].reduce((sum, letter) => sum + letterWidth(letter), 0)))
}

/** @param {string} letter */
function letterWidth(letter) {
  // Chinese characters are as wide as they are high. ECharts counts an emoji as two, since it has two UTF-16 units.
  if (letter >= '\u2e80') return TEXT_PX * letter.length
  if (/[A-Z_=%…]/.test(letter)) return 9
  return /[ijlft.,:;|'() ]/.test(letter) ? 4.7 : 7.5
}

/** Cuts a text to a width. @param {string} text @param {number} width_px */
export function cut(text, width_px) {
  if (widthOf(text) <= width_px) return text
  const letters = [...text]
  while (letters.length > 1 && widthOf(`${letters.join('')}…`) > width_px) letters.pop()
  return `${letters.join('')}…`
}

/** Splits a text that is too long for one line into two, each cut to the width. @param {string} text @param {number} width_px */
function inTwoLines(text, width_px) {
  const parts = text.split(/(?<=[ -])/)
  let first = parts.length
  while (first > 1 && widthOf(parts.slice(0, first).join('').trim()) > width_px) first--
  const lines = [parts.slice(0, first), parts.slice(first)].map((line) => cut(line.join('').trim(), width_px))
  return lines.join('\n').trim()
}
