import { nextRung } from '../../../load/capacity/ladder.js'
import { shuffled } from '../../stats/design.js'

/**
 * @import { Plan, Step } from '../../../load/run/experiment.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 */

/**
 * What each contender goes through in each block: a closed loop to saturation, then open loops at rates that are the same
 * for all, and at half of what it took.
 */
export const SATURATION_CONNECTIONS = 128
export const OPEN_CONNECTIONS = 64
export const LOW_RATE_RPS = 2000
export const HIGH_RATE_RPS = 20_000

/** A contender is offered the high rate where it took this much more in the closed loop. */
const HIGH_RATE_MARGIN = 1.1

/** Of a trial's length. The first load of a process also pays for V8, which has nothing compiled yet. */
const FIRST_WARMUP_SHARE = 1
const WARMUP_SHARE = 0.25

/**
 * The next trial of a bench, from those so far. Pure.
 *
 * @param {BenchPlan} plan
 * @param {TrialRecord[]} records
 * @returns {Step | null}
 *
 * @typedef {Plan & { repeats: number, contenders: string[] }} BenchPlan
 */
export function nextStep(plan, records) {
  const visits = visitsOf(plan)
  for (const [i, { name, block }] of visits.entries()) {
    const own = records.filter(({ cell, experiment }) => cell === name && blockOf(experiment) === block)
    for (const kind of KINDS) {
      const load = loadOf(kind, plan, own)
      if (!load) continue
      const experiment = `${kind}/${block}`
      const trials = own.filter((record) => record.experiment === experiment)
      if (!nextRung([load], trials)) continue
      const left_s = (visits.length - i) * KINDS.length * (1 + WARMUP_SHARE) * plan.duration_s
      return { experiment, cell: name, left_s, load }
    }
  }
  return null
}

/** saturation: closed loop; low, high: open loops, the same for all; half: of its own saturation. */
const KINDS = /** @type {const} */ (['saturation', 'low', 'high', 'half'])

/** @typedef {typeof KINDS[number]} Kind */

/** Every contender in every block, the order within a block shuffled. @param {BenchPlan} plan */
export function visitsOf({ repeats, contenders, mix }) {
  return Array.from({ length: repeats }, (_, block) => {
    return shuffled(contenders, mix.seed + block).map((name) => ({ name, block }))
  }).flat()
}

/** @param {string} experiment */
export function kindOf(experiment) {
  return /** @type {Kind} */ (experiment.split('/')[0])
}

/** @param {string} experiment */
export function blockOf(experiment) {
  return Number(experiment.split('/')[1])
}

/**
 * @param {Kind} kind
 * @param {BenchPlan} plan
 * @param {TrialRecord[]} own of the same contender and block
 * @returns {Step['load'] | null} null: not for this contender
 */
function loadOf(kind, { duration_s }, own) {
  if (kind === 'saturation') {
    const warmup_s = FIRST_WARMUP_SHARE * duration_s
    const connections = SATURATION_CONNECTIONS
    return { driver: 'autocannon', loop: 'closed', rate_rps: null, connections, warmup_s, duration_s }
  }
  const took_rps = own.findLast(({ experiment }) => kindOf(experiment) === 'saturation')?.traffic.goodput_rps ?? 0
  const rate_rps = { low: LOW_RATE_RPS, high: HIGH_RATE_RPS, half: Math.max(1, Math.round(took_rps / 2)) }[kind]
  if (kind === 'high' && took_rps < HIGH_RATE_RPS * HIGH_RATE_MARGIN) return null
  const warmup_s = WARMUP_SHARE * duration_s
  return { driver: 'paced', loop: 'open', rate_rps, connections: OPEN_CONNECTIONS, warmup_s, duration_s }
}
