import { randomAt } from '../system/random.js'
import { suspectsOf } from '../verdict/dose/suspects.js'
import { elasticitiesOf, provenBy } from '../verdict/proof.js'
import { isValid } from './ladder.js'
import { of } from './of-records.js'

/** @import { Limit, Plan, Slice, Step, Suspect, TrialRecord } from '../report/record.js' */

const SLICE_S = 1
/** The fewest pairs for which a 95 % interval by ranks is finite. */
const MIN_BLOCKS = 6
const MAX_BLOCKS = 12
/** Some blocks may be invalid, for example without a free port. */
const MAX_TRIALS = MAX_BLOCKS + 3
/** Share of its time that a dose takes from a suspect: small against what the service needs, large against the noise. */
const SHARE = 0.1
/** Limits of a service's throughput. Others, such as open files, are limits of its connections, which a closed loop does not test. */
const OF_THROUGHPUT =
  /^(api-|postgres-(cpu|quota|commit|lock)|pool-|generator-cpu|lock-step|none-reached|machine-noise)/

/**
 * The next block of a proof: a closed loop near the plateau, in which each suspect is slowed for a second, next to a second without a
 * dose, both in random order. It ends when the limit is decided. Pure.
 *
 * @param {Plan} plan @param {TrialRecord[]} records @param {string} driver of the closed loop @returns {Step | null}
 */
export function proofStep(plan, records, driver) {
  const tried = of(records, 'proof')
  const own = tried.filter(isValid)
  const seen = of(records, 'search').findLast((record) => isValid(record) && record.cell === null)
  if (!plan.proves || !seen || tried.length >= MAX_TRIALS || isDone(own)) return null
  const suspects = suspectsOf(plan, seen)
  // Without the service, or with nothing beside it, the doses could tell nothing apart.
  if (suspects.length < 2 || !suspects.some(({ resource }) => resource === 'api-cpu')) return null
  const block = own.length
  // A small dose that decides nothing is doubled.
  const share = block < MIN_BLOCKS ? SHARE : 2 * SHARE
  const slices = slicesOf(suspects, share, plan.mix.seed + block)
  const duration_s = slices.length * SLICE_S
  const load = {
    driver,
    loop: /** @type {const} */ ('closed'),
    rate_rps: null,
    connections: connectionsOf(records),
    slices,
  }
  const about = 'which suspect moves the throughput? Each is slowed in turn'
  const left_s = Math.max(1, MIN_BLOCKS - block) * (plan.warmup_s + duration_s)
  return {
    at: { phase: 'proof', block },
    cell: null,
    left_s,
    about,
    load: { ...load, warmup_s: plan.warmup_s, duration_s },
  }
}

/** @param {TrialRecord[]} own */
function isDone(own) {
  return own.length >= MAX_BLOCKS || (own.length >= MIN_BLOCKS && provenBy(own).kind === 'full')
}

/** The connections with which the closed loop got the most through. @param {TrialRecord[]} records */
function connectionsOf(records) {
  const rungs = of(records, 'plateau').filter(isValid)
  const best = rungs.reduce((one, other) => (other.traffic.goodput_rps > one.traffic.goodput_rps ? other : one))
  return best.load.connections
}

/** Pairs of a dosed and an undosed slice. @param {Suspect[]} suspects @param {number} share @param {number} seed @returns {Slice[]} */
function slicesOf(suspects, share, seed) {
  const inOrder = suspects
    .map((suspect, i) => ({ suspect, place: randomAt(seed, 2 * i), isFirst: randomAt(seed, 2 * i + 1) < 0.5 }))
    .sort((a, b) => a.place - b.place)
  return inOrder.flatMap(({ suspect, isFirst }) => {
    const dosed = { ...suspect, isDosed: true, share }
    const undosed = { ...suspect, isDosed: false, share: 0 }
    return isFirst ? [dosed, undosed] : [undosed, dosed]
  })
}

/**
 * The limit that the counters named, as the doses confirm or correct it.
 *
 * @param {Limit | null} limit @param {TrialRecord[]} records
 * @returns {{ limit: Limit | null, elasticities?: ReturnType<typeof elasticitiesOf> }} without elasticities where nothing was dosed
 */
export function proven(limit, records) {
  const own = of(records, 'proof').filter(isValid)
  if (own.length === 0) return { limit }
  const elasticities = elasticitiesOf(own)
  if (!limit || !OF_THROUGHPUT.test(limit.resource)) return { limit, elasticities }
  const { kind, suspects } = provenBy(own)
  if (kind === 'none' || kind === 'undecided') return { limit, elasticities }
  const [{ resource }] = suspects
  const agrees = kind === 'lock-step' ? limit.resource === 'lock-step' : isSame(resource, limit.resource)
  if (agrees) return { limit: { ...limit, confirmed: true }, elasticities }
  const corrected = {
    resource: kind === 'lock-step' ? 'lock-step' : resource,
    evidence: [`the doses moved the throughput; the counters alone had named ${limit.resource}`],
    runner_up: limit.resource,
    runner_up_evidence: limit.evidence,
    confirmed: true,
    kind: resource.startsWith('generator') ? /** @type {const} */ ('generator') : kind,
  }
  return { limit: corrected, elasticities }
}

/** The counters tell more: `api-gc` is one way to fill the service's core. @param {string} dosed @param {string} counted */
function isSame(dosed, counted) {
  const part = (/** @type {string} */ name) => name.split('-')[0]
  return part(dosed) === part(counted)
}
