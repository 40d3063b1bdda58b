/**
 * Converts runs of older versions, which kept a trial's place in the design, and its cell, as one string each.
 * @typedef {object} Older reads the older runs of a verb
 * @property {(experiment: string) => At} at
 * @property {(cell: string) => Cell | null} [cell] defaults to `cellOf`, which reads settings
 * @property {(plan: any) => any} [plan]
 * @import { At, Cell } from '../report/record.js'
 */

/** Converts a line of trials.ndjson. @param {any} record @param {{ name: string, older?: Older }} verb */
export function currentRecord(record, { name, older }) {
  if (record.at || !older) return record
  const { at, cell = cellOf } = older
  return { ...record, experiment: name, at: at(record.experiment), cell: record.cell && cell(record.cell) }
}

/** `POOL_MAX=5 INSERT_MODE=single` -> { POOL_MAX: 5, INSERT_MODE: 'single' } @param {string} name @returns {Cell} */
export function cellOf(name) {
  const parts = name.split(' ').map((part) => part.split('='))
  return Object.fromEntries(parts.map(([knob, level]) => [knob, /^\d+$/.test(level) ? Number(level) : level]))
}
