import { isSameCell } from '../../../load/report/format.js'
import { loadOf } from '../../knobs/means.js'
import { durationOf, matrixVisits, nextTrial, peakOf } from '../../stats/matrix.js'
import { countsIn, EXPERIMENTS } from './experiments.js'

/**
 * @import { Matrix } from '../../stats/matrix.js'
 * @import { NotAppliedCell, Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

const WARMUP_S = 2
const DURATION_S = 2
const START_S = 1.5

const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null }
const OPEN = { driver: 'paced', loop: /** @type {const} */ ('open') }

/** An open loop needs no more connections to find out what the reference takes. */
const PEAK = { ...CLOSED, connections: 128, warmup_s: WARMUP_S, duration_s: DURATION_S }

/** @typedef {Plan & { claims: string[], experiments: string[], blocks: number }} PlaybookPlan */

/**
 * The next trial: each experiment in turn, its two cells in blocks, in an order that is drawn for each. Pure.
 * @param {PlaybookPlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied @returns {Step | null}
 */
export function design(plan, records, notApplied) {
  for (const [i, name] of plan.experiments.entries()) {
    const isOut = EXPERIMENTS[name].cells.some((cell) => notApplied.some((one) => isSameCell(one.cell, cell)))
    if (isOut) continue
    const own = records.filter(({ at }) => at.experiment === name)
    const later_s = playbookDuration({ ...plan, experiments: plan.experiments.slice(i + 1) })
    const step = nextTrial({ ...matrixOf(name, plan, peakOf(own)), later_s }, own, [])
    if (step) return step
  }
  return null
}

/** Seconds. @param {PlaybookPlan} plan */
export function playbookDuration(plan) {
  return plan.experiments.reduce((sum, name) => sum + durationOf(matrixOf(name, plan, null)), 0)
}

/** @param {string} name @param {PlaybookPlan} plan @param {number | null} peak_rps @returns {Matrix} */
function matrixOf(name, { blocks, mix }, peak_rps) {
  const { cells, load } = EXPERIMENTS[name]
  const { share, connections, duration_s = DURATION_S } = load
  const rate_rps = share ? Math.max(1, Math.round(share * Number(peak_rps))) : load.rate_rps
  const loop = rate_rps === undefined ? CLOSED : { ...OPEN, rate_rps }
  const at = { experiment: name }
  return {
    visits: matrixVisits({ units: cells.map((cell) => ({ cell, at })), blocks, seed: mix.seed }),
    visit_s: START_S + WARMUP_S + duration_s,
    ...(share && { peak: { at, cell: cells[0], load: PEAK } }),
    counts: (record) => countsIn(name, record),
    loadOf: ({ cell }) => ({ ...loop, connections, warmup_s: WARMUP_S, duration_s, ...loadOf(cell) }),
  }
}
