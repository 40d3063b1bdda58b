/**
 * Converts records of older versions. In runs without `at`, a trial's place in the design was one string, and so was its cell.
 *
 * @typedef {object} Older how those of a verb are read
 * @property {string} verb
 * @property {(experiment: string, record: any) => At} at
 * @property {(cell: string) => Cell | null} [cell] by default, settings as `cellOf` reads them
 * @property {(plan: any) => any} [plan]
 *
 * @import { At, Cell } from '../report/record.js'
 */

/** A line of trials.ndjson. @param {any} record @param {Older} older */
export function currentRecord(record, { verb, at, cell = cellOf }) {
  if (record.at) return record
  const place = typeof record.cell === 'string' ? cell(record.cell) : (record.cell ?? null)
  return { ...record, experiment: verb, at: at(record.experiment, record), cell: place }
}

/** run.json. @param {any} run @param {Older} older */
export function currentRun(run, { plan = (kept) => kept, cell = cellOf }) {
  const not_applied = (run.not_applied ?? []).map((/** @type {any} */ one) => {
    return typeof one.cell === 'string' ? { ...one, cell: cell(one.cell) } : one
  })
  return { ...run, plan: plan(run.plan), not_applied }
}

/** `POOL_MAX=5 INSERT_MODE=single` -> { POOL_MAX: 5, INSERT_MODE: 'single' } @param {string} name @returns {Cell} */
export function cellOf(name) {
  const parts = name.split(' ').map((part) => part.split('='))
  return Object.fromEntries(parts.map(([knob, level]) => [knob, /^\d+$/.test(level) ? Number(level) : level]))
}
