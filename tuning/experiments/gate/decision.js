import { isValid } from '../../../load/capacity/ladder.js'
import { median } from '../../../load/verdict/ranks.js'
import { groupBy } from '../../stats/design.js'
import { estimateOf, pairOf } from '../../stats/twice.js'

/**
 * @import { TrialRecord } from '../../../load/report/record.js'
 * @import { Pair } from '../../stats/twice.js'
 * @typedef {{ name: string, of: (record: TrialRecord, side: string) => number | null | undefined, phase: 'together' | 'cost' | 'latency',
 *   isBetter: 'less' | 'more' }} Criterion of: a side's figure in a trial
 * @typedef {'same or better' | 'regressed' | 'undecided'} Verdict
 */

/** The base runs twice: how far it differs from itself is the noise of this machine today. */
export const SIDES = ['base', 'again', 'head']

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
  return median(windowsOf(probes).map((window) => window[side]))
}

/** What a request cost each side in each part of a trial of all sides. @param {any} probes @returns {Record<string, number>[]} */
function windowsOf({ target }) {
  return target?.cpu_us_per_request ?? []
}

/** A figure of the side that a trial is about. @param {(record: TrialRecord) => number | null | undefined} of @returns {Criterion['of']} */
function ofOwn(of) {
  return (record, side) => (record.cell.side === side ? of(record) : null)
}

/** With fewer, the spread is hardly known. */
export const LEAST_BLOCKS = 3
/** Share of its requests that must have succeeded for a side's figures to be of the same work: an error is cheap. */
const LEAST_SUCCESS = 0.99

/** The blocks in which all sides have a figure. @param {TrialRecord[]} records @param {Criterion} criterion @returns {Pair[]} */
export function pairsOf(records, criterion) {
  return blocksOf(usable(records, criterion)).flatMap((own) => {
    // What happens to the core in a second happens to all sides, so each second is compared for itself.
    const parts =
      criterion.phase === 'together'
        ? own.flatMap(({ probes }) => windowsOf(probes))
        : [Object.fromEntries(SIDES.map((side) => [side, typicalOf(own, criterion, side)]))]
    const pairs = parts.map(pairOf)
    const [apart, noise] = [median(pairs.map((pair) => pair.apart)), median(pairs.map((pair) => pair.noise))]
    return Number.isFinite(apart) ? { apart, noise } : []
  })
}

/** A side's median. @param {TrialRecord[]} records @param {Criterion} criterion @param {string} side */
export function typicalOf(records, criterion, side) {
  const figures = usable(records, criterion).map((record) => Number(criterion.of(record, side)))
  return median(figures.filter((figure) => figure > 0))
}

/** @param {TrialRecord[]} records @param {Criterion} criterion */
function usable(records, { phase }) {
  return records.filter((record) => {
    return record.at.phase === phase && isValid(record) && SIDES.every((side) => !isFailing(record, side))
  })
}

/** Share of its requests that a side answered with success: the median of the trials that were about it. @param {TrialRecord[]} records @param {string} side */
export function successOf(records, side) {
  const known = records.map(({ cell, traffic, beside }) => {
    return cell.side === side ? traffic.success_ratio : beside?.success_ratios?.[side]
  })
  return median(known.filter((ratio) => ratio !== undefined))
}

/** @param {TrialRecord} record @param {string} side */
function isFailing(record, side) {
  return successOf([record], side) < LEAST_SUCCESS
}

/** @param {TrialRecord[]} records */
function blocksOf(records) {
  return [...groupBy(records, ({ at }) => String(at.block)).values()]
}

/** The trials of a block in which the head failed requests; none where a base did so, too. @param {TrialRecord[]} block */
function brokenIn(block) {
  const failing = SIDES.map((side) => block.filter((record) => isValid(record) && isFailing(record, side)))
  const [base, again, head] = failing
  return base.length + again.length > 0 ? [] : head
}

/**
 * The verdict of the trials so far, and by what. A head that fails requests where the base does not has regressed, however little they
 * cost. Pure.
 * @param {TrialRecord[]} records @param {number} tolerance_ratio
 * @returns {{ criterion: Criterion, pairs: Pair[], verdict: Verdict, broken: TrialRecord[] }} broken: trials that decided, since the head
 *   failed requests in them
 */
export function decisionOf(records, tolerance_ratio) {
  const criterion = criterionOf(records)
  const pairs = pairsOf(records, criterion)
  const verdict = verdictOf(pairs, { tolerance_ratio, isBetter: criterion.isBetter })
  const broken = blocksOf(records).map(brokenIn)
  const isBroken = verdict !== 'regressed' && broken.filter(({ length }) => length > 0).length >= LEAST_BLOCKS
  return { criterion, pairs, verdict: isBroken ? 'regressed' : verdict, broken: isBroken ? broken.flat() : [] }
}

/**
 * The verdict so far. Worse by more than the tolerance: `regressed`; worse by at most that, if at all: `same or better`; as long as the
 * interval does not say which, `undecided`. Pure.
 * @param {Pair[]} pairs @param {{ tolerance_ratio: number, isBetter: Criterion['isBetter'] }} how @returns {Verdict}
 */
export function verdictOf(pairs, { tolerance_ratio, isBetter }) {
  if (pairs.length < LEAST_BLOCKS) return 'undecided'
  const [worse, same] = [estimateOf(pairs, 'worse'), estimateOf(pairs, 'same')]
  const [least, most] = isBetter === 'less' ? [worse.low, same.high] : [1 / worse.high, 1 / same.low]
  if (least > 1 + tolerance_ratio) return 'regressed'
  return most <= 1 + tolerance_ratio ? 'same or better' : 'undecided'
}

/**
 * The criterion that decides: the first of which half of the blocks have figures, or else any block. Loaded at once, a head that takes the
 * whole core leaves none to the base; then the turns decide.
 * @param {TrialRecord[]} records
 */
export function criterionOf(records) {
  const known = CRITERIA.map((criterion) => ({ criterion, blocks: pairsOf(records, criterion).length }))
  const all = new Set(records.flatMap(({ at }) => at.block ?? [])).size
  const found = [all / 2, 1].flatMap((least) => known.find(({ blocks }) => blocks >= Math.max(1, least)) ?? [])
  return (found[0] ?? known[1]).criterion
}
