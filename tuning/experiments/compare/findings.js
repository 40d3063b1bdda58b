import { bestOf, isValid } from '../../../load/capacity/ladder.js'
import { count } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { labelOf, silentSide } from '../../knobs/sides.js'
import { capacityOf } from '../../stats/capacity-of.js'
import { groupBy, totalsOf } from '../../stats/design.js'
import { byBlock } from '../../stats/effects.js'
import { GENERATOR_FULL, generatorShare, isFullShare } from '../../stats/sound.js'
import { isRefused, ladderOf, refusedRatio, refuses, SIDES, searchPlan, WORKERS } from './design.js'
import { answerSentence, differencesOf, incomparable } from './differences.js'
import { percentileOf, samplesOf } from './samples.js'
import { sizesOf } from './sizes.js'
import { proofOf, whyText } from './why.js'

/** @import { ComparePlan, Records } from './design.js' */

export const PERCENTILES = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]
/** With fewer successes than this, a side fails requests; the successes alone are then no measure of it. */
const LEAST_SUCCESS = 0.99
export const PHASES = ['dns', 'connect', 'tls', 'write', 'wait', 'read']

/**
 * Figures are medians of the blocks; NaN where nothing was measured.
 * @param {ComparePlan} plan @param {Records} records
 * @typedef {ReturnType<typeof findingsOf>} CompareFindings
 * @typedef {ReturnType<typeof sideFindings>} SideFindings
 * @typedef {ReturnType<typeof levelOf>} Level
 */
export function findingsOf(plan, records) {
  const valid = records.filter(isValid)
  const sides = SIDES.map((side) => sideFindings(plan, records, side))
  const bothAt = (/** @type {string} */ phase, /** @type {number} */ workers) => {
    const trials = valid.filter(({ at, load }) => at.phase === phase && load.connections === workers)
    return SIDES.map((side) => levelOf(trials, side, workers))
  }
  const levels = plan.concurrency.map((workers) => bothAt('latency', workers))
  const differences = differencesOf(levels, sides)
  const why = whyText(differences, sides)
  const proofs = sides.flatMap(({ name, proof }) => (proof ? { side: name.toLowerCase(), ...proof } : []))
  const response_sizes = sides.flatMap(({ name, sizes }) => {
    return Number.isFinite(sizes.body_bytes) ? { side: name.toLowerCase(), ...sizes } : []
  })
  return {
    problem: silentSide(records, SIDES, (side) => refuses(valid, side)) ?? incomparable(differences),
    kept: {
      ...{ capacity: null, limit: null, differences, conclusion: answerSentence(differences) },
      ...(proofs.length > 0 && { why, proofs }),
      ...(response_sizes.length > 0 && { response_sizes }),
    },
    why,
    plan,
    differences,
    sides,
    // Each level holds the figures of A and of B.
    levels,
    rungs: WORKERS.map((workers) => bothAt('maximum', workers)),
  }
}

/** @param {ComparePlan} plan @param {Records} records @param {string} side */
function sideFindings(plan, records, side) {
  const own = records.filter(({ cell }) => cell.side === side)
  const maxima = maximaOf(own.filter(({ at }) => at.phase === 'maximum'))
  return {
    name: side.toUpperCase(),
    label: labelOf(plan.sides[side]),
    maxima,
    bound: boundOf(maxima),
    refusal: refuses(own, side) ? refusalOf(plan, own, side) : null,
    answers: answersOf(own),
    proof: proofOf(own),
    sizes: sizesOf(own.filter(isValid)),
  }
}

/** @param {Records} valid trials of both sides with this many workers @param {string} side @param {number} workers */
function levelOf(valid, side, workers) {
  const trials = valid.filter(({ cell }) => cell.side === side)
  const samples = samplesOf(trials)
  const isAnyRefused = trials.some(isRefused)
  const isAnyFailed = trials.some(({ traffic }) => traffic.success_ratio < LEAST_SUCCESS)
  const medianOf = (/** @type {(traffic: any) => number | undefined} */ value) => {
    return median(trials.map(({ traffic }) => value(traffic)))
  }
  return {
    name: side.toUpperCase(),
    workers,
    rps: medianOf((traffic) => traffic.goodput_rps),
    mean_ms: medianOf((traffic) => traffic.ok_latency_ms?.mean),
    percentiles_ms: PERCENTILES.map((share) => percentileOf(samples, share)),
    samples,
    phases_ms: PHASES.map((phase) => medianOf((traffic) => traffic.phases_ms?.[phase]?.p50)),
    isRefused: isAnyRefused,
    isFailed: isAnyFailed,
    refused_ratio: median(trials.map(refusedRatio)),
    // Values by block. A service that refuses or fails some requests answers the rest sooner, so the rest are no measure of it.
    p50_ms: byBlock(isAnyRefused || isAnyFailed ? [] : trials, ({ traffic }) => traffic.ok_latency_ms?.p50),
    isGeneratorFull: isFullShare(median(trials.map(generatorShare))),
  }
}

/**
 * The best rung of each finished ladder. Ladders that ended at a rung without a valid trial are left out, unless no majority is complete.
 * @param {Records} climbs of one side
 */
function maximaOf(climbs) {
  const ladders = [...groupBy(climbs, ({ at }) => String(at.block)).values()]
  const all = ladders.flatMap((trials) => maximumOf(trials) ?? [])
  const complete = all.filter(({ lost }) => lost === null)
  return 2 * complete.length > all.length ? complete : all
}

/** The best rung of a finished ladder; null if a rung below the last has no valid trial. lost: why the last has none. @param {Records} trials */
function maximumOf(trials) {
  const { next, rungs, rising } = ladderOf(trials)
  const valid = rungs.filter((rung) => rung !== undefined)
  const isLastLost = valid.length === rungs.length - 1 && rungs.at(-1) === undefined
  if (next !== null || valid.length === 0 || (valid.length < rungs.length && !isLastLost)) return null
  const best = bestOf(valid)
  const { at, traffic, load } = best
  const last = trials[trials.length - 1]
  const why = `with ${count(last.load.connections)} workers, no trial was valid: ${last.outcome.because}`
  const found = { block: at.block, rps: traffic.goodput_rps, workers: load.connections, rising }
  return { ...found, lost: isLastLost ? why : null, generator_share: generatorShare(best) }
}

/** If a side's maximum is only a lower bound, the rate and the reason. @param {ReturnType<typeof maximaOf>} maxima */
function boundOf(maxima) {
  const rps = median(maxima.map((maximum) => maximum.rps))
  const isFull = isFullShare(median(maxima.map(({ generator_share }) => generator_share)))
  if (isFull) return { rps, because: GENERATOR_FULL }
  const [lost] = maxima.flatMap((maximum) => maximum.lost ?? [])
  if (lost) return { rps, because: lost }
  const rising = maxima.filter((maximum) => maximum.rising)
  if (2 * rising.length <= maxima.length) return null
  return { rps, because: `the last rung, ${count(rising[0].workers)} workers, still raised the throughput` }
}

/** The rate at which a side begins to fail requests, and the failure. @param {ComparePlan} plan @param {Records} own @param {string} side */
function refusalOf(plan, own, side) {
  const { capacity } = capacityOf('limit', { side }, searchPlan(plan, side), own)
  const failed = own.filter(({ at, outcome }) => at.of === 'limit' && outcome.verdict === 'fail')
  const failures = Object.entries(answersOf(failed)).filter(([key]) => !/^2\d\d$/.test(key))
  const [failure = null] = failures.sort(([, a], [, b]) => b - a)[0] ?? []
  return { capacity, failure }
}

/** The number of answers by status, and of errors by name. @param {Records} records */
function answersOf(records) {
  return totalsOf(records.map(({ traffic }) => ({ ...traffic.status, ...traffic.errors })))
}
