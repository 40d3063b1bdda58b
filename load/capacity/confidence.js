import { roundOutwards } from './rates.js'

/** @import { SearchTrial } from './search.js' */

/**
 * A trial at x = ln(rate) passes with probability LUCK + (1 - STALL - LUCK) / (1 + exp((x - capacity) / spread)): a logistic
 * curve around the capacity, with a lapse rate for stalls that make a trial fail at any rate (a psychometric function,
 * Watson & Pelli 1983, "QUEST").
 */
const STALL = 0.04
const LUCK = 0.005
/** Candidate widths of the band in which verdicts are noisy, equally likely before the first trial. */
const SPREADS = [0.005, 0.01, 0.02, 0.04, 0.08]
/** Candidate standard deviations of a random step of ln(capacity) between trials; we estimate the capacity at the last one. */
const DRIFTS = [0, 0.01]
/** Standard deviation of a logistic distribution, as a multiple of its spread. */
const DEVIATION = Math.PI / Math.sqrt(3)
/** The model cannot support a higher confidence. */
const MOST = 0.99
/** The grid of candidate capacities, in ln(rate), extends this far beyond the rates tried. */
const BEYOND = 0.7
const STEP = 0.005

/**
 * An interval that contains the capacity with at least the wanted probability, given all verdicts and a flat prior. It starts from
 * the two rates that bound the capacity and widens if the trials contradict each other.
 * @param {{ low_rps: number | null, high_rps: number | null }} edges null: not bounded on that side
 * @param {Pick<SearchTrial, 'rate_rps' | 'verdict'>[]} trials valid ones in order, at least one @param {number} wanted probability
 */
export function intervalAround({ low_rps, high_rps }, trials, wanted) {
  const { first, weights } = capacitiesGiven(trials)
  const all = weights.reduce((sum, weight) => sum + weight, 0)
  const cellOf = (/** @type {number} */ rate_rps) => Math.round((Math.log(rate_rps) - first) / STEP)
  let from = low_rps === null ? 0 : cellOf(low_rps)
  let to = high_rps === null ? weights.length : cellOf(high_rps)
  let inside = weights.slice(from, to).reduce((sum, weight) => sum + weight, 0)
  const [wasFrom, wasTo] = [from, to]
  while (inside / all < wanted && (from > 0 || to < weights.length)) {
    if ((weights[from - 1] ?? -1) > (weights[to] ?? -1)) inside += weights[--from]
    else inside += weights[to++]
  }
  const rateAt = (/** @type {number} */ cell) => Math.exp(first + cell * STEP)
  return {
    low_rps: from === wasFrom || low_rps === null ? low_rps : roundOutwards(rateAt(from), 'down'),
    high_rps: to === wasTo || high_rps === null ? high_rps : roundOutwards(rateAt(to), 'up'),
    confidence: Math.min(MOST, Math.max(1 - MOST, Math.round((inside / all) * 100) / 100)),
  }
}

/** Likelihood of each capacity on a grid of ln(rate) that starts at `first`. @param {Pick<SearchTrial, 'rate_rps' | 'verdict'>[]} trials */
function capacitiesGiven(trials) {
  const tried = trials.map(({ rate_rps }) => Math.log(rate_rps))
  const first = Math.min(...tried) - BEYOND
  const cells = Math.ceil((Math.max(...tried) + BEYOND - first) / STEP)
  const weights = Array(cells).fill(0)
  for (const spread of SPREADS) {
    for (const drift of DRIFTS) {
      const spreads = trials.map((_, i) => {
        const steps = trials.length - 1 - i
        return Math.sqrt(spread ** 2 + (drift ** 2 * steps) / DEVIATION ** 2)
      })
      for (let cell = 0; cell < cells; cell++) {
        const capacity = first + (cell + 0.5) * STEP
        weights[cell] += trials.reduce((product, { verdict }, i) => {
          const passes = LUCK + (1 - STALL - LUCK) / (1 + Math.exp((tried[i] - capacity) / spreads[i]))
          return product * (verdict === 'pass' ? passes : 1 - passes)
        }, 1)
      }
    }
  }
  return { first, weights }
}
