import { changesOf, functionOf, readProfiles, stageOf } from '../../../load/probes/profiles.js'
import { percent } from '../../../load/report/format.js'
import { blocksToDecide, estimateOf } from '../../stats/twice.js'
import { CRITERIA, decidingOf, decisionOf, pairsOf, SIDES, successOf, typicalOf } from './decision.js'

/**
 * @import { TrialRecord } from '../../../load/report/record.js'
 * @import { Verdict } from '../../stats/twice.js'
 * @import { GatePlan } from './design.js'
 */

/** Exit code of each verdict: zero only if the change can proceed. @type {Record<Verdict, number>} */
const EXIT_CODES = { 'same or better': 0, regressed: 1, undecided: 3 }

/**
 * @param {GatePlan} plan @param {TrialRecord[]} records @param {any} run with the checkouts, if there were any
 * @typedef {ReturnType<typeof findingsOf>} GateFindings
 */
export function findingsOf(plan, records, run) {
  const { criterion, pairs, verdict, broken } = decisionOf(records, plan.tolerance_ratio)
  const figures = CRITERIA.flatMap((one) => {
    const own = one === criterion ? pairs : pairsOf(records, one)
    // Do not give the same figure twice.
    if (own.length === 0 || (one !== criterion && one.name === criterion.name)) return []
    const trials = one === criterion ? decidingOf(records) : records
    const [base, head] = ['base', 'head'].map((side) => typicalOf(trials, one, side))
    return { criterion: one, base, head, estimate: estimateOf(own) }
  })
  const deciding = figures.find((one) => one.criterion === criterion)
  const profiled = records.filter(({ at }) => at.phase === 'profile')
  const costs_us = Object.fromEntries(profiled.map(({ cell, probes }) => [cell.side, probes.api?.cpu_us_per_request]))
  const profiles = verdict === 'regressed' && run.profiles ? readProfiles(run.profiles, costs_us) : null
  const [functions, stages] = profiles ? [functionOf, stageOf].map((nameOf) => changesOf(profiles, nameOf)) : [[], []]
  const code = verdict === 'undecided' && plan.allows_undecided ? 0 : EXIT_CODES[verdict]
  const kept = {
    ...{ capacity: null, limit: null, verdict, exit_code: code, criterion: criterion.name },
    ...{ ...deciding?.estimate, failure: code === 0 ? null : verdict, functions, stages },
  }
  const isSilent = records.length > 0 && pairs.length === 0 && broken.length === 0
  const succeeded = SIDES.map((side) => ({ side, ratio: successOf(records, side) })).filter(({ ratio }) => ratio >= 0)
  const shares = succeeded.map(({ side, ratio }) => `${percent(ratio)} of those to ${side}`).join(', ')
  const more = pairs.length > 1 ? blocksToDecide(pairs, { ...plan, isBetter: criterion.isBetter }) : null
  return {
    problem: isSilent
      ? `no block has valid trials of all sides in which their requests succeed (here: ${shares || 'none did'}); the last trial: ${records.at(-1)?.outcome.because}`
      : null,
    ...{ kept, plan, verdict, criterion, deciding, figures, functions, stages, more, broken, pairs },
  }
}
