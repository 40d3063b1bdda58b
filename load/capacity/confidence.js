import { meanOf } from '../verdict/ranks.js'
import { roundOutwards } from './rates.js'

/**
 * @import { SearchTrial } from './search.js'
 * @typedef {Pick<SearchTrial, 'rate_rps' | 'duration_s' | 'verdict' | 'score'>} Judged
 */

/**
 * A trial at x = ln(rate) passes with probability LUCK + (1 - STALL - LUCK) / (1 + exp((x - capacity) / spread)): a logistic
 * curve around the capacity, with a lapse rate for stalls that make a trial fail at any rate (a psychometric function,
 * Watson & Pelli 1983, "QUEST").
 */
const STALL = 0.04
const LUCK = 0.005
/** Candidate widths of the band in which verdicts are noisy; how likely each is before the first verdict, spreadOf() tells. */
const SPREADS = [0.005, 0.01, 0.02, 0.04, 0.08]
const [SHARPEST, WIDEST] = [SPREADS[0], SPREADS[SPREADS.length - 1]]
/** Standard deviation of ln(the true spread / what the scores tell of it). */
const SPREAD_ERROR = 0.8
/** Scores are cut off at 3 on either side: two beyond this that are alike do not tell that a service is quiet. */
const FAR = 2.5
/** A score that rises by less than this per ln(rate) says nothing about where the limit is. */
const LEAST_STEEP = 0.5
/** Trials up to this factor beyond the edges tell how steeply scores rise; farther away, the curve may be flat. */
const NEARBY = 4 / 3
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
 * the two rates that bound the capacity and widens if the trials contradict each other, or if the scores of repeats differ a lot.
 * @param {{ low_rps: number | null, high_rps: number | null }} edges null: not bounded on that side
 * @param {Judged[]} trials valid ones in order, at least one @param {number} wanted probability
 */
export function intervalAround({ low_rps, high_rps }, trials, wanted) {
  const { first, weights } = capacitiesGiven({ low_rps, high_rps }, trials)
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

/** Likelihood of each capacity on a grid of ln(rate) that starts at `first`. @param {{ low_rps: number | null, high_rps: number | null }} edges @param {Judged[]} trials */
function capacitiesGiven(edges, trials) {
  const tried = trials.map(({ rate_rps }) => Math.log(rate_rps))
  const first = Math.min(...tried) - BEYOND
  const cells = Math.ceil((Math.max(...tried) + BEYOND - first) / STEP)
  const weights = Array(cells).fill(0)
  const seen = spreadOf(edges, trials)
  for (const spread of SPREADS) {
    const prior = seen === null ? 1 : Math.exp(-((Math.log(spread / seen) / SPREAD_ERROR) ** 2) / 2)
    for (const drift of DRIFTS) {
      const likelihoods = new Float64Array(cells).fill(prior)
      for (const [i, { verdict }] of trials.entries()) {
        const width = Math.sqrt(spread ** 2 + (drift ** 2 * (trials.length - 1 - i)) / DEVIATION ** 2)
        const oddsAt = (/** @type {number} */ cell) => Math.exp((tried[i] - first - (cell + 0.5) * STEP) / width)
        // From cell to cell the odds fall by the same factor, which saves an exp() for each, unless they are too large for a number.
        const factor = Math.exp(-STEP / width)
        for (let cell = 0, odds = oddsAt(0); cell < cells; cell++) {
          const passes = LUCK + (1 - STALL - LUCK) / (1 + odds)
          likelihoods[cell] *= verdict === 'pass' ? passes : 1 - passes
          odds = odds < Number.MAX_VALUE ? odds * factor : oddsAt(cell + 1)
        }
      }
      for (let cell = 0; cell < cells; cell++) weights[cell] += likelihoods[cell]
    }
  }
  return { first, weights }
}

/**
 * The width of the noisy band that the scores tell: how far those of repeated trials differ, in units of ln(rate) by how steeply
 * scores rise around the edges. Verdicts alone hardly tell it: a few trials seldom contradict each other, even of a noisy
 * service.
 * @param {{ low_rps: number | null, high_rps: number | null }} edges
 * @param {Judged[]} trials @returns {number | null} null if too few trials were repeated
 */
function spreadOf({ low_rps, high_rps }, trials) {
  if (low_rps === null || high_rps === null) return null
  const isFar = (/** @type {Judged} */ { score }) => Math.abs(score) >= FAR
  const squares = trials.flatMap((one, i) =>
    trials
      .slice(i + 1)
      .filter((other) => other.rate_rps === one.rate_rps && other.duration_s === one.duration_s)
      .flatMap((other) => (isFar(one) && isFar(other) ? [] : (one.score - other.score) ** 2)),
  )
  if (squares.length < 2) return null
  const telling = trials.filter(({ rate_rps }) => rate_rps >= low_rps / NEARBY && rate_rps <= high_rps * NEARBY)
  const steepness = slopeOf(telling.map(({ rate_rps, score }) => [Math.log(rate_rps), score]))
  if (!(steepness > LEAST_STEEP)) return WIDEST
  // Two values with the same standard deviation differ by sqrt(2) times as much.
  const deviation = Math.sqrt(meanOf(squares) / 2)
  return Math.min(WIDEST, Math.max(SHARPEST, deviation / steepness / DEVIATION))
}

/** Slope of a straight line by least squares. @param {[x: number, y: number][]} points */
function slopeOf(points) {
  const [x0, y0] = [meanOf(points.map(([x]) => x)), meanOf(points.map(([, y]) => y))]
  return meanOf(points.map(([x, y]) => (x - x0) * (y - y0))) / meanOf(points.map(([x]) => (x - x0) ** 2))
}
