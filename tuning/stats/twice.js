import { decimal } from '../../load/report/format.js'
import { meanOf, median } from '../../load/verdict/ranks.js'

/**
 * A comparison whose base is measured twice, and perhaps its head, too, so that the noise is known.
 * @typedef {{ apart: number, noise: number[] }} Pair of one block, as differences of logarithms; apart: of the head from the base, or of
 *   their means; noise: of the bases from each other, and of the heads
 * @typedef {{ ratio: number, low: number, high: number, noise_ratio: number, blocks: number }} Estimate head / base; noise_ratio: by which
 *   the base differs from itself in one of twenty blocks
 * @typedef {'same or better' | 'regressed' | 'undecided'} Verdict
 */

/**
 * Standard normal quantiles: two-sided 95 % for the figures; more for the verdicts, which are tested after each block: 97.5 % to find a
 * loss, and 99 % to exclude one.
 */
const Z = { figures: 1.96, worse: 2.241, same: 2.576 }

/** Minimum number of blocks for a verdict: with fewer, the spread is hardly known. */
export const LEAST_BLOCKS = 3

/** NaN if a figure is missing. @param {number[]} bases two @param {number[]} heads one or two @returns {Pair} */
export function pairOf(bases, heads) {
  const logs = [bases, heads].map((figures) => figures.map(Math.log))
  const noise = logs.filter(({ length }) => length === 2).map(([first, second]) => second - first)
  return { apart: meanOf(logs[1]) - meanOf(logs[0]), noise }
}

/**
 * Medians of the pairs of a block's parts; null if no pair is known.
 * @param {Record<string, number>[]} parts figures by name @param {string[]} bases names of two figures @param {string[]} heads names; those
 *   that a part lacks do not count @returns {Pair | null}
 */
export function typicalPair(parts, bases, heads) {
  const known = heads.filter((name) => parts.every((part) => name in part))
  const pairs = parts.map((part) => {
    const figureOf = (/** @type {string} */ name) => part[name]
    return pairOf(bases.map(figureOf), known.map(figureOf))
  })
  const apart = median(pairs.map((pair) => pair.apart))
  const noise = (pairs[0]?.noise ?? []).map((_, i) => median(pairs.map((pair) => pair.noise[i])))
  return Number.isFinite(apart) ? { apart, noise } : null
}

/** Share of the blocks that are ignored at either end: a noisy neighbour distorts some blocks by far more than the others differ. */
const TRIMMED_SHARE = 0.2

/**
 * The ratio of head to base by a trimmed mean, with an interval by Student's t from winsorized squares (Yuen 1974). All differences
 * share one variance s²: one head from two bases varies by 3/2 s², two heads by s², and two copies from each other by 2 s² around 0. So
 * n counted blocks have 2n - 1 degrees of freedom. With two heads there are n more differences, but they count for no more freedom:
 * whatever disturbs a block disturbs all that runs in it. Pure.
 * @param {Pair[]} pairs @param {keyof typeof Z} [purpose] @returns {Estimate}
 */
export function estimateOf(pairs, purpose = 'figures') {
  const { length: blocks } = pairs
  const trimmed = Math.floor(TRIMMED_SHARE * blocks)
  const counted = blocks - 2 * trimmed
  const copies = Math.min(...pairs.map(({ noise }) => noise.length))
  const copied = pairs[0].noise.slice(0, copies).map((_, i) => ascending(pairs.map(({ noise }) => noise[i])))
  const apart = ascending(pairs.map((pair) => pair.apart))
  const mean = meanOf(apart.slice(trimmed, blocks - trimmed))
  const share = 1 / 2 + 1 / copies
  const ofCopies = copied.reduce((sum, noise) => sum + squaresOf(winsorized(noise, trimmed), 0) / 2, 0)
  const squares = squaresOf(winsorized(apart, trimmed)) / share + ofCopies
  const deviation = Math.sqrt(squares / ((1 + copies) * counted - 1))
  const error = deviation * Math.sqrt(share / counted)
  const half = blocks < 2 ? Number.POSITIVE_INFINITY : quantile(Z[purpose], 2 * counted - 1) * error
  const [ratio, low, high] = [mean, mean - half, mean + half].map(Math.exp)
  return { ratio, low, high, noise_ratio: Math.exp(Z.figures * deviation * Math.SQRT2), blocks }
}

/** `1.058 [1.032–1.085]` @param {Pick<Estimate, 'ratio' | 'low' | 'high'>} estimate */
export function ratioText({ ratio, low, high }) {
  const [one, from, to] = [ratio, low, high].map((value) => decimal(value, 3))
  return Number.isFinite(high) ? `${one} [${from}–${to}]` : one
}

/** @param {number[]} values */
function ascending(values) {
  return values.toSorted((a, b) => a - b)
}

/** Replaces each extreme value with the nearest one that is not extreme. @param {number[]} sorted @param {number} trimmed at either end */
function winsorized(sorted, trimmed) {
  const [least, most] = [sorted[trimmed], sorted[sorted.length - 1 - trimmed]]
  return sorted.map((value) => Math.min(Math.max(value, least), most))
}

/** @param {number[]} values @param {number} [from] */
function squaresOf(values, from = meanOf(values)) {
  return values.reduce((sum, value) => sum + (value - from) ** 2, 0)
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
 * The verdict so far: `regressed` if worse by more than the tolerance, `same or better` if worse by at most the tolerance, `undecided`
 * as long as the interval does not tell which. Pure.
 * @param {Pair[]} pairs @param {{ tolerance_ratio: number, isBetter: 'less' | 'more' }} how @returns {Verdict}
 */
export function verdictOf(pairs, { tolerance_ratio, isBetter }) {
  if (pairs.length < LEAST_BLOCKS) return 'undecided'
  const [worse, same] = [estimateOf(pairs, 'worse'), estimateOf(pairs, 'same')]
  const [least, most] = isBetter === 'less' ? [worse.low, same.high] : [1 / worse.high, 1 / same.low]
  if (least > 1 + tolerance_ratio) return 'regressed'
  return most <= 1 + tolerance_ratio ? 'same or better' : 'undecided'
}

/**
 * Number of blocks that it would take to decide, if nothing else changed.
 * @param {Pair[]} pairs @param {{ tolerance_ratio: number, isBetter: 'less' | 'more' }} how
 */
export function blocksToDecide(pairs, { tolerance_ratio, isBetter }) {
  const { ratio, low, high, blocks } = estimateOf(pairs, 'same')
  const half = Math.log(high / low) / 2
  const worse = isBetter === 'less' ? Math.log(ratio) : -Math.log(ratio)
  const margin = Math.abs(worse - Math.log(1 + tolerance_ratio))
  return Number.isFinite(half) && margin > 0 ? Math.ceil(blocks * (half / margin) ** 2) : Number.POSITIVE_INFINITY
}
