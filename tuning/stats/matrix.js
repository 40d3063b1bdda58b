import { isSettled, isValid } from '../../load/capacity/ladder.js'
import { cellName } from '../../load/report/format.js'
import { groupBy, oncePer, visitsOf } from './design.js'

/** @import { At, Cell, NotAppliedCell, Step, StepLoad, TrialRecord } from '../../load/report/record.js' */

/** `at.phase` of a matrix's trials, and of the load before them. */
const BLOCK = 'block'
const PEAK = 'peak'

/**
 * @typedef {object} Matrix blocks of visits to cells, with a trial of each kind per visit
 * @property {Visit[]} visits in order
 * @property {string[]} [kinds] of the trials of a visit, in order; by default, one trial without a kind
 * @property {(visit: Visit, kind: string | undefined, own: (kind: string) => TrialRecord[]) => StepLoad | null} [loadOf] by default,
 *   the visit's own; null if not for this cell; own: the trials so far of the same visit
 * @property {number} visit_s expected duration of a visit
 * @property {number} [later_s] expected duration of the steps that follow the matrix
 * @property {{ cell: Cell | null, at?: At, load: StepLoad }} [peak] a closed loop before the blocks, which offer shares of its goodput
 * @property {(record: TrialRecord) => boolean} [counts] by default, valid trials count
 * @property {number} [tries] after which a place without a trial that counts is given up
 * @property {boolean} [restarts] starts the target anew for each visit, even if two visits to a cell follow each other
 * @typedef {{ cell: any, at: At, load?: StepLoad }} Visit cell: null if there is only one target
 * @typedef {{ cell: Cell, at?: At }} Unit a cell that each block visits, and the fields that tell its trials apart
 */

/** The visits of all blocks; see visitsOf. @param {{ units: Unit[], anchor?: Unit | null, blocks: number, seed: number }} design @returns {Visit[]} */
export function matrixVisits({ units, anchor = null, blocks, seed }) {
  return visitsOf({ cells: units, anchor, blocks, seed }).map(({ block, position, cell: { cell, at } }) => {
    return { cell, at: { phase: BLOCK, ...at, block, position } }
  })
}

/**
 * The next trial of a matrix. Pure.
 * @param {Matrix} matrix @param {TrialRecord[]} records of this matrix, and of other phases @param {NotAppliedCell[]} notApplied are left out
 * @returns {Step | null} null if every place is settled, or there is no peak
 */
export function nextTrial(matrix, records, notApplied) {
  const { visits, kinds = [undefined], loadOf = ownLoad, visit_s, later_s = 0, peak, counts, tries, restarts } = matrix
  const out = new Set(notApplied.map(({ cell }) => cellName(cell)))
  if (peak && peakOf(records) === null) {
    if (out.has(cellName(peak.cell)) || isSettled(records, isValid, tries)) return null
    return { ...peak, at: { ...peak.at, phase: PEAK }, left_s: durationOf(matrix) }
  }
  const units = visits.map(unitOf)
  const repeated = new Set([...groupBy(units, String)].filter(([, own]) => own.length > 1).map(([unit]) => unit))
  const trials = groupBy(records, (record) => placeOf(record, record.at.kind, repeated))
  for (const [i, visit] of visits.entries()) {
    if (out.has(cellName(visit.cell))) continue
    const own = (/** @type {string | undefined} */ kind) => trials.get(placeOf(visit, kind, repeated)) ?? []
    for (const kind of kinds) {
      if (isSettled(own(kind), counts, tries)) continue
      const load = loadOf(visit, kind, own)
      if (!load) continue
      const at = kind === undefined ? visit.at : { ...visit.at, kind }
      const restart = restarts && (kinds.length === 1 || kinds.every((one) => own(one).length === 0))
      const left_s = (visits.length - i) * visit_s + later_s
      return { at, cell: visit.cell, left_s, ...(restart && { restart }), load }
    }
  }
  return null
}

/** @param {Visit} visit */
const ownLoad = ({ load }) => load ?? null

/** Seconds of a matrix and of the steps that follow. @param {Pick<Matrix, 'visits' | 'visit_s' | 'later_s' | 'peak'>} matrix */
export function durationOf({ visits, visit_s, later_s = 0, peak }) {
  const peak_s = peak ? peak.load.warmup_s + peak.load.duration_s : 0
  return peak_s + visits.length * visit_s + later_s
}

/** The trials that count, at the places with these fields. @param {TrialRecord[]} records @param {At} [where] @param {(record: TrialRecord) => boolean} [counts] */
export function trialsAt(records, where = {}, counts = isValid) {
  const fields = Object.entries({ phase: BLOCK, ...where })
  return records.filter((record) => fields.every(([name, value]) => record.at[name] === value) && counts(record))
}

/** Goodput of the closed loop before a matrix, which offers shares of it; null without a valid trial. @param {TrialRecord[]} records */
export function peakOf(records) {
  return trialsAt(records, { phase: PEAK }).at(0)?.traffic.goodput_rps ?? null
}

/** A visit of a block: a cell, and the fields that tell its trials apart. */
const unitOf = oncePer((/** @type {Pick<Visit, 'at' | 'cell'>} */ { at: { position, kind, ...at }, cell }) => {
  return JSON.stringify([Object.entries(at).sort(), cellName(cell)])
})

/**
 * The place of a visit. The position counts only for a unit that a block visits more than once: the version that began the run may have
 * drawn another order. @param {Pick<Visit, 'at' | 'cell'>} visit @param {string | undefined} kind of the trial @param {Set<string>} repeated units
 */
function placeOf(visit, kind, repeated) {
  const unit = unitOf(visit)
  return `${unit} ${repeated.has(unit) ? visit.at.position : ''} ${kind}`
}
