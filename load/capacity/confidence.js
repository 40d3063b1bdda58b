/** @import { SearchTrial } from './search.js' */

/**
 * A trial at x = ln(rate) passes with probability (1 - STALL) / (1 + exp((x - capacity) / spread)) + LUCK: a logistic
 * curve around the capacity, with a lapse rate for stalls that make a trial fail at any rate (a psychometric function,
 * Watson & Pelli 1983, "QUEST").
 */
const STALL = 0.04
const LUCK = 0.005
/** How wide the band is in which verdicts are noisy; each is as likely as the others before the first trial. */
const SPREADS = [0.005, 0.01, 0.02, 0.04]
const MOST = 0.99
/** The capacity is looked for on a grid of ln(rate) that reaches this far beyond the rates that were tried. */
const BEYOND = 0.7
const STEP = 0.01

/**
 * The probability that the capacity lies between two rates, given the verdicts of all trials and no opinion beforehand.
 *
 * @param {number | null} low_rps null: no lower bound
 * @param {number | null} high_rps null: no upper bound
 * @param {Pick<SearchTrial, 'rate_rps' | 'verdict'>[]} trials valid ones, at least one
 * @returns {number} 0.01 to 0.99: the model is not exact enough for more
 */
export function probabilityBetween(low_rps, high_rps, trials) {
  const tried = trials.map(({ rate_rps }) => Math.log(rate_rps))
  const from = Math.log(low_rps ?? 0)
  const to = Math.log(high_rps ?? Number.POSITIVE_INFINITY)
  let [inside, all] = [0, 0]
  for (let capacity = Math.min(...tried) - BEYOND; capacity < Math.max(...tried) + BEYOND; capacity += STEP) {
    for (const spread of SPREADS) {
      const weight = trials.reduce((product, { verdict }, i) => {
        const passes = LUCK + (1 - STALL - LUCK) / (1 + Math.exp((tried[i] - capacity) / spread))
        return product * (verdict === 'pass' ? passes : 1 - passes)
      }, 1)
      all += weight
      if (capacity >= from && capacity <= to) inside += weight
    }
  }
  return Math.min(MOST, Math.max(1 - MOST, Math.round((inside / all) * 100) / 100))
}
