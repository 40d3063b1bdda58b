import { isSettled } from '../../../load/capacity/ladder.js'
import { isSameCell } from '../../../load/report/format.js'
import { loadOf as partOf } from '../../knobs/means.js'
import { matrixVisits, nextTrial, peakOf } from '../../stats/matrix.js'
import { cellsOf, countsIn, loadOf } from './experiments.js'

/** @import { NotAppliedCell, Plan, Step, TrialRecord } from '../../../load/report/record.js' */

const WARMUP_S = 2
const DURATION_S = 2
const START_S = 1.5

/** What the reference takes, before a load that is a share of it. An open loop needs no more connections to find out. */
const PEAK = { connections: 128, warmup_s: WARMUP_S, duration_s: 2 }
const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null }
const OPEN = { driver: 'paced', loop: /** @type {const} */ ('open') }

/** @typedef {Plan & { claims: string[], experiments: string[], blocks: number }} PlaybookPlan */

/**
 * The next trial: each experiment in turn, its two cells in blocks, in an order that is drawn for each. Pure.
 * @param {PlaybookPlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied @returns {Step | null}
 */
export function design(plan, records, notApplied) {
  for (const [i, name] of plan.experiments.entries()) {
    const isOut = cellsOf(name).some((cell) => notApplied.some((one) => isSameCell(one.cell, cell)))
    const own = records.filter(({ at }) => at.experiment === name)
    const step = isOut ? null : nextOf(name, plan, own)
    if (step) return { ...step, left_s: step.left_s + durationOf(plan.experiments.slice(i + 1), plan.blocks) }
  }
  return null
}

/** Seconds. @param {string[]} names @param {number} blocks */
export function durationOf(names, blocks) {
  return names.reduce((total, name) => {
    const { duration_s = DURATION_S, share } = loadOf(name)
    const peak_s = share ? START_S + WARMUP_S + PEAK.duration_s : 0
    return total + 2 * blocks * (START_S + WARMUP_S + duration_s) + peak_s
  }, 0)
}

/** @param {string} name @param {PlaybookPlan} plan @param {TrialRecord[]} own trials of this experiment @returns {Step | null} */
function nextOf(name, { blocks, mix }, own) {
  const cells = cellsOf(name)
  const { share, rate_rps, connections, duration_s = DURATION_S } = loadOf(name)
  const peak_rps = share ? peakOf(own) : null
  if (share && peak_rps === null) {
    if (isSettled(own)) return null
    const at = { phase: 'peak', experiment: name }
    return { at, cell: cells[0], left_s: durationOf([name], blocks), load: { ...CLOSED, ...PEAK } }
  }
  const rate = share ? Math.max(1, Math.round(share * Number(peak_rps))) : rate_rps
  const base = rate === undefined ? CLOSED : { ...OPEN, rate_rps: rate }
  const units = cells.map((cell) => ({ cell, at: { experiment: name } }))
  const matrix = {
    visits: matrixVisits({ units, blocks, seed: mix.seed }),
    visit_s: durationOf([name], blocks) / (2 * blocks),
    counts: (/** @type {TrialRecord} */ record) => countsIn(name, record),
    loadOf: (/** @type {any} */ { cell }) => ({
      ...base,
      connections,
      warmup_s: WARMUP_S,
      duration_s,
      ...partOf(cell),
    }),
  }
  return nextTrial(matrix, own, [])
}
