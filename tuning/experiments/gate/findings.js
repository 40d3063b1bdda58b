import { changedFunctions, changedStages, readProfile } from '../../../load/probes/profiles.js'
import { blocksToDecide, estimateOf } from '../../stats/twice.js'
import { CRITERIA, criterionOf, pairsOf, typicalOf, verdictOf } from './decision.js'

/**
 * @import { TrialRecord } from '../../../load/report/record.js'
 * @import { Profiles } from '../../../load/probes/profiles.js'
 * @import { Verdict } from './decision.js'
 * @import { GatePlan } from './design.js'
 */

/** Of the two that are not an answer that everybody can go on with. @type {Record<Verdict, number>} */
const EXIT_CODES = { 'same or better': 0, regressed: 1, undecided: 3 }

/**
 * @param {GatePlan} plan @param {TrialRecord[]} records @param {any} run with the checkouts, if there were any
 * @typedef {ReturnType<typeof findingsOf>} GateFindings
 */
export function findingsOf(plan, records, run) {
  const criterion = criterionOf(records)
  const pairs = pairsOf(records, criterion)
  const verdict = verdictOf(pairs, { tolerance_ratio: plan.tolerance_ratio, isBetter: criterion.isBetter })
  const figures = CRITERIA.flatMap((one) => {
    const own = pairsOf(records, one)
    // The same figure is not given twice.
    return own.length === 0 || (one !== criterion && one.name === criterion.name)
      ? []
      : {
          criterion: one,
          base: typicalOf(records, one, 'base'),
          head: typicalOf(records, one, 'head'),
          estimate: estimateOf(own),
        }
  })
  const deciding = figures.find((one) => one.criterion === criterion)
  const profiles = verdict === 'regressed' ? profilesOf(records, run) : null
  const functions = profiles ? changedFunctions(profiles) : []
  const stages = profiles ? changedStages(profiles) : []
  const code = verdict === 'undecided' && plan.allows_undecided ? 0 : EXIT_CODES[verdict]
  const kept = {
    ...{ capacity: null, limit: null, verdict, exit_code: code, criterion: criterion.name },
    ...{ ...deciding?.estimate, failure: code === 0 ? null : verdict, functions, stages },
  }
  const silent = records.length > 0 && pairs.length === 0 ? records.at(-1)?.outcome.because : null
  const more = verdict === 'undecided' && pairs.length > 1 ? blocksToDecide(pairs, plan.tolerance_ratio) : null
  return {
    problem: silent ? `no block has a valid trial of both sides: ${silent}` : null,
    ...{ kept, plan, verdict, criterion, deciding, figures, functions, stages, more, records },
  }
}

/** What both sides' processes spent their time on, if both wrote a profile. @param {TrialRecord[]} records @param {any} run @returns {Profiles | null} */
function profilesOf(records, { profiles, checkouts }) {
  const sides = ['base', 'head'].flatMap((side) => {
    const profile = profiles && readProfile(`${profiles}/${side}`)
    const [record] = records.filter(({ at, cell }) => at.phase === 'profile' && cell.side === side)
    const cpu_us_per_request = record?.probes.api?.cpu_us_per_request
    return profile && cpu_us_per_request ? { profile, root: checkouts[side], cpu_us_per_request } : []
  })
  return sides.length === 2 ? { base: sides[0], head: sides[1] } : null
}
