import { DETECTORS } from './detectors/index.js'

/** @import { Limit, Slo, TrialRecord } from '../report/record.js' */

/** They make a trial invalid where they could explain what went wrong. */
const EXCUSES = ['generator-cpu', 'machine-noise']
/** Number of trials beyond the capacity that vote on a run's limit. */
const MAJORITY_OF = 5

/**
 * Latencies pass any bound before a resource is used up: what fails with nothing at its limit is laid to what was nearest,
 * if it was so near.
 */
const NEARLY_SHARE = 0.9
/** A resource below this share of its threshold was not near its limit, and no runner-up. */
const NEAR_SHARE = 0.6

/**
 * Names the resource that stopped a target from taking more, from the record of one trial. Pure.
 *
 * Each resource has a detector that says how far it was to the point at which it limits (1: there). Of those that are
 * there (or nearly, where none is), the first counts, since detectors stand in the order in which they explain: a full
 * accept queue of a service whose core is full is no cause, nor is a pool whose connections all wait for a lock.
 *
 * @param {Pick<TrialRecord, 'target' | 'settings' | 'load' | 'traffic' | 'probes' | 'outcome'>} record @param {Slo} slo
 * @returns {Limit}
 */
export function limitOf(record, slo) {
  const found = Object.entries(DETECTORS).map(([resource, detect]) => ({ resource, ...detect(record, slo) }))
  // What failed was judged to be the target's own doing: whoever could have excused it did not.
  const excused = record.outcome.verdict === 'invalid'
  const accusable = found.filter(({ resource }) => excused || !EXCUSES.includes(resource))
  const atLimit = accusable.filter(({ reach }) => reach >= 1)
  const reached = atLimit.length > 0 ? atLimit : accusable.filter(({ reach }) => reach >= NEARLY_SHARE)
  const nearest = found.filter(({ reach }) => reach >= NEAR_SHARE).sort((a, b) => b.reach - a.reach)
  if (record.outcome.verdict === 'pass') return limitWith('none-reached', ['the SLO was met'], nearest[0])
  if (reached.length === 0) {
    return limitWith('none-reached', ['nothing that was looked at was at its limit'], nearest[0])
  }
  const [{ resource, evidence }, next] = reached
  return limitWith(resource, evidence, next ?? nearest.find((one) => one.resource !== resource))
}

/** @param {string} resource @param {string[]} evidence @param {{ resource: string, evidence: string[] }} [runnerUp] @returns {Limit} */
function limitWith(resource, evidence, runnerUp) {
  const { resource: runner_up = null, evidence: runner_up_evidence = [] } = runnerUp ?? {}
  return { resource, evidence, runner_up, runner_up_evidence, confirmed: null }
}

/**
 * The limit of a run: that of the trials that failed, nearest above the capacity first, by their majority.
 *
 * @param {TrialRecord[]} records
 * @param {number | null} [low_rps] the capacity is not below it: what failed there was outvoted
 * @returns {Limit | null} null: no trial
 */
export function limitOfRun(records, low_rps = null) {
  // A closed loop has no rate.
  const open = records.filter(({ load }) => Number(load.rate_rps) > Number(low_rps))
  // Trials that say nothing about the target are asked only where no others bound its capacity.
  const failed = open.filter(({ outcome }) => outcome.verdict === 'fail')
  const beyond = failed.length > 0 ? failed : open.filter(({ outcome }) => outcome.verdict === 'invalid')
  const edge = beyond.sort((a, b) => Number(a.load.rate_rps) - Number(b.load.rate_rps)).slice(0, MAJORITY_OF)
  const votes = (edge.length > 0 ? edge : records.slice(-1)).flatMap(({ limit }) => limit ?? [])
  if (votes.length === 0) return null
  const winner = mostFrequent(votes.map(({ resource }) => resource))
  const others = votes.flatMap(({ resource, runner_up }) => [resource, runner_up]).filter((name) => name !== winner)
  const runner_up = mostFrequent(others)
  const named = /** @type {Limit} */ (votes.find(({ resource }) => resource === winner))
  const second = votes.find(({ resource }) => resource === runner_up)?.evidence
  const beside = votes.find((vote) => vote.runner_up === runner_up)?.runner_up_evidence
  return { ...named, runner_up, runner_up_evidence: second ?? beside ?? [] }
}

/** The first of the most frequent; null: none is named. @param {(string | null)[]} names */
function mostFrequent(names) {
  const named = names.filter((name) => name !== null)
  const times = (/** @type {string} */ name) => named.filter((one) => one === name).length
  return named.toSorted((a, b) => times(b) - times(a))[0] ?? null
}
