import { judge } from '../verdict/judge.js'

/** @import { Capacity, Plan, SloCapacity, TrialRecord } from '../report/record.js' */

/**
 * A run as each of its SLOs sees it: as recorded for the first, with the same trials judged again for the others. Pure.
 * @param {Plan} plan @param {TrialRecord[]} records @returns {{ plan: Plan, records: TrialRecord[] }[]}
 */
export function bySlo(plan, records) {
  return (plan.slos ?? [plan.slo]).map((slo, nth_slo) => {
    if (nth_slo === 0) return { plan, records }
    const judged = records.map((record) => ({ ...record, outcome: judge(record, slo) }))
    return { plan: { ...plan, slo, nth_slo }, records: judged }
  })
}

/**
 * The capacity by each SLO, as part of an answer; empty if there is only one SLO. Pure.
 * @param {Plan} plan @param {TrialRecord[]} records @param {Found} first capacity by the first SLO
 * @param {(plan: Plan, records: TrialRecord[]) => Found} capacityOf finds the capacity by the plan's SLO, which has judged the records
 * @typedef {{ capacity: Capacity | null, problem: string | null }} Found
 * @returns {{ capacities?: SloCapacity[] }}
 */
export function capacitiesOf(plan, records, first, capacityOf) {
  if (!plan.slos) return {}
  const nothing = { low_rps: null, high_rps: null, confidence: null, trials: 0 }
  const capacities = bySlo(plan, records).map((seen, i) => {
    const { capacity, problem } = i === 0 ? first : capacityOf(seen.plan, seen.records)
    return { ...nothing, ...capacity, slo: seen.plan.slo, problem }
  })
  return { capacities }
}
