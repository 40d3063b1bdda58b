import { isValid } from '../../../load/capacity/ladder.js'
import { median } from '../../../load/verdict/ranks.js'
import { blocksToDecide, CRITERIA, criterionOf, estimateOf, pairsOf, verdictOf } from './decision.js'
import { changedFunctions, readProfile } from './profiles.js'

/**
 * @import { TrialRecord } from '../../../load/report/record.js'
 * @import { Criterion, Estimate, Verdict } from './decision.js'
 * @import { GatePlan } from './design.js'
 * @import { Changed } from './profiles.js'
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
          ...estimateOf(own),
        }
  })
  const deciding = /** @type {(Estimate & { criterion: Criterion }) | undefined} */ (
    figures.find((one) => one.criterion === criterion)
  )
  const functions = verdict === 'regressed' ? functionsOf(records, run) : []
  const code = verdict === 'undecided' && plan.allows_undecided ? 0 : EXIT_CODES[verdict]
  const kept = {
    ...{ capacity: null, limit: null, verdict, exit_code: code, criterion: criterion.name },
    ...(deciding && {
      ratio: deciding.ratio,
      low: deciding.low,
      high: deciding.high,
      noise_ratio: deciding.noise_ratio,
    }),
    failure: code === 0 ? null : verdict,
    functions,
  }
  const silent = records.length > 0 && pairs.length === 0 ? records.at(-1)?.outcome.because : null
  const more = verdict === 'undecided' && pairs.length > 1 ? blocksToDecide(pairs, plan.tolerance_ratio) : null
  return {
    problem: silent ? `no block has a valid trial of both sides: ${silent}` : null,
    ...{ kept, plan, verdict, criterion, deciding, figures, functions, more, records },
  }
}

/** @param {TrialRecord[]} records @param {Criterion} criterion @param {string} side */
function typicalOf(records, { of, phase }, side) {
  const own = records.filter((record) => record.at.phase === phase && isValid(record))
  return median(own.map((record) => Number(of(record, side))).filter((figure) => figure > 0))
}

/** Where the time has gone, if both wrote a profile. @param {TrialRecord[]} records @param {any} run @returns {Changed[]} */
function functionsOf(records, { profiles, checkouts }) {
  if (!profiles) return []
  const sides = ['base', 'head'].flatMap((side) => {
    const profile = readProfile(`${profiles}/${side}`)
    const [record] = records.filter(({ at, cell }) => at.phase === 'profile' && cell.side === side)
    const cpu_us_per_request = record?.probes.api?.cpu_us_per_request
    return profile && cpu_us_per_request ? { profile, root: checkouts[side], cpu_us_per_request } : []
  })
  return sides.length === 2 ? changedFunctions({ base: sides[0], head: sides[1] }) : []
}
