import { connectionsFor } from '../generators/connections.js'
import { isSameCell, wholePercent } from '../report/format.js'
import { changeText } from '../report/proof.js'
import { ADDED_RTT } from '../system/between.js'
import { randomAt } from '../system/random.js'
import { LEAD_S } from '../verdict/dose/dosing.js'
import { suspectsOf } from '../verdict/dose/suspects.js'
import { ledgerOf } from '../verdict/ledger.js'
import { elasticitiesOf, provenBy } from '../verdict/proof.js'
import { bestOf, COLD_WARMUP_S, isValid, MAX_INVALID } from './ladder.js'
import { of } from './of-records.js'

/** @import { Cell, Elasticity, Limit, Plan, Slice, Step, Suspect, TrialRecord } from '../report/record.js' */

const SLICE_S = 1
/** Slices with fewer requests than this are lengthened: one request more or less would change their rate too much. */
const SLICE_REQUESTS = 40
const MAX_SLICE_S = 2.5
/** Typical duration of a proof with four suspects, for estimates. */
export const PROOF_S = 65
/** Offered load, as a multiple of the highest rate that was served in the search. */
const OVERLOAD = 1.25
/** Minimum number of pairs for which a rank-based 95 % interval is finite. */
const MIN_BLOCKS = 6
const MAX_BLOCKS = 10
/** Minimum number of changed trials for which a rank-based 95 % interval is finite, given at least as many blocks. */
const CHANGED_TRIALS = 4
const CHANGED_SLICES = 2
/** Spare trials: some may be invalid, for example if no port is free. */
const MORE_TRIALS = 3
/** Share of its time that a dose takes from a suspect: small compared with what the service needs, large compared with the noise. */
const SHARE = 0.1
/** Shortest round trip that can be lengthened by a little, since timers have a resolution of a millisecond. */
const LEAST_RTT_MS = 1
/** Share by which the path to the database is slowed: more than other suspects, since it is slowed in fewer trials. */
const PATH_SHARE = 0.2
const OF_THROUGHPUT =
  /^(api-|postgres-(cpu|quota|commit|lock)|pool-|generator-cpu|lock-step|none-reached|machine-noise)/
/** Whether a proof can test a limit. Its load does not test limits on connections, such as open files. @param {string} resource */
export const limitsThroughput = (resource) => OF_THROUGHPUT.test(resource)

/**
 * The next trial of a search's proof. The load exceeds what the target can take, over a bounded number of connections, so that all are
 * busy as in a closed loop. Our own driver `paced` does this at the lowest cost; with any other driver, the load is a closed loop. Pure.
 * @param {Plan} plan @param {TrialRecord[]} records @param {string} driver of the closed loop
 * @param {Cell[]} changed cells with a larger pool or a longer path to the database
 * @returns {Step | null}
 */
export function proofStep(plan, records, driver, changed) {
  const seen = of(records, 'search').findLast((record) => isValid(record) && record.cell === null)
  if (!plan.proves || !seen) return null
  const most_rps = Math.max(...of(records, 'search').map(({ traffic }) => traffic.achieved_rps))
  const overload = {
    driver: 'paced',
    loop: /** @type {const} */ ('open'),
    rate_rps: Math.round(OVERLOAD * most_rps),
    ...connectionsFor(plan, most_rps),
  }
  const connections = connectionsOf(records)
  const closed = { driver, loop: /** @type {const} */ ('closed'), rate_rps: null, connections }
  const load = { ...(plan.driver === 'paced' ? overload : closed), fresh_connections: plan.fresh_connections }
  return nextOfProof(plan, records, { seen, load, changed })
}

/**
 * The next trial of a proof. Each block slows every suspect for a slice of a second or more, next to an undosed slice, in random order.
 * In the middle, some trials use a larger pool or a longer path to the database. The proof stops once the limit is decided. Pure.
 * @param {Pick<Plan, 'pids' | 'mix' | 'warmup_s' | 'dose_ratio'>} plan @param {TrialRecord[]} records of the
 *   target, and possibly of other targets
 * @param {object} about
 * @param {TrialRecord} about.seen a trial that shows what can be slowed
 * @param {Pick<Step['load'], 'driver' | 'loop' | 'rate_rps' | 'connections' | 'fresh_connections'>} about.load
 * @param {Cell[]} [about.changed] the target's cells with a larger pool or a longer path to its database
 * @returns {Step | null}
 */
export function nextOfProof(plan, records, { seen, load, changed = [] }) {
  const own = records.filter(({ cell }) => isSameCell(cell, seen.cell))
  const isAccused = own.some(({ at, limit }) => at.phase !== 'proof' && limit?.resource === 'postgres-commit')
  // The proof's own trials show best how often its load flushes the log.
  const suspects = suspectsOf(plan, seen, isAccused ? own.at(-1) : undefined)
  // A proof compares the service with at least one other suspect.
  if (suspects.length < 2 || !suspects.some(({ resource }) => resource === 'api-cpu')) return null
  const tried = of(records, 'proof').filter(({ cell }) => [seen.cell, ...changed].some((own) => isSameCell(own, cell)))
  const valid = tried.filter(isValid)
  const validOf = (/** @type {Cell | null} */ cell) => valid.filter((record) => isSameCell(record.cell, cell)).length
  const invalidOf = (/** @type {Cell} */ cell) =>
    tried.filter((record) => isSameCell(record.cell, cell)).length - validOf(cell)
  const round = validOf(seen.cell)
  const isOpen = (/** @type {Cell} */ cell) => validOf(cell) < CHANGED_TRIALS && invalidOf(cell) < MAX_INVALID
  const change = round < MIN_BLOCKS / 2 ? undefined : changed.find(isOpen)
  const most = MAX_BLOCKS + changed.length * CHANGED_TRIALS + MORE_TRIALS
  const isDecided = () => round >= MIN_BLOCKS && provenBy(valid).kind === 'full'
  if (tried.length >= most || (!change && (round >= MAX_BLOCKS || isDecided()))) return null
  // Doubles the dose if the small one has decided nothing.
  const share = (round < MIN_BLOCKS ? 1 : 2) * (plan.dose_ratio ?? SHARE)
  const slices = change ? undefined : slicesOf(suspects, share, plan.mix.seed, round)
  const duration_s = LEAD_S + (slices?.length ?? CHANGED_SLICES) * sliceDuration_s(own)
  const cell = change ?? seen.cell
  const isWarm = isSameCell(records.at(-1)?.cell ?? null, cell)
  const warmup_s = isWarm ? plan.warmup_s : Math.max(plan.warmup_s, COLD_WARMUP_S)
  return {
    at: { phase: 'proof', round, ...(change && { relaxed: true }) },
    cell,
    left_s: Math.max(1, MIN_BLOCKS - round) * (warmup_s + duration_s),
    about: 'which suspect moves the throughput? Each is slowed in turn',
    ...(seen.target.kind !== 'url' && { cold_warmup_s: COLD_WARMUP_S }),
    load: { ...(change && !(ADDED_RTT in change) ? doubled(load) : load), slices, warmup_s, duration_s },
  }
}

/** The cell that makes the path to the database a quarter longer; null if too short, or not local. @param {TrialRecord[]} records @returns {Cell | null} */
export function pathCell(records) {
  const seen = of(records, 'search').findLast(isValid)
  const { round_trip_ms = 0 } = seen?.probes.postgres ?? {}
  if (seen?.target.kind !== 'local' || round_trip_ms < LEAST_RTT_MS) return null
  return { [ADDED_RTT]: Math.max(1, Math.round((round_trip_ms * PATH_SHARE) / (1 - PATH_SHARE))) }
}

/** @param {TrialRecord[]} records of the target */
function sliceDuration_s(records) {
  const most_rps = Math.max(...records.flatMap(({ at, traffic }) => (at.phase === 'proof' ? [] : traffic.achieved_rps)))
  return Math.min(MAX_SLICE_S, Math.max(SLICE_S, SLICE_REQUESTS / most_rps))
}

/** Doubles the load: a pool four times as large has an elasticity of 0.5 if it doubles the throughput, so that much must be offered. @template {{ rate_rps: number | null, connections: number }} L @param {L} load @returns {L} */
function doubled(load) {
  return load.rate_rps === null ? load : { ...load, rate_rps: 2 * load.rate_rps, connections: 2 * load.connections }
}

/** The number of connections at which the closed loop got the most through. @param {TrialRecord[]} records */
function connectionsOf(records) {
  const rungs = of(records, 'plateau').filter((record) => isValid(record) && record.load.loop === 'closed')
  return bestOf(rungs).load.connections
}

/**
 * Pairs of a dosed and an undosed slice, in random order. Every second block reverses the order within the pairs of the block before,
 * since the first slice of a load differs from the others.
 * @param {Suspect[]} suspects @param {number} share @param {number} seed @param {number} round @returns {Slice[]}
 */
export function slicesOf(suspects, share, seed, round) {
  const inOrder = suspects
    .map((suspect, i) => {
      const isFirst = randomAt(seed + Math.floor(round / 2), 2 * i + 1) < 0.5
      return { suspect, place: randomAt(seed + round, 2 * i), isFirst: round % 2 === 0 ? isFirst : !isFirst }
    })
    .sort((a, b) => a.place - b.place)
  return inOrder.flatMap(({ suspect, isFirst }) => {
    const dosed = { ...suspect, isDosed: true, share }
    const undosed = { ...suspect, isDosed: false, share: 0 }
    return isFirst ? [dosed, undosed] : [undosed, dosed]
  })
}

/**
 * The limit that the counters named, confirmed or corrected by the doses.
 * @param {Limit | null} limit @param {TrialRecord[]} records
 * @returns {{ limit: Limit | null, elasticities?: Elasticity[] }} without elasticities if nothing was dosed
 */
export function proven(limit, records) {
  const own = of(records, 'proof').filter(isValid)
  if (own.length === 0) return { limit }
  const elasticities = elasticitiesOf(own)
  const canTest = limit && limitsThroughput(limit.resource) && !elasticities.some(({ undosed }) => undosed)
  return { limit: canTest ? tested(limit, own, elasticities) : limit, elasticities }
}

/** @param {Limit} limit @param {TrialRecord[]} records of the proof @param {Elasticity[]} elasticities @returns {Limit} */
function tested(limit, records, elasticities) {
  const { kind, suspects, isIdle } = provenBy(records)
  const wasDosed = elasticities.some(({ resource }) => STANDS_FOR[resource]?.test(limit.resource))
  if (kind === 'none' && wasDosed) return { ...limit, confirmed: false }
  if (kind === 'none' || kind === 'undecided') return limit
  const [first] = suspects
  const { resource } = first
  const [tied] = kind === 'tie' ? suspects.slice(1) : []
  const named = (/** @type {Elasticity | undefined} */ one) => one && isSame(one, limit.resource, elasticities)
  if (tied && (named(first) || named(tied))) {
    const other = named(first) ? tied : first
    return { ...limit, runner_up: other.resource, runner_up_evidence: [changeText(other)], kind, confirmed: true }
  }
  const agrees = kind === 'lock-step' ? limit.resource === 'lock-step' : named(first)
  const found = resource.startsWith('generator') ? /** @type {const} */ ('generator') : kind
  // The proof breaks a tie between two limits that the trials named equally often.
  if (agrees) return { ...limit, ...(limit.kind === 'tie' && { kind: found }), confirmed: true }
  // Something that no dose could slow takes most of the time. Only the counters can tell what it is.
  if (isIdle) return limit
  return {
    resource: kind === 'lock-step' ? 'lock-step' : resource,
    evidence: [
      ...sharesOf(suspects),
      ...(kind === 'lock-step' ? coresText(records) : []),
      `without the proof, the counters would have named ${limit.resource}`,
    ],
    ...(tied
      ? { runner_up: tied.resource, runner_up_evidence: [changeText(tied)] }
      : { runner_up: limit.resource, runner_up_evidence: limit.evidence }),
    confirmed: true,
    kind: found,
  }
}

/** Utilization of the cores, none of which was saturated. @param {TrialRecord[]} records */
function coresText(records) {
  const cores = ledgerOf(records[0]).filter(({ resource }) => resource.startsWith('core '))
  const texts = cores.map(({ resource, utilization }) => `${resource} ${wholePercent(utilization)} of the time`)
  return texts.length > 0 ? [`busy: ${texts.join(' and ')}`] : []
}

/** Contribution of each suspect to the sum of the elasticities. @param {Elasticity[]} suspects */
function sharesOf(suspects) {
  const sum = suspects.reduce((total, { elasticity }) => total + elasticity, 0)
  return suspects.map((one) => {
    const { elasticity } = one
    const share = wholePercent(elasticity / sum)
    return `${changeText(one)} of the throughput (elasticity ${elasticity})${suspects.length > 1 ? `, ${share} of the sum of those that move the throughput` : ''}`
  })
}

/** Names of a suspect in the counters, which are more specific: `api-gc` says what saturates the service's core. @type {Record<string, RegExp>} */
const STANDS_FOR = {
  'api-cpu': /^api-/,
  'postgres-cpu': /^postgres-(cpu|quota)$/,
  'postgres-commit': /^postgres-commit$/,
  'generator-cpu': /^generator-/,
  'pool-size': /^pool-/,
}

/** @param {Elasticity} dosed @param {string} counted @param {Elasticity[]} all */
function isSame({ suspect, resource }, counted, all) {
  // Stopping Postgres' processes may also delay a commit or a lock, unless that was dosed on its own. Slowing their core does not.
  const isProcess = resource === 'postgres-cpu' && !suspect.startsWith('core ')
  const wasAlone = all.some((one) => one.resource === counted)
  return STANDS_FOR[resource].test(counted) || (isProcess && counted.startsWith('postgres-') && !wasAlone)
}
