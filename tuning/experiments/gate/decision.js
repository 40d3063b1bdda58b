import { isValid } from '../../../load/capacity/ladder.js'
import { median } from '../../../load/verdict/ranks.js'
import { groupBy } from '../../stats/design.js'

/**
 * @import { TrialRecord } from '../../../load/report/record.js'
 * @typedef {{ name: string, of: (record: TrialRecord, side: string) => number | null | undefined, phase: 'together' | 'cost' | 'latency',
 *   isBetter: 'less' | 'more' }} Criterion of: a side's figure in a trial
 * @typedef {{ apart: number, noise: number }} Pair of one block, as differences of logarithms: the head from the mean of both bases, and
 *   these from each other
 * @typedef {{ ratio: number, low: number, high: number, noise_ratio: number, blocks: number }} Estimate head / base; noise: by which the
 *   base differs from itself in one of twenty blocks
 * @typedef {'same or better' | 'regressed' | 'undecided'} Verdict
 */

/**
 * What is compared; the first of which figures are known decides. Where all sides are loaded at once, a core that changes
 * its speed does so for all of them.
 * @type {Criterion[]}
 */
export const CRITERIA = [
  { name: 'CPU per request', of: cpuOf, phase: 'together', isBetter: 'less' },
  { name: 'CPU per request', of: cpuOf, phase: 'cost', isBetter: 'less' },
  { name: 'throughput', of: ofOwn(({ traffic }) => traffic.goodput_rps), phase: 'cost', isBetter: 'more' },
  { name: 'p50', of: ofOwn(({ traffic }) => traffic.latency_ms?.p50), phase: 'latency', isBetter: 'less' },
  { name: 'p99', of: ofOwn(({ traffic }) => traffic.latency_ms?.p99), phase: 'latency', isBetter: 'less' },
  { name: 'memory', of: ofOwn(({ probes }) => probes.api?.rss_bytes), phase: 'latency', isBetter: 'less' },
]

/** @param {TrialRecord} record @param {string} side */
function cpuOf({ cell, probes }, side) {
  if (cell.side === side) return probes.api?.cpu_us_per_request
  return /** @type {any} */ (probes).target?.[`${side}_cpu_us_per_request`]
}

/** A figure of the side that a trial is about. @param {(record: TrialRecord) => number | null | undefined} of @returns {Criterion['of']} */
function ofOwn(of) {
  return (record, side) => (record.cell.side === side ? of(record) : null)
}

/** With fewer, the spread is hardly known. */
const LEAST_BLOCKS = 3
/** Share of the requests beside a trial that must have succeeded for its figures to be of the same load. */
const KEPT_UP_SHARE = 0.99
/** Standard normal quantiles: two-sided 95 %, for the figures; two-sided 99 %, for the verdict, which is looked for after each block. */
const Z = { figures: 1.96, verdict: 2.576 }

/** The blocks in which all sides have a figure. @param {TrialRecord[]} records @param {Criterion} criterion @returns {Pair[]} */
export function pairsOf(records, { of, phase }) {
  const known = records.filter((record) => record.at.phase === phase && isValid(record) && keptUp(record))
  return [...groupBy(known, ({ at }) => String(at.block)).values()].flatMap((own) => {
    const [base, again, head] = ['base', 'again', 'head'].map((side) => {
      const figures = own.map((record) => Number(of(record, side))).filter((figure) => figure > 0)
      return median(figures.map(Math.log))
    })
    const pair = { apart: head - (base + again) / 2, noise: again - base }
    return Number.isFinite(pair.apart) ? pair : []
  })
}

/** Whether the other sides answered nearly all that they were sent beside a trial. @param {TrialRecord} record */
function keptUp({ beside }) {
  return !beside || beside.ok >= KEPT_UP_SHARE * beside.planned
}

/**
 * The ratio of head to base, with an interval by Student's t. Both kinds of differences have one variance s²: the head's from two bases
 * has 3/2 s², that of the two bases 2 s² around 0. So the pooled estimate has 2n - 1 degrees of freedom after n blocks. Pure.
 * @param {Pair[]} pairs @param {keyof typeof Z} [purpose] @returns {Estimate}
 */
export function estimateOf(pairs, purpose = 'figures') {
  const { length: blocks } = pairs
  const mean = pairs.reduce((sum, { apart }) => sum + apart, 0) / blocks
  const squares = pairs.map(({ apart, noise }) => (apart - mean) ** 2 / 1.5 + noise ** 2 / 2)
  const freedom = 2 * blocks - 1
  const deviation = Math.sqrt(squares.reduce((sum, square) => sum + square, 0) / freedom)
  const half =
    blocks < 2 ? Number.POSITIVE_INFINITY : quantile(Z[purpose], freedom) * deviation * Math.sqrt(1.5 / blocks)
  const [ratio, low, high] = [mean, mean - half, mean + half].map(Math.exp)
  return { ratio, low, high, noise_ratio: Math.exp(Z.figures * deviation * Math.SQRT2), blocks }
}

/** Student's t from the normal quantile (Abramowitz and Stegun, 26.7.5). @param {number} z @param {number} freedom */
function quantile(z, freedom) {
  const terms = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
  ]
  return terms.reduce((sum, term, i) => sum + term / freedom ** (i + 1), z)
}

/**
 * The verdict so far. Worse by more than the tolerance: `regressed`; worse by at most that, if at all: `same or better`; as long as the
 * interval does not say which, `undecided`. Pure.
 * @param {Pair[]} pairs @param {{ tolerance_ratio: number, isBetter: Criterion['isBetter'] }} how @returns {Verdict}
 */
export function verdictOf(pairs, { tolerance_ratio, isBetter }) {
  if (pairs.length < LEAST_BLOCKS) return 'undecided'
  const { low, high } = estimateOf(pairs, 'verdict')
  const [least, most] = isBetter === 'less' ? [low, high] : [1 / high, 1 / low]
  if (least > 1 + tolerance_ratio) return 'regressed'
  return most <= 1 + tolerance_ratio ? 'same or better' : 'undecided'
}

/** The criterion that decides: the first of which any trial has figures. @param {TrialRecord[]} records */
export function criterionOf(records) {
  const known = CRITERIA.find(({ of, phase }) =>
    records.some((record) => record.at.phase === phase && Number(of(record, 'base')) > 0),
  )
  return known ?? CRITERIA[1]
}

/** Blocks that it would take to decide, if nothing but their number changed. @param {Pair[]} pairs @param {number} tolerance_ratio */
export function blocksToDecide(pairs, tolerance_ratio) {
  const { ratio, low, high, blocks } = estimateOf(pairs, 'verdict')
  const half = Math.log(high / low) / 2
  const margin = Math.abs(Math.abs(Math.log(ratio)) - Math.log(1 + tolerance_ratio))
  return Number.isFinite(half) && margin > 0 ? Math.ceil(blocks * (half / margin) ** 2) : Number.POSITIVE_INFINITY
}
