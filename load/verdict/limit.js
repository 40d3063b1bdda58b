import { milliseconds, wholePercent } from '../report/format.js'
import { DETECTORS } from './detectors/index.js'
import { ledgerOf, statementsInFlight } from './ledger.js'

/** @import { Limit, Slo, TrialRecord } from '../report/record.js' */

const NONE = 'none-reached'
const LOCK_STEP = 'lock-step'
/** Resources that make a trial invalid if they explain its failure. */
const EXCUSES = ['generator-cpu', 'generator-connections', 'machine-noise']
/** Resources of the target that a generator in a closed loop is compared with. */
const OF_CORES = ['api-cpu', 'postgres-cpu']
/** Number of trials beyond the capacity that vote on a run's limit. */
const MAJORITY_OF = 5
/** Latency exceeds any bound before a resource is fully used, so one this near may have caused a failure. */
const NEARLY_SHARE = 0.9
/** Queues fill up in front of a slow resource, so a nearly saturated resource explains them. */
const QUEUES = ['pool-size', 'pool-timeout', 'accept-queue']
/** A resource below this share of its threshold was not near its limit and cannot be the runner-up. */
const NEAR_SHARE = 0.6
/** If a smaller share of the requests succeeds, the generator is busy with failures and limits no throughput. */
const MOSTLY = 0.5
/** A serial stage that takes this share of the cycle keeps the other stages waiting. */
const STAGE_SHARE = 0.5

/**
 * Names the resource that limited the target, from the record of one trial. Pure.
 *
 * Each resource has a detector that reports how close it was to its limit (1: reached). The first detector at its limit wins,
 * or the first that is nearly there if none is. Detectors are ordered from cause to symptom: a full accept queue is not the
 * cause when the service's core is saturated, nor is a pool whose connections all wait for a lock.
 * @param {Pick<TrialRecord, 'target' | 'settings' | 'load' | 'traffic' | 'probes' | 'outcome' | 'doses'>} record @param {Slo} slo
 * @returns {Limit}
 */
export function limitOf(record, slo) {
  const found = Object.entries(DETECTORS).map(([resource, detect]) => ({ resource, ...detect(record, slo) }))
  const isExcused = record.outcome.verdict === 'invalid'
  const accusable = found.filter(
    (one) => isExcused || !EXCUSES.includes(one.resource) || isLimitOfLoop(one, found, record),
  )
  const atLimit = accusable.filter(({ reach }) => reach >= 1)
  const nearly = accusable
    .filter(({ reach }) => reach >= NEARLY_SHARE)
    .sort((a, b) => Number(isSoft(a)) - Number(isSoft(b)))
  const reached = atLimit.length === 0 || QUEUES.includes(atLimit[0].resource) ? nearly : atLimit
  const nearest = found.filter(({ reach }) => reach >= NEAR_SHARE).sort((a, b) => b.reach - a.reach)
  // A closed loop and the overload of a proof are always at a limit, whatever their latency.
  const isWithin = record.outcome.verdict === 'pass' && record.load.loop !== 'closed' && !record.doses
  if (isWithin) return limitWith(NONE, ['the SLO was met'], nearest[0])
  const stages = reached.every(isSoft) ? lockStepOf(record) : null
  if (stages) return limitWith(LOCK_STEP, stages, nearest[0])
  if (reached.length === 0)
    return limitWith(NONE, ['none of the resources that we can see was at its limit'], nearest[0])
  const [{ resource, evidence }, next] = reached
  return limitWith(resource, evidence, next ?? nearest.find((one) => one.resource !== resource))
}

/** Whether a limit on connections has closed none: requests may only wait in front of something slow. @param {{ resource: string, reach: number }} one */
function isSoft({ resource, reach }) {
  return resource === 'max-connections' && reach < 1
}

/**
 * Whether the generator limits a closed loop, whose throughput it shares in: it is fuller than any core of the target.
 * @param {{ resource: string, reach: number }} one @param {{ resource: string, reach: number }[]} found
 * @param {Pick<TrialRecord, 'load' | 'traffic'>} record
 */
function isLimitOfLoop({ resource, reach }, found, { load, traffic }) {
  if (load.loop !== 'closed' || resource !== 'generator-cpu' || reach < 1) return false
  if (traffic.success_ratio < MOSTLY) return false
  return found.every((other) => !OF_CORES.includes(other.resource) || other.reach < reach)
}

/**
 * Evidence of stages that take turns: requests share a statement, and the next one is sent only when the last returns. Both the
 * service and Postgres are idle while the other works. Returns null if there is no lock-step, or it is unknown.
 * @param {Pick<TrialRecord, 'target' | 'settings' | 'traffic' | 'probes'>} record
 */
function lockStepOf(record) {
  const { settings, traffic, probes } = record
  const { statements = 0, statement_mean_ms = 0, waiting_mean = 0 } = probes.api
  const in_flight = statementsInFlight(record)
  if (settings.INSERT_MODE !== 'batched' || in_flight === null || waiting_mean < 1) return null
  // With more than one in flight on average, statements overlap instead of taking turns.
  if (in_flight < STAGE_SHARE || in_flight > 1) return null
  const cycle_ms = (traffic.completed / traffic.achieved_rps / statements) * 1000
  const busiest = ledgerOf(record).filter(({ resource }) => resource.startsWith('core '))
  const cores = busiest.slice(0, 2).map(({ resource, utilization }) => `${resource} ${wholePercent(utilization)}`)
  return [
    `a shared statement took ${milliseconds(statement_mean_ms)} of every ${milliseconds(cycle_ms)}, and the next one waited for it`,
    ...(cores.length > 0 ? [`no core was saturated: ${cores.join(', ')}`] : []),
  ]
}

/** @param {string} resource @param {string[]} evidence @param {{ resource: string, evidence: string[] }} [runnerUp] @returns {Limit} */
function limitWith(resource, evidence, runnerUp) {
  const { resource: runner_up = null, evidence: runner_up_evidence = [] } = runnerUp ?? {}
  return { resource, evidence, runner_up, runner_up_evidence, confirmed: null }
}

/**
 * The limit of a run, by majority vote of the failed trials nearest above the capacity; null: no trial has one.
 * @param {TrialRecord[]} records
 * @param {number | null} [low_rps] lower bound of the capacity; failures at or below it were outvoted
 * @returns {Limit | null}
 */
export function limitOfRun(records, low_rps = null) {
  // Closed-loop trials have no rate and drop out here.
  const open = records.filter(({ load }) => Number(load.rate_rps) > Number(low_rps))
  // Invalid trials vote only if no failed trial bounds the capacity.
  const failed = open.filter(({ outcome }) => outcome.verdict === 'fail')
  const beyond = failed.length > 0 ? failed : open.filter(({ outcome }) => outcome.verdict === 'invalid')
  const edge = beyond.sort((a, b) => Number(a.load.rate_rps) - Number(b.load.rate_rps)).slice(0, MAJORITY_OF)
  // Closed loops have no edge: the one under which most got through was nearest to the limit.
  const [most] = records
    .filter(({ load, outcome }) => load.loop === 'closed' && outcome.verdict !== 'invalid')
    .toSorted((a, b) => b.traffic.goodput_rps - a.traffic.goodput_rps)
  const votes = (edge.length > 0 ? edge : [most ?? records.at(-1)]).flatMap((record) => record?.limit ?? [])
  if (votes.length === 0) return null
  const tally = tallyOf(votes)
  const [winner] = tally.toSorted((a, b) => b.limit - a.limit || b.beside - a.beside)
  // Where nothing succeeded, no rate was too high.
  if (winner.name === NONE && records.every(({ traffic }) => traffic.ok === 0)) return null
  const others = tally.filter(({ name }) => name !== winner.name && name !== NONE)
  const ranked = others.toSorted((a, b) => b.limit + b.beside - a.limit - a.beside || b.limit - a.limit)
  const isEqual = (/** @type {typeof winner} */ { limit, beside }) => limit === winner.limit && beside === winner.beside
  const equal = winner.name === NONE ? undefined : others.find(isEqual)
  const second = equal ?? ranked[0]
  const own = votes.filter(({ resource }) => resource === winner.name)
  const rivals = votes.filter(({ resource }) => resource === second?.name)
  const beside = votes.filter(({ runner_up }) => runner_up === second?.name)
  const named = /** @type {Limit} */ (middleOf(own))
  return {
    ...named,
    kind: equal ? 'tie' : kindOf(winner.name),
    runner_up: second?.name ?? null,
    runner_up_evidence: middleOf(rivals)?.evidence ?? middleOf(beside)?.runner_up_evidence ?? [],
  }
}

/** Counts how often each resource was the limit, or the runner-up. The order of the detectors breaks ties. @param {Limit[]} votes */
function tallyOf(votes) {
  const named = votes.flatMap(({ resource, runner_up }) => (runner_up === null ? resource : [resource, runner_up]))
  const names = [...new Set([...Object.keys(DETECTORS), ...named])].filter((name) => named.includes(name))
  return names.map((name) => ({
    name,
    limit: votes.filter(({ resource }) => resource === name).length,
    beside: votes.filter(({ runner_up }) => runner_up === name).length,
  }))
}

/** @param {string} resource @returns {Limit['kind']} */
function kindOf(resource) {
  if (resource.startsWith('generator')) return 'generator'
  if (resource === LOCK_STEP) return LOCK_STEP
  return resource === NONE || resource === 'machine-noise' ? 'none' : 'full'
}

/** The middle element, which is typical because the trials are sorted by rate. @template T @param {T[]} list @returns {T | undefined} */
function middleOf(list) {
  return list[Math.floor((list.length - 1) / 2)]
}
