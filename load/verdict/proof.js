import { ROUND_TRIP } from '../system/between.js'
import { LEAD_S } from './dose/dosing.js'
import { ledgerOf } from './ledger.js'
import { median, shift, typical } from './ranks.js'

/** @import { Dose, Elasticity, TrialRecord } from '../report/record.js' */

/** Confidence of the intervals. */
const CONFIDENCE = 0.95
/** Time after a switch in which requests sent before it still complete. */
const SETTLE_MS = 100
/** An undosed pair (an A/A test) is computed as if this share had been taken. */
const NOMINAL_SHARE = 0.1
/** A dose of which less than this share was taken says nothing: divided by next to nothing, noise looks like an effect. */
const LEAST_TAKEN = 0.5
/** Minimum elasticity of a limit: half of the throughput that the suspect's lost speed would cost if nothing else took time. */
const LEAST = 0.5
/**
 * Minimum gain from a larger pool that proves it to be the limit. Its elasticity is averaged over the whole enlargement, most of which
 * gains nothing once the next bottleneck is reached, so it may be far below LEAST. Larger groups of commits in front of a slow
 * Postgres gain less.
 */
const POOL_GAIN = 1.2
/** A resource is full at this share of its own counter. */
const FULL = 0.95
/** A core that is busy for this share of the time leaves at most a tenth of the cycle to everything that runs elsewhere. */
const DOMINANT = 0.9
/** A core that is busy for less than this is no limit alone, and cores that together fill less of a cycle do not take turns in it. */
const BUSY = 0.75
/** A part of Postgres that can be slowed alone, and the whole. */
const COMMIT = 'postgres-commit'
const WHOLE = 'postgres-cpu'
/** The resource that we enlarge instead of slowing it, and the one that only a proxy can slow: each in trials of its own. */
const POOL = 'pool-size'
const PATH = 'postgres-path'

/**
 * The elasticity of the throughput with respect to each suspect's speed: d ln(throughput) / d ln(speed). It is about 1 for the
 * bottleneck and about 0 for a resource with time to spare. Each pair of neighbouring slices gives one estimate, divided by the dose
 * that was actually taken; the estimate over all pairs is rank-based.
 *
 * The design follows Coz (Curtsinger & Berger 2015, "Coz: finding code that counts with causal profiling"), which slows everything but
 * one suspect; we slow the suspect itself, which needs no access to the others.
 * @param {TrialRecord[]} records with doses @returns {Elasticity[]} most elastic first
 */
export function elasticitiesOf(records) {
  const pairs = pairsOf(records)
  const dosed = [...new Set(pairs.map(({ suspect }) => suspect))].map((suspect) => {
    const own = pairs.filter((pair) => pair.suspect === suspect)
    const changes = own.map(({ elasticity }) => elasticity)
    const { estimate, low, high } = typical(changes, CONFIDENCE)
    const undosed = own.every(({ share }) => share === 0) && { undosed: /** @type {const} */ (true) }
    return { suspect, resource: own[0].resource, ...rounded(estimate, low, high), pairs: own.length, ...undosed }
  })
  return [...dosed, ...changedElasticities(records)].sort((a, b) => b.elasticity - a.elasticity)
}

/**
 * Elasticities for a pool that was enlarged in some trials, and for a path to the database that was lengthened in others.
 * @param {TrialRecord[]} records @returns {Elasticity[]}
 */
function changedElasticities(records) {
  const base = records.filter(({ at }) => !at.relaxed)
  const changed = records.filter(({ at }) => at.relaxed)
  if (base.length === 0 || changed.length === 0) return []
  const [{ settings, probes }] = base
  const undosed = base.flatMap(({ doses = [], traffic }) => {
    const slices = doses.filter(({ share }) => share === 0)
    return Math.log(slices.reduce((sum, slice) => sum + rateIn(traffic.ticks, slice), 0) / slices.length)
  })
  const against = (/** @type {TrialRecord[]} */ own, /** @type {number} */ speedup) => {
    const gains = own.map((record) => Math.log(laterRate(record)))
    const { estimate, low, high } = shift(gains, undosed, CONFIDENCE)
    const [gain, ...ends] = [estimate, low, high].map((one) => one / Math.log(speedup))
    const [least, most] = ends.sort((a, b) => a - b)
    return { ...rounded(gain, least, most), pairs: own.length }
  }
  const larger = changed.filter((record) => !(ROUND_TRIP in record.settings))
  const farther = changed.filter((record) => ROUND_TRIP in record.settings)
  const factor = Number(larger[0]?.settings.POOL_MAX) / Number(settings.POOL_MAX)
  const nearer = Number(probes.postgres?.round_trip_ms) / Number(farther[0]?.settings[ROUND_TRIP])
  const pool = { suspect: `POOL_MAX x ${digits(factor)}`, resource: POOL, factor }
  const path = { suspect: 'the path to Postgres', resource: PATH }
  const all = [
    ...(larger.length > 0 ? [{ ...pool, ...against(larger, factor) }] : []),
    ...(farther.length > 0 ? [{ ...path, ...against(farther, nearer) }] : []),
  ]
  // Trials without any success have no rate to compare.
  return all.filter(({ elasticity }) => Number.isFinite(elasticity))
}

/** Successes per second without the first seconds of a load, which are slower, and are not in the slices either. @param {TrialRecord} record */
function laterRate({ load, traffic }) {
  const later = (traffic.per_second ?? []).slice(LEAD_S, Math.floor(load.duration_s))
  return later.length > 0 ? later.reduce((sum, { ok }) => sum + ok, 0) / later.length : traffic.goodput_rps
}

/** @param {number} estimate @param {number} low @param {number} high */
function rounded(estimate, low, high) {
  const [least, most] = [low, high].map((end) => (Number.isFinite(end) ? digits(end) : null))
  return { elasticity: digits(estimate), low: least, high: most }
}

/**
 * Derives the limit from the doses. It is a suspect whose elasticity is at least 0.5 and exceeds every other suspect's: the
 * interval of the paired differences excludes 0. Several suspects above 0 take turns (lock-step) unless the counters show two of
 * them full (tie). A pool whose size moves the throughput comes first: slowing what holds its connections slows it too, but is not
 * the cause. The path to the database is never the limit itself: the limit is what waits for it, such as a pool. The path's
 * elasticity shows the gain from a nearer database.
 *
 * A core that is busy for a share U of the time could serve 1 / U times as much (the utilization law, see ledger.js). So a half-idle
 * core is not the limit alone, however much the throughput follows its speed: it is idle while something else works. If all cores
 * together fill the cycle, though none is full, that something is another core, and they take turns. By the same law, a suspect that
 * the throughput follows is the limit if its core alone is full: speeding up anything else would gain at most a twentieth.
 * Where no core is full, the same holds for the only core that is busy for at least nine tenths of the time, if no other suspect on it
 * moves the throughput: all else together would gain at most a ninth. A dose may suggest more, since slowing what just fits beside a
 * busy core makes that core wait, while speeding it up gains nothing.
 * @param {TrialRecord[]} records with doses
 * @returns {{ kind: 'full' | 'lock-step' | 'tie' | 'none' | 'undecided', suspects: Elasticity[], isIdle?: boolean }} suspects: one
 *   limit, or several that share the time, most elastic first; isIdle: nothing else moves the throughput, but its core is often idle,
 *   or not what it waits for
 */
export function provenBy(records) {
  const all = elasticitiesOf(records)
  const pool = all.find(({ resource, low, factor = 1 }) => resource === POOL && factor ** Number(low) >= POOL_GAIN)
  if (pool) return { kind: 'full', suspects: [pool] }
  const elasticities = all.filter(({ resource }) => resource !== POOL && resource !== PATH)
  const pairs = pairsOf(records)
  const moving = elasticities.filter(({ low }) => low !== null && low > 0)
  const [first] = moving
  if (!first) {
    const isStill = elasticities.length > 0 && elasticities.every(({ high }) => high !== null && high < LEAST)
    return { kind: isStill ? 'none' : 'undecided', suspects: [] }
  }
  const rivals = elasticities.filter((one) => one !== first && !isPartOf(one, first))
  const sharing = moving.filter((one) => one === moving.find((other) => isPartOf(one, other)))
  const isFirst = first.elasticity >= LEAST && rivals.every((rival) => exceeds(pairs, first, rival))
  const isIdle = (busyRatio(records, [first]) ?? 1) < BUSY
  // If all stages ran k times as fast, so would the service: the elasticities of all stages add up to 1 (Euler's theorem). So
  // stages that add up to less than half do not fill the cycle.
  const explained = sharing.reduce((sum, { elasticity }) => sum + elasticity, 0)
  const takesTurns =
    (sharing.length > 1 && explained >= LEAST && (busyRatio(records, sharing) ?? 1) >= BUSY) ||
    (isFirst && isIdle && (busyRatio(records, elasticities) ?? 0) >= BUSY)
  if (isFirst && (!isIdle || (sharing.length === 1 && !takesTurns))) {
    const one = narrowest(pairs, first, moving)
    return { kind: 'full', suspects: [one], isIdle: isIdle || (one === first && isWaiting(pairs, first, elasticities)) }
  }
  const onFull = sharing.filter((one) => (busyRatio(records, [one]) ?? 0) >= FULL)
  const [fullest] = onFull
  if (fullest?.elasticity >= LEAST && namesByCore(records, onFull).size === 1) {
    return { kind: 'full', suspects: [narrowest(pairs, fullest, moving)] }
  }
  const dominant = onFull.length === 0 ? dominantOf(records, elasticities, sharing) : undefined
  if (dominant && dominant.elasticity >= LEAST) return { kind: 'full', suspects: [narrowest(pairs, dominant, moving)] }
  // What shares one full core takes no turns with anything else.
  const isOneFull = onFull.length === sharing.length && namesByCore(records, onFull).size === 1
  if (!takesTurns || isOneFull) return { kind: 'undecided', suspects: sharing }
  const isTie = namesByCore(records, onFull).size > 1
  return { kind: isTie ? 'tie' : 'lock-step', suspects: sharing }
}

/**
 * Whether Postgres' sessions wait for something other than their core, such as a trigger that sleeps: a stop of its processes also
 * prolongs that, but a slower core does not. @param {ReturnType<typeof pairsOf>} pairs @param {Elasticity} first @param {Elasticity[]} all
 */
function isWaiting(pairs, first, all) {
  const isCore = (/** @type {Elasticity} */ { suspect }) => suspect.startsWith('core ')
  const core = all.find((one) => one.resource === WHOLE && isCore(one))
  if (first.resource !== WHOLE || isCore(first) || !core) return false
  return core.elasticity < LEAST && exceeds(pairs, first, core)
}

/**
 * The only suspect on the only core that is busy nearly all the time; undefined if there are several, or if a core is unknown.
 * @param {TrialRecord[]} records @param {Elasticity[]} suspects @param {Elasticity[]} moving those that the throughput follows
 */
function dominantOf(records, suspects, moving) {
  if (coresOf(records, suspects).includes(null)) return undefined
  const isDominant = (/** @type {Elasticity} */ one) => (busyRatio(records, [one]) ?? 0) >= DOMINANT
  const cores = namesByCore(records, suspects.filter(isDominant))
  const [first, ...others] = moving.filter(isDominant)
  return cores.size === 1 && others.length === 0 ? first : undefined
}

/** Total utilization of the suspects' cores; null: unknown. @param {TrialRecord[]} records @param {Elasticity[]} suspects */
function busyRatio(records, suspects) {
  const cores = namesByCore(records, suspects)
  if ([...cores.values()].includes(null)) return null
  const rows = records.flatMap((record) => ledgerOf(record))
  const busy = [...cores.values()].map((core) => {
    return median(rows.flatMap(({ resource, utilization }) => (resource === core ? utilization : [])))
  })
  return busy.reduce((sum, share) => sum + share, 0)
}

/**
 * The suspects' cores, each with one of its names in the ledger. A core that the service and Postgres share counts once; equal numbers
 * on two hosts are two cores. @param {TrialRecord[]} records @param {Elasticity[]} suspects
 */
function namesByCore(records, suspects) {
  const isOneHost = records.every(({ probes }) => !probes.here)
  return new Map(coresOf(records, suspects).map((name) => [isOneHost ? name?.split(' ')[1] : name, name]))
}

/** The core of each suspect, as the ledger names it; null: unknown. @param {TrialRecord[]} records @param {Elasticity[]} suspects */
function coresOf(records, suspects) {
  const rows = records.flatMap((record) => ledgerOf(record)).filter(({ resource }) => resource.startsWith('core '))
  return suspects.flatMap(({ suspect, resource }) => {
    // Commits wait for a disk; the core of Postgres includes their CPU time.
    if (resource === COMMIT) return suspects.length > 1 ? [] : null
    return rows.find((row) => row.resource.includes(suspect))?.resource ?? null
  })
}

/**
 * Whether suspects are no rivals: commits are part of Postgres, Postgres of its core, and processes of one program of one service. A
 * proxy and the service behind it are rivals.
 * @param {Elasticity} a @param {Elasticity} b
 */
function isPartOf(a, b) {
  const [one, other] = [a, b].map(({ resource }) => (resource === COMMIT ? WHOLE : resource))
  const [name, otherName] = [a, b].map(({ suspect }) => /^process \d+ (.*)$/.exec(suspect)?.[1])
  return one === other && (one === WHOLE || !name || !otherName || name === otherName)
}

/** Prefers the commit to Postgres as a whole, unless the whole moves the throughput more. @param {ReturnType<typeof pairsOf>} pairs @param {Elasticity} first @param {Elasticity[]} moving */
function narrowest(pairs, first, moving) {
  const commit = moving.find(({ resource, elasticity }) => resource === COMMIT && elasticity >= LEAST)
  return commit && first.resource === WHOLE && !exceeds(pairs, first, commit) ? commit : first
}

/** @param {ReturnType<typeof pairsOf>} pairs @param {Elasticity} one @param {Elasticity} other */
function exceeds(pairs, one, other) {
  const of = (/** @type {Elasticity} */ { suspect }) => pairs.filter((pair) => pair.suspect === suspect)
  const others = new Map(of(other).map(({ round, elasticity }) => [round, elasticity]))
  const differences = of(one).flatMap(({ round, elasticity }) => {
    const own = others.get(round)
    return own === undefined ? [] : elasticity - own
  })
  return typical(differences, CONFIDENCE).low > 0
}

/** One estimate for each dosed slice and its undosed neighbour. @param {TrialRecord[]} records */
function pairsOf(records) {
  return records.flatMap(({ at, doses = [], traffic }) => {
    return doses.flatMap((dose, i) => {
      if (!dose.isDosed || dose.taken_ratio < LEAST_TAKEN * dose.share) return []
      const undosed = doses[i % 2 === 0 ? i + 1 : i - 1]
      const change = Math.log(rateIn(traffic.ticks, dose) / rateIn(traffic.ticks, undosed))
      const elasticity = change / Math.log(1 - (dose.share > 0 ? dose.taken_ratio : NOMINAL_SHARE))
      if (!Number.isFinite(elasticity)) return []
      return { round: at.round, suspect: dose.suspect, resource: dose.resource, share: dose.share, elasticity }
    })
  })
}

/** Successes per second in the ticks that lie within a slice. @param {TrialRecord['traffic']['ticks']} ticks @param {Dose} slice */
function rateIn(ticks, { from_ms, to_ms }) {
  if (!ticks) return Number.NaN
  const { start_ms, tick_ms, ok } = ticks
  const first = Math.ceil((from_ms + SETTLE_MS - start_ms) / tick_ms)
  const end = Math.floor((to_ms - start_ms) / tick_ms)
  const own = ok.slice(Math.max(0, first), end)
  return own.reduce((sum, count) => sum + count, 0) / ((own.length * tick_ms) / 1000)
}

/** @param {number} value */
function digits(value) {
  return Number(value.toFixed(2))
}
