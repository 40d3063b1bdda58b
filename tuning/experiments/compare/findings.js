import { isValid } from '../../../load/capacity/ladder.js'
import { labelOf, silentSide } from '../../knobs/sides.js'
import { capacityOf } from '../../stats/capacity-of.js'
import { groupBy } from '../../stats/design.js'
import { median } from '../../stats/ranks.js'
import { generatorShare, isFullShare } from '../../stats/sound.js'
import { fitLaw } from '../../stats/usl.js'
import { GAIN, isRefused, refusedRatio, refuses, SIDES, searchPlan, WORKERS } from './design.js'
import { answerSentence, differencesOf } from './differences.js'
import { histogramOf, percentileOf, samplesOf } from './samples.js'

/**
 * @import { ComparePlan, Name, Records } from './design.js'
 * @import { Samples } from './samples.js'
 */

export const PERCENTILES = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]
export const PHASES = ['dns', 'connect', 'tls', 'write', 'wait', 'read']
const HISTOGRAM_BUCKETS = 11

/**
 * Figures are medians of the blocks; NaN where nothing was measured.
 *
 * @typedef {ReturnType<typeof findingsOf>} CompareFindings
 * @typedef {ReturnType<typeof sideFindings>} SideFindings
 * @typedef {ReturnType<typeof levelOf>} Level
 */

/** @param {ComparePlan} plan @param {Records} records */
export function findingsOf(plan, records) {
  const sides = SIDES.map((side) => sideFindings(plan, records, side))
  const differences = differencesOf(sides)
  const valid = records.filter(isValid)
  return {
    problem: silentSide(records, [...SIDES], (side) => refuses(valid, side)),
    kept: { capacity: null, limit: null, differences, answer: answerSentence(differences) },
    plan,
    differences,
    sides,
    histograms: plan.concurrency.map((workers, i) => {
      return { workers, ...histogramsOf(sides.map(({ levels }) => levels[i].samples)) }
    }),
  }
}

/** @param {ComparePlan} plan @param {Records} records @param {Name} side */
function sideFindings(plan, records, side) {
  const own = records.filter(({ cell }) => cell.side === side)
  const loops = own.filter((record) => record.at.phase === 'latency' && isValid(record))
  const climbs = own.filter(({ at }) => at.phase === 'maximum')
  const maxima = maximaOf(climbs)
  const because = boundOf(maxima)
  const points = loops
    .filter((record) => !isRefused(record) && !isFullShare(generatorShare(record)))
    .map(({ load, traffic }) => ({ concurrency: load.connections, rps: traffic.goodput_rps }))
  return {
    name: side.toUpperCase(),
    label: labelOf(plan.sides[side]),
    levels: plan.concurrency.map((workers) =>
      levelOf(
        workers,
        loops.filter(({ load }) => load.connections === workers),
      ),
    ),
    rungs: rungsOf(climbs.filter(isValid)),
    maxima,
    bound: because === null ? null : { rps: median(maxima.map(({ rps }) => rps)), because },
    refusal: refuses(own, side) ? refusalOf(plan, own, side) : null,
    law: fitLaw(points.filter(({ rps }) => rps > 0)),
    most_workers: Math.max(...points.map(({ concurrency }) => concurrency)),
    answers: answersOf(own),
  }
}

/** @param {number} workers @param {Records} trials */
function levelOf(workers, trials) {
  const samples = samplesOf(trials)
  const medianOf = (/** @type {(traffic: any) => number | undefined} */ value) => {
    return median(trials.map(({ traffic }) => value(traffic)))
  }
  return {
    workers,
    rps: medianOf((traffic) => traffic.goodput_rps),
    mean_ms: medianOf((traffic) => traffic.ok_latency_ms?.mean),
    percentiles_ms: PERCENTILES.map((share) => percentileOf(samples, share)),
    samples,
    phases_ms: PHASES.map((name) => medianOf((traffic) => traffic.phases_ms?.[name]?.p50)),
    // Of the successes, by block.
    p50_ms: new Map(trials.map(({ at, traffic }) => [at.block, traffic.ok_latency_ms?.p50 ?? Number.NaN])),
    isRefused: trials.some(isRefused),
    isGeneratorFull: isFullShare(median(trials.map(generatorShare))),
  }
}

/** @param {Records} trials of all ladders */
function rungsOf(trials) {
  const rungs = [...groupBy(trials, ({ load }) => String(load.connections))].map(([workers, own]) => {
    const rps = median(own.map(({ traffic }) => traffic.goodput_rps))
    return { workers: Number(workers), rps, refused_ratio: median(own.map(refusedRatio)) }
  })
  return rungs.sort((a, b) => a.workers - b.workers)
}

/**
 * The best rung of each ladder that ended as it should. Beyond a rung without a valid trial nothing is known. rising: the last
 * rung still brought more.
 * @param {Records} climbs of one side
 */
function maximaOf(climbs) {
  return [...groupBy(climbs, ({ at }) => String(at.block)).values()].flatMap((trials) => {
    const rungs = WORKERS.flatMap((workers) => {
      return trials.find((record) => record.load.connections === workers && isValid(record)) ?? []
    })
    const [before, last] = [rungs.at(-2), rungs.at(-1)].map((rung) => rung?.traffic.goodput_rps ?? 0)
    const rising = last > 0 && last >= GAIN * before
    const isWhole = rungs.length === new Set(trials.map(({ load }) => load.connections)).size
    const isOver = !rising || rungs.length === WORKERS.length
    if (rungs.length === 0 || !isWhole || !isOver) return []
    const best = rungs.reduce((one, other) => (other.traffic.goodput_rps > one.traffic.goodput_rps ? other : one))
    const { at, traffic, load } = best
    const generator_share = generatorShare(best)
    return [{ block: at.block, rps: traffic.goodput_rps, workers: load.connections, generator_share, rising }]
  })
}

/** Why a side's maximum is a lower bound of what it can do; null: it is not, or there is none. @param {ReturnType<typeof maximaOf>} maxima */
function boundOf(maxima) {
  if (isFullShare(median(maxima.map(({ generator_share }) => generator_share)))) return 'the generator was the limit'
  const rising = maxima.filter((maximum) => maximum.rising)
  if (maxima.length === 0 || 2 * rising.length <= maxima.length) return null
  return `the last rung, ${rising[0].workers} workers, still brought more`
}

/** From which rate on a side fails requests, and how. @param {ComparePlan} plan @param {Records} own @param {Name} side */
function refusalOf(plan, own, side) {
  if (plan.mix.entries) return { searched: false, capacity: null, failure: null }
  const { capacity } = capacityOf('limit', { side }, searchPlan(plan, side), own)
  const failed = own.filter(({ at, outcome }) => at.of === 'limit' && outcome.verdict === 'fail')
  const failures = Object.entries(answersOf(failed)).filter(([key]) => !/^2\d\d$/.test(key))
  const [failure = null] = failures.sort(([, a], [, b]) => b - a)[0] ?? []
  return { searched: true, capacity, failure }
}

/** @param {Records} records */
function answersOf(records) {
  /** @type {Record<string, number>} */
  const answers = {}
  for (const { traffic } of records) {
    for (const [key, number] of Object.entries({ ...traffic.status, ...traffic.errors })) {
      answers[key] = (answers[key] ?? 0) + number
    }
  }
  return answers
}

/** Shares of the samples of A and of B in each bucket; no bucket: too few samples. @param {Samples[]} samples */
function histogramsOf(samples) {
  const known_ms = samples.flatMap((own) => [
    percentileOf(own, 0.001) ?? percentileOf(own, 0.1) ?? [],
    percentileOf(own, 0.99) ?? percentileOf(own, 0.9) ?? [],
  ])
  const [from_ms, to_ms] = [Math.min(...known_ms.flat()), Math.max(...known_ms.flat())]
  if (known_ms.flat().length === 0) return { from_ms: [], shares: [] }
  const starts_ms = Array.from(
    { length: HISTOGRAM_BUCKETS },
    (_, i) => from_ms + (i * (to_ms - from_ms)) / HISTOGRAM_BUCKETS,
  )
  const range = { from_ms, to_ms, count: HISTOGRAM_BUCKETS }
  return { from_ms: starts_ms, shares: samples.map((own) => histogramOf(own, range)) }
}
