import { labelOf } from '../../knobs/sides.js'
import { capacityOf } from '../../stats/capacity-of.js'
import { generatorShare, isFullShare } from '../../stats/generator-share.js'
import { median } from '../../stats/ranks.js'
import { fitLaw } from '../../stats/usl.js'
import { isRefused, refusedRatio, refuses, SIDES, searchPlan, trialsOf } from './design.js'
import { boundOf, differencesOf, maximaOf, problemOf } from './differences.js'
import { histogramOf, percentileOf, samplesOf } from './samples.js'
import { answerSentence } from './sentences.js'

/**
 * @import { ComparePlan, Name, Records } from './design.js'
 */

export const PERCENTILES = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]
export const PHASES = ['dns', 'connect', 'tls', 'write', 'wait', 'read']
const HISTOGRAM_BUCKETS = 11

/**
 * Figures are medians of the blocks; NaN where nothing was measured.
 *
 * @typedef {ReturnType<typeof findingsOf>} CompareFindings
 * @typedef {CompareFindings['sides'][number]} SideFindings
 * @typedef {SideFindings['levels'][number]} Level
 * @typedef {CompareFindings['histograms'][number]} Histogram
 * @typedef {ReturnType<typeof refusalOf>} Refusal
 */

/** @param {ComparePlan} plan @param {Records} records */
export function findingsOf(plan, records) {
  const differences = differencesOf(plan, records)
  return {
    problem: problemOf(records),
    kept: { capacity: null, limit: null, differences, answer: answerSentence(differences) },
    plan,
    differences,
    sides: SIDES.map((side) => sideFindings(plan, records, side)),
    histograms: plan.concurrency.map((workers) => histogramAt(records, workers)),
  }
}

/** @param {ComparePlan} plan @param {Records} records @param {Name} side */
function sideFindings(plan, records, side) {
  const maxima = maximaOf(records, side)
  const because = boundOf(maxima)
  const points = plan.concurrency.flatMap((workers) =>
    trialsOf(records, side, 'latency', workers)
      .filter((record) => !isRefused(record) && !isFullShare(generatorShare(record)))
      .map(({ traffic }) => ({ concurrency: workers, rps: traffic.goodput_rps })),
  )
  return {
    name: side.toUpperCase(),
    label: labelOf(plan.sides[side]),
    levels: plan.concurrency.map((workers) => levelOf(workers, trialsOf(records, side, 'latency', workers))),
    rungs: rungsOf(trialsOf(records, side, 'maximum')),
    bound: because === null ? null : { rps: median(maxima.map(({ rps }) => rps)), because },
    refusal: refuses(records, side) ? refusalOf(plan, records, side) : null,
    law: fitLaw(points.filter(({ rps }) => rps > 0)),
    most_workers: Math.max(...points.map(({ concurrency }) => concurrency)),
    answers: answersOf(records.filter(({ cell }) => cell.side === side)),
  }
}

/** @param {number} workers @param {Records} trials */
function levelOf(workers, trials) {
  const samples = samplesOf(trials)
  const phase = (/** @type {string} */ name) => {
    return median(trials.map(({ traffic }) => /** @type {any} */ (traffic).phases_ms?.[name]?.p50 ?? Number.NaN))
  }
  return {
    workers,
    rps: median(trials.map(({ traffic }) => traffic.goodput_rps)),
    mean_ms: median(trials.map(({ traffic }) => traffic.ok_latency_ms?.mean ?? Number.NaN)),
    percentiles_ms: PERCENTILES.map((share) => percentileOf(samples, share)),
    samples: samples.total,
    phases_ms: PHASES.map(phase),
  }
}

/** @param {Records} trials of all ladders */
function rungsOf(trials) {
  const rungs = [...new Set(trials.map(({ load }) => load.connections))].sort((a, b) => a - b)
  return rungs.map((workers) => {
    const own = trials.filter(({ load }) => load.connections === workers)
    const rps = median(own.map(({ traffic }) => traffic.goodput_rps))
    return { workers, rps, refused_ratio: median(own.map(refusedRatio)) }
  })
}

/** From which rate on a side fails requests, and how. @param {ComparePlan} plan @param {Records} records @param {Name} side */
function refusalOf(plan, records, side) {
  if (plan.mix.entries) return { searched: false, capacity: null, failure: null }
  const { capacity } = capacityOf('limit', { side }, searchPlan(plan, side), records)
  const failed = records.filter(({ cell, at, outcome }) => {
    return cell.side === side && at.of === 'limit' && outcome.verdict === 'fail'
  })
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

/** Shares of the samples of A and of B in each bucket; no bucket: too few samples. @param {Records} records @param {number} workers */
function histogramAt(records, workers) {
  const samples = SIDES.map((side) => samplesOf(trialsOf(records, side, 'latency', workers)))
  const ends_ms = samples.flatMap((own) => [
    percentileOf(own, 0.001) ?? percentileOf(own, 0.1) ?? [],
    percentileOf(own, 0.99) ?? percentileOf(own, 0.9) ?? [],
  ])
  const known_ms = ends_ms.flat()
  if (known_ms.length === 0) return { workers, from_ms: [], shares: [] }
  const range = { from_ms: Math.min(...known_ms), to_ms: Math.max(...known_ms), count: HISTOGRAM_BUCKETS }
  const width_ms = (range.to_ms - range.from_ms) / range.count
  const from_ms = Array.from({ length: range.count }, (_, i) => range.from_ms + i * width_ms)
  return { workers, from_ms, shares: samples.map((own) => histogramOf(own, range)) }
}
