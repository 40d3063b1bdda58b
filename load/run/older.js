/**
 * @import { Older } from './experiment.js'
 * @import { Cell } from '../report/record.js'
 */

/**
 * A record as today's versions write it: in older ones, a trial's place in its design was one string, and so was its cell. Pure.
 *
 * @param {any} record a line of trials.ndjson
 * @param {Older} older the verb's
 * @returns {any}
 */
export function currentRecord(record, { verb, at, cell = cellOf }) {
  if (record.at) return record
  return {
    ...record,
    experiment: verb,
    at: at(record.experiment, record),
    cell: typeof record.cell === 'string' ? cell(record.cell) : (record.cell ?? null),
  }
}

/** The same for run.json. @param {any} run @param {Older} older @returns {any} */
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
