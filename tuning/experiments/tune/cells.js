import { table } from '../../../load/report/blocks.js'
import { cellName, count, milliseconds, NONE, percent } from '../../../load/report/format.js'
import { digits, ratioText } from '../../stats/effects.js'
import { spread } from '../../stats/tables.js'
import { OFFERED } from './presets.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { TuneFindings } from './findings.js'
 */

/** Maximum number of knobs with a column each in the table of cells, or whose levels name a row of the picture. */
const MOST_COLUMNS = 4

/** A change by this factor, for better or worse, gets the deepest colour. */
const DEEPEST_RATIO = 2

/** A row for each cell. @param {TuneFindings} findings */
export function cellsTable({ cells }) {
  const names = Object.keys(cells[0]?.cell ?? {})
  const isWide = names.length > 1 && names.length <= MOST_COLUMNS
  const rows = cells.map(({ cell, is_anchor, success_ratio, p99_ms, goodput_rps, cpu_us, costs, ratios }) => [
    ...(isWide ? names.map((name) => String(cell[name])) : [is_anchor ? `${cellName(cell)} (anchor)` : cellName(cell)]),
    ...Object.values(success_ratio).map((ratio) => (Number.isNaN(ratio) ? NONE : percent(ratio))),
    milliseconds(p99_ms),
    spread([goodput_rps], 0),
    is_anchor ? '1' : cellRatio(ratios[0]),
    spread([cpu_us], 1),
    ...costs.map((cost) => spread([cost.figure], 1)),
  ])
  const success = Object.values(OFFERED).map((share) => `success at ${share}x`)
  const head = [
    ...(isWide ? names : ['cell']),
    ...success,
    'p99 at 1x',
    'goodput/s at 1.5x',
    'goodput / anchor',
    'API CPU us at 0.5x',
    ...(cells[0]?.costs ?? []).map(({ short }) => short),
  ]
  return table(head, rows, { name: 'cells' })
}

/** Omits the interval if too few blocks give one; the levels' intervals are below. @param {TuneFindings['cells'][number]['ratios'][number]} effect */
function cellRatio(effect) {
  return Number.isFinite(effect.high) || Number.isNaN(effect.ratio) ? ratioText(effect) : `${digits(effect.ratio)}x`
}

/** A heat map of the cells' ratios to the anchor. @param {TuneFindings} findings @returns {Picture} */
export function cellsPicture({ cells, anchor, responses }) {
  const { names, rows } = rowsOf(cells, anchor)
  const about = [
    `Ratios to ${cellName(anchor)}, within a block.`,
    ...(names ? [`Rows: ${names}.`] : []),
    'Blue is better, orange is worse, pale is close to it.',
    ...notesOf(responses),
  ]
  return {
    name: 'cells',
    title: 'Cells compared with the anchor',
    about: about.join(' '),
    form: {
      kind: 'heat',
      corner: names ?? 'cell',
      rows,
      columns: responses.map(({ short }) => short),
      cells: cells.map(({ is_anchor, ratios }) =>
        responses.map(({ better }, i) => {
          if (is_anchor) return { score: 0, text: 'anchor' }
          if (Number.isNaN(ratios[i].ratio)) return null
          const score = Math.log(ratios[i].ratio) / Math.log(DEEPEST_RATIO)
          return { score: better === 'more' ? score : -score, text: ratioText(ratios[i]).split(' ')[0] }
        }),
      ),
    },
  }
}

/**
 * Short names of the cells: their levels, below the knobs' names as a heading; for one knob or many, what differs from the anchor.
 * @param {TuneFindings['cells']} cells @param {TuneFindings['anchor']} anchor
 */
function rowsOf(cells, anchor) {
  const turned = Object.keys(anchor).filter((name) => cells.some(({ cell }) => cell[name] !== anchor[name]))
  if (turned.length > 1 && turned.length <= MOST_COLUMNS) {
    const levelText = (/** @type {string | number} */ level) => (typeof level === 'number' ? count(level) : level)
    const rows = cells.map(({ cell }) => turned.map((name) => levelText(cell[name])).join(' / '))
    return { names: turned.join(' / '), rows }
  }
  const rows = cells.map(({ cell }) => {
    const changed = turned.filter((name) => cell[name] !== anchor[name]).map((name) => `${name}=${cell[name]}`)
    return changed.join(' ') || 'the anchor'
  })
  return { names: null, rows }
}

/** Conclusions that these measures do not support. @param {{ note?: string }[]} responses */
export function notesOf(responses) {
  return responses.flatMap(({ note }) => note ?? [])
}
