import { NONE, threeDigits } from './format.js'

/**
 * A picture as plain data, which chart.js draws.
 * @typedef {{ name: string, title: string, about: string, form: Xy | Dots | Heat, table?: Table }} Picture name: its file name without
 *   .svg; about: a sentence on what it shows; table: its figures, if nobody would read them point by point
 * @typedef {{ head: string[], rows: string[][] }} Table
 * @typedef {{ title: string, unit: Unit, log?: boolean, min?: number, max?: number }} Axis
 * @typedef {'rate' | 'ms' | 'us' | 's' | 'share' | 'ratio' | 'number' | 'mib'} Unit
 * @typedef {{ kind: 'xy', x: Axis, y: Axis, series: Series[], marks?: Mark[] }} Xy lines and points
 * @typedef {{ name: string, points: [number, number][], as: 'line' | 'dots' | 'both', style?: number }} Series
 *   a y that is not a number leaves a gap; style: index into SERIES of colours.js, by default one after the other
 * @typedef {{ axis: 'x' | 'y', at: number, label: string } | { axis: 'x', from: number, to: number, label: string }} Mark
 * @typedef {object} Dots values with intervals, one row for each label
 * @property {'dots'} kind
 * @property {Axis} x
 * @property {string[]} labels
 * @property {{ name: string, values: (Value | null)[] }[]} series
 * @property {number} [reference] value at which to draw a line
 * @property {boolean} [bars] whether to draw bars from zero to the values
 * @typedef {{ value: number, low?: number, high?: number }} Value low and high: its interval, if known
 * @typedef {{ kind: 'heat', corner: string, rows: string[], columns: string[], cells: ({ score: number, text: string } | null)[][] }} Heat
 *   corner: title of the rows; cells: by row; score: from -1 (worse) to 1 (better)
 */

/** @type {(name: string, title: string, about: string, form: Omit<Xy, 'kind'>) => Picture & { form: Xy }} */
export const xyPicture = (name, title, about, form) => ({ name, title, about, form: { kind: 'xy', ...form } })

/** @type {Record<Unit, (value: number) => string>} */
const UNITS = {
  rate: (value) => `${short(value)}/s`,
  ms: (value) => (value < 1000 ? `${threeDigits(value)} ms` : `${threeDigits(value / 1000)} s`),
  us: (value) => `${threeDigits(value)} us`,
  s: (value) => `${threeDigits(value)} s`,
  share: (value) => `${threeDigits(value * 100)} %`,
  ratio: (value) => `${threeDigits(value)}x`,
  mib: (value) => `${threeDigits(value)} MiB`,
  number: (value) => short(value),
}

/** Formats a value for an axis or a table. @param {number} value @param {Unit} unit */
export function valueText(value, unit) {
  return Number.isFinite(value) ? UNITS[unit](value) : NONE
}

/** A picture's figures, for readers who cannot see it. @param {Picture} picture @returns {Table} */
export function tableOf({ form, table }) {
  if (table) return table
  if (form.kind === 'heat') {
    const rows = form.rows.map((name, i) => [name, ...form.cells[i].map((cell) => cell?.text ?? NONE)])
    return { head: [form.corner, ...form.columns], rows }
  }
  if (form.kind === 'dots') return dotsTable(form)
  const rows = form.series.flatMap(({ name, points }) =>
    points
      .filter(([, y]) => Number.isFinite(y))
      .map(([x, y]) => [name, valueText(x, form.x.unit), valueText(y, form.y.unit)]),
  )
  const marks = (form.marks ?? []).map((mark) => {
    const { unit } = mark.axis === 'x' ? form.x : form.y
    const where =
      'at' in mark ? valueText(mark.at, unit) : `${valueText(mark.from, unit)} to ${valueText(mark.to, unit)}`
    return mark.axis === 'x' ? [mark.label, where, NONE] : [mark.label, NONE, where]
  })
  return { head: ['series', form.x.title, form.y.title], rows: [...marks, ...rows] }
}

/** @param {Dots} form */
function dotsTable({ x, labels, series }) {
  const rows = labels.flatMap((label, i) =>
    series.flatMap(({ name, values }) => {
      const value = values[i]
      if (!value || !Number.isFinite(value.value)) return []
      const ends = [value.low, value.high].map((end) => (end === undefined ? NONE : valueText(end, x.unit)))
      return [[label, ...(series.length > 1 ? [name] : []), valueText(value.value, x.unit), ...ends]]
    }),
  )
  return { head: ['', ...(series.length > 1 ? ['series'] : []), x.title, 'low', 'high'], rows }
}

/** 50700 -> 50.7k @param {number} value */
function short(value) {
  if (Math.abs(value) >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`
  return Math.abs(value) >= 10_000 ? `${Number((value / 1000).toPrecision(3))}k` : threeDigits(value)
}
