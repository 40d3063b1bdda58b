import { isSameCell } from '../../../load/report/format.js'
import { loadOf } from '../../knobs/means.js'
import { durationOf, matrixVisits, nextTrial, peakOf } from '../../stats/matrix.js'
import { CLAIMS } from './claims.js'
import { countsIn, EXPERIMENTS } from './experiments.js'
import { looksOf, resultOf } from './results.js'

/**
 * @import { Matrix } from '../../stats/matrix.js'
 * @import { NotAppliedCell, Step, TrialRecord } from '../../../load/report/record.js'
 * @import { PlaybookPlan } from './results.js'
 */

const WARMUP_S = 2
const DURATION_S = 2
const START_S = 1.5

const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null }
const OPEN = { driver: 'paced', loop: /** @type {const} */ ('open') }

/** Load to find the reference's peak, of which an open loop offers a share; it needs no more connections. */
const PEAK = { ...CLOSED, connections: 128, warmup_s: WARMUP_S, duration_s: DURATION_S }

/**
 * The next trial. Each experiment in turn visits its cells in blocks, each block in a random order. Those that leave a
 * claim undecided then continue to the next look, up to the most blocks. Pure.
 * @param {PlaybookPlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied @returns {Step | null}
 */
export function design(plan, records, notApplied) {
  let names = plan.experiments.filter((name) => {
    return !EXPERIMENTS[name].cells.some((cell) => notApplied.some((one) => isSameCell(one.cell, cell)))
  })
  for (const { blocks } of looksOf(plan)) {
    const step = nextOf(names, { ...plan, blocks }, records)
    if (step) return step
    names = names.filter((name) => isUndecided(name, plan, records, blocks))
  }
  return null
}

/** @param {string[]} names @param {PlaybookPlan} plan @param {TrialRecord[]} records @returns {Step | null} */
function nextOf(names, plan, records) {
  for (const [i, name] of names.entries()) {
    const own = records.filter(({ at }) => at.experiment === name)
    const later_s = playbookDuration({ ...plan, experiments: names.slice(i + 1) })
    const step = nextTrial({ ...matrixOf(name, plan, peakOf(own)), later_s }, own, [])
    if (step) return step
  }
  return null
}

/** Whether the first blocks left a claim undecided, whatever later ones say. @param {string} name @param {PlaybookPlan} plan @param {TrialRecord[]} records @param {number} blocks */
function isUndecided(name, plan, records, blocks) {
  const first = records.filter(({ at }) => at.experiment === name && at.block < blocks)
  const claims = CLAIMS.filter(({ id, experiment }) => experiment === name && plan.claims.includes(id))
  return claims.some((claim) => resultOf(claim, plan, first).verdict === 'undecided')
}

/** Seconds, without the further blocks for undecided claims. @param {PlaybookPlan} plan */
export function playbookDuration(plan) {
  return plan.experiments.reduce((sum, name) => sum + durationOf(matrixOf(name, plan, null)), 0)
}

/** @param {string} name @param {PlaybookPlan} plan @param {number | null} peak_rps @returns {Matrix} */
function matrixOf(name, { blocks, mix }, peak_rps) {
  const { cells, load } = EXPERIMENTS[name]
  const { share, connections, warmup_s = WARMUP_S, duration_s = DURATION_S } = load
  const rate_rps = share ? Math.max(1, Math.round(share * Number(peak_rps))) : load.rate_rps
  const loop = rate_rps === undefined ? CLOSED : { ...OPEN, rate_rps }
  const at = { experiment: name }
  return {
    visits: matrixVisits({ units: cells.map((cell) => ({ cell, at })), blocks, seed: mix.seed }),
    restarts: true,
    visit_s: START_S + warmup_s + duration_s,
    ...(share && { peak: { at, cell: cells[0], load: PEAK } }),
    counts: (record) => countsIn(name, record),
    loadOf: ({ cell }) => ({ ...loop, connections, warmup_s, duration_s, ...loadOf(cell) }),
  }
}
