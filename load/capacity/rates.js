/** @import { Level } from './levels.js' */

/** Significant digits of a rate; rounding lets repeats use the same rate. */
const DIGITS = 3
/** Rounding error of a rate that was computed from its logarithm, in units of the last digit. */
const SLIP = 1e-9
/** Distance between a new rate and the estimate, in widths of the bracket wanted. */
const ASIDE = 0.45
/** Minimum bracket, as a share of the width wanted; a narrower one would only risk excluding the capacity. */
const FULL = 0.95
/** Each trial removes at least this share of the bracket, whatever its verdict. */
const FAIR_SHARE = 0.25

/**
 * Picks a rate inside a bracket: next to the estimated capacity, on the side that holds more of the bracket. Two such rates
 * leave a bracket of the width wanted, centred on the estimate, where both edges are easy to decide. A rate at the estimate
 * itself would be a coin toss. Returns null if the bracket is narrow enough, or contains no further rate.
 * @param {Level[]} levels @param {Level} low passes @param {Level} top fails, or was abandoned
 * @param {number} width wanted, in ln(rate)
 */
export function rateInside(levels, low, top, width) {
  const [from, to] = [Math.log(low.rate_rps), Math.log(top.rate_rps)]
  const kept = top.kept_rps === null ? null : Math.log(top.kept_rps)
  // What the target kept up with is its capacity: neither edge may be farther from it than half the width.
  const isKnown = kept !== null && kept > from - width / 2 && kept < to
  const crossing = crossingOf(levels.filter(({ verdict }) => verdict !== 'unknown')) ?? to
  const estimate = Math.min(to, kept === null ? crossing : Math.max(from, kept))
  const isLopsided = isKnown && Math.max(to - estimate, estimate - from) > width / 2
  if (to - from <= width && !isLopsided) return null
  const rate_rps = roundRate(Math.exp(beside(estimate, from, to, width, isKnown ? 0 : FULL * width)))
  const inside = Math.min(top.rate_rps - 1, Math.max(low.rate_rps + 1, rate_rps))
  return inside > low.rate_rps ? inside : null
}

/** All values are ln(rate). @param {number} estimate @param {number} from @param {number} to @param {number} width @param {number} least width @returns {number} */
function beside(estimate, from, to, width, least) {
  if (estimate - from < to - estimate) return -beside(-estimate, -to, -from, width, least)
  const fair = FAIR_SHARE * (to - from)
  const wanted = Math.min(estimate - ASIDE * width, to - least)
  const isNarrowThen = to - wanted <= width
  return Math.min(to - fair, isNarrowThen ? wanted : Math.max(from + fair, wanted))
}

/** Rounds to three significant digits and a whole number, at least 1. @param {number} rate_rps */
export function roundRate(rate_rps) {
  return Math.max(1, Math.round(Number(rate_rps.toPrecision(DIGITS))))
}

/** Rounds to three significant digits and a whole number, but never inwards: an end of an interval. @param {number} rate_rps @param {'down' | 'up'} direction */
export function roundOutwards(rate_rps, direction) {
  const unit = Math.max(1, 10 ** (Math.floor(Math.log10(rate_rps)) + 1 - DIGITS))
  const units = rate_rps / unit
  return Math.max(1, unit * (direction === 'down' ? Math.floor(units + SLIP) : Math.ceil(units - SLIP)))
}

/** ln(rate) at which the isotonic fit of the scores crosses 0 (as in aiperf's smooth_isotonic); null if it does not. @param {Level[]} levels rising */
function crossingOf(levels) {
  const fit = isotonicFit(levels.map(({ score, votes }) => ({ value: score, weight: votes })))
  const above = fit.findIndex((value) => value >= 0)
  if (above <= 0) return null
  const [x0, x1] = [above - 1, above].map((i) => Math.log(levels[i].rate_rps))
  const [y0, y1] = [fit[above - 1], fit[above]]
  return x0 + ((x1 - x0) * -y0) / (y1 - y0)
}

/**
 * Fits a non-decreasing sequence by weighted least squares, with the pool-adjacent-violators algorithm (Ayer et al. 1955;
 * Barlow et al. 1972, section 1.2).
 * @param {{ value: number, weight: number }[]} points in the order in which their values should rise; weights above 0
 */
export function isotonicFit(points) {
  /** @type {{ value: number, weight: number, size: number }[]} */
  const blocks = []
  for (const point of points) {
    const block = { ...point, size: 1 }
    for (let last = blocks.at(-1); last && last.value >= block.value; last = blocks.at(-1)) {
      blocks.pop()
      const weight = last.weight + block.weight
      block.value = (last.value * last.weight + block.value * block.weight) / weight
      block.weight = weight
      block.size += last.size
    }
    blocks.push(block)
  }
  return blocks.flatMap(({ value, size }) => Array(size).fill(value))
}
