import { isValid } from '../../../load/capacity/ladder.js'
import { median } from '../../../load/verdict/ranks.js'
import { groupBy } from '../../stats/design.js'
import { LEAST_BLOCKS, typicalPair, verdictOf } from '../../stats/twice.js'

/**
 * @import { TrialRecord } from '../../../load/report/record.js'
 * @import { Pair, Verdict } from '../../stats/twice.js'
 * @typedef {{ name: string, of: (record: TrialRecord, side: string) => number | null | undefined, phase: 'together' | 'cost' | 'latency',
 *   isBetter: 'less' | 'more' }} Criterion of: a side's figure in a trial
 */

/** The base runs twice: the difference between its two runs is the noise of this machine today. */
const BASES = ['base', 'again']
/** Two copies of the head where all are loaded at once; in turns, only the first. */
export const HEADS = ['head', 'head again']
export const TOGETHER = [...BASES, ...HEADS]
export const SIDES = [...BASES, HEADS[0]]

/**
 * Criteria of the comparison; the first one with enough figures decides. If all sides are loaded at once, a change in the
 * core's speed affects all of them.
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

/** CPU cost of a request on each side, in each part of a trial of all sides. @param {any} probes @returns {Record<string, number>[]} */
function windowsOf({ target }) {
  return target?.cpu_us_per_request ?? []
}

/** A figure of the side that a trial is about. @param {(record: TrialRecord) => number | null | undefined} of @returns {Criterion['of']} */
function ofOwn(of) {
  return (record, side) => (record.cell.side === side ? of(record) : null)
}

/** Rounds of turns once the verdict is known: earlier, they would only delay it. */
export const INFORMING_ROUNDS = 2
/** Share of a side's requests that must succeed for its figures to describe the same work: an error is cheap. */
const LEAST_SUCCESS = 0.99

/** The blocks in which all sides have a figure. @param {TrialRecord[]} records @param {Criterion} criterion @returns {Pair[]} */
export function pairsOf(records, criterion) {
  return blocksOf(usable(records, criterion)).flatMap((own) => {
    // Anything that happens to the core in a second affects all sides, so each second is compared on its own.
    const parts =
      criterion.phase === 'together'
        ? own.flatMap(({ probes }) => windowsOf(probes))
        : [Object.fromEntries(SIDES.map((side) => [side, typicalOf(own, criterion, side)]))]
    return typicalPair(parts, BASES, HEADS) ?? []
  })
}

/** Median of a side's figures. @param {TrialRecord[]} records @param {Criterion} criterion @param {string} side */
export function typicalOf(records, criterion, side) {
  const figures = usable(records, criterion).map((record) => Number(criterion.of(record, side)))
  return median(figures.filter((figure) => figure > 0))
}

/** @param {TrialRecord[]} records @param {Criterion} criterion */
function usable(records, { phase }) {
  return records.filter((record) => {
    return record.at.phase === phase && isValid(record) && TOGETHER.every((side) => !isFailing(record, side))
  })
}

/** Share of requests that a side answered successfully: the median over the trials that loaded it. @param {TrialRecord[]} records @param {string} side */
export function successOf(records, side) {
  const own = ofOwn(({ traffic }) => traffic.success_ratio)
  return median(records.map((record) => own(record, side) ?? record.beside?.success_ratios?.[side]))
}

/** @param {TrialRecord} record @param {string} side */
function isFailing(record, side) {
  return successOf([record], side) < LEAST_SUCCESS
}

/** @param {TrialRecord[]} records */
function blocksOf(records) {
  return [...groupBy(records, ({ at }) => String(at.block)).values()]
}

/** The trials in which the head failed requests, if such trials of all sides are valid; none if a base failed requests, too. @param {TrialRecord[]} block */
function brokenIn(block) {
  const valid = block.filter(isValid)
  const [bases, heads] = [BASES, HEADS].map((sides) => {
    return valid.filter((record) => sides.some((side) => isFailing(record, side)))
  })
  const isSeen = (/** @type {TrialRecord} */ { at }) => {
    const alike = valid.filter((record) => record.at.phase === at.phase)
    return SIDES.every((side) => successOf(alike, side) >= 0)
  }
  return bases.length > 0 ? [] : heads.filter(isSeen)
}

/** The trials that the verdict is made of: those after it only inform, unless the head fails in them. @param {TrialRecord[]} records */
export function decidingOf(records) {
  return records.filter(({ at }) => !at.informs)
}

/**
 * The verdict of the trials so far, and the criterion behind it. A head that fails requests where the base does not has regressed, even
 * if its requests cost little. Pure.
 * @param {TrialRecord[]} all @param {number} tolerance_ratio
 * @returns {{ criterion: Criterion, pairs: Pair[], verdict: Verdict, broken: TrialRecord[] }} broken: the trials that decided because
 *   the head failed requests in them
 */
export function decisionOf(all, tolerance_ratio) {
  const records = decidingOf(all)
  const criterion = criterionOf(records)
  const pairs = pairsOf(records, criterion)
  const verdict = verdictOf(pairs, { tolerance_ratio, isBetter: criterion.isBetter })
  const broken = blocksOf(all).map(brokenIn)
  const rounds = blocksOf(all.filter(({ at }) => at.informs)).map(brokenIn)
  // Some services fail only at a high load, which is not offered before the verdict.
  const failsLater = rounds.length === INFORMING_ROUNDS && rounds.every(({ length }) => length > 0)
  const failing = broken.filter(({ length }) => length > 0).length
  const isBroken = verdict !== 'regressed' && (failsLater || failing >= LEAST_BLOCKS)
  return { criterion, pairs, verdict: isBroken ? 'regressed' : verdict, broken: isBroken ? broken.flat() : [] }
}

/**
 * The criterion that decides: the first with figures from half of the blocks, or else from any block. If all sides are loaded at once, a
 * head that takes the whole core leaves none to the base; then the turns decide.
 * @param {TrialRecord[]} records
 */
export function criterionOf(records) {
  const known = CRITERIA.map((criterion) => ({ criterion, blocks: pairsOf(records, criterion).length }))
  const all = new Set(records.flatMap(({ at }) => at.block ?? [])).size
  const found = [all / 2, 1].flatMap((least) => known.find(({ blocks }) => blocks >= Math.max(1, least)) ?? [])
  return (found[0] ?? known[1]).criterion
}
