import { pairedRatio } from '../../stats/effects.js'

/** @import { Level, SideFindings } from './findings.js' */

/** Of the whole answer: each of its tests gets its share (Bonferroni), so that two equals are tied in 19 of 20 runs. */
const ERROR_RATE = 0.05

/** Figures that are no measure of a service are not compared. @type {Map<number, number>} */
const NONE = new Map()

/**
 * @typedef {ReturnType<typeof maximumDifference>} Difference what B is to A by one figure.
 *   ratio: typical of the blocks, NaN without a block that has both; high: infinite where there are too few; refused: sides that
 *   refused requests there, so that those that were left are faster; bounded: why the figure is not the services'
 */

/**
 * The differences on which the answer rests: the median latency of the successes at each concurrency, and the maximum
 * rate. Pure.
 * @param {SideFindings[]} sides A and B @returns {Difference[]}
 */
export function differencesOf(sides) {
  const { levels } = sides[0]
  const confidence = 1 - ERROR_RATE / (levels.length + 1)
  return [...levels.map((_, i) => latencyDifference(sides, i, confidence)), maximumDifference(sides, confidence)]
}

/** The answer in a sentence. @param {Difference[]} differences */
export function answerSentence(differences) {
  const known = differences.filter(isKnown)
  const left = differences.filter((difference) => reasonsOf(difference) !== '')
  const listed = left.map((one) => `${one.about} (${reasonsOf(one)})`).join(', ')
  const apart = left.length > 0 ? ` Not compared: ${listed}.` : ''
  if (known.length === 0) return `${nothingSentence(differences)}${apart}`
  const found = known.filter(({ tied }) => !tied)
  const ties = known.filter(({ tied }) => tied).map(({ about }) => about)
  if (found.length === 0) return `Tied: nothing tells A from B (${ties.join(', ')}).${apart}`
  const parts = found.map((difference) => {
    const { about, ratio, low, high } = difference
    const word = isBetter(difference) ? 'better' : 'worse'
    return `B is ${word} than A in ${about}: ${ratio.toFixed(2)}x [${low.toFixed(2)}–${high.toFixed(2)}]`
  })
  return `${parts.join('; ')}${ties.length > 0 ? `; tied in ${ties.join(', ')}` : ''}.${apart}`
}

/** @param {Difference[]} differences none of them a verdict */
function nothingSentence(differences) {
  const few = differences.filter((difference) => reasonsOf(difference) === '').map(({ about }) => about)
  const latencies = differences.filter(({ better }) => better === 'less')
  if (latencies.length > 0 && latencies.every(({ refused }) => refused.length > 0)) {
    const who = [...new Set(latencies.flatMap(({ refused }) => refused))].sort().join(' and ')
    const rest = few.length > 0 ? `, and there are too few blocks for the ${few.join(', ')}` : ''
    return `Nothing tells A from B: ${who} refused requests at every concurrency${rest}.`
  }
  return few.length > 0 ? 'Too few blocks to tell A from B.' : 'Nothing was measured that tells A from B.'
}

/** Why a difference is no verdict; empty: it is one, or there were too few blocks. @param {Difference} difference */
export function reasonsOf({ refused, bounded }) {
  return [...(refused.length > 0 ? [`${refused.join(' and ')} refused requests`] : []), ...bounded].join('; ')
}

/** Whether there is an interval that says something about the services. @param {Difference} difference */
export function isKnown(difference) {
  return Number.isFinite(difference.high) && reasonsOf(difference) === ''
}

/** @param {Difference} difference that is not tied */
export function isBetter({ ratio, better }) {
  return ratio > 1 === (better === 'more')
}

/** @param {SideFindings[]} sides @param {number} i which level @param {number} confidence */
function latencyDifference(sides, i, confidence) {
  const [a, b] = sides.map(({ levels }) => levels[i])
  const named = (/** @type {(level: Level) => boolean} */ is) => {
    return sides.filter(({ levels }) => is(levels[i])).map(({ name }) => name)
  }
  const refused = named(({ isRefused }) => isRefused)
  const full = named(({ isGeneratorFull }) => isGeneratorFull)
  const found = pairedRatio(refused.length > 0 ? NONE : a.p50_ms, b.p50_ms, confidence)
  // A full generator adds the same latency to both sides. A difference in spite of it is real; a tie may be due to it.
  const isTie = found.tied && Number.isFinite(found.high)
  const bounded = isTie && full.length > 0 ? [`the generator was the limit of ${full.join(' and ')}`] : []
  return { ...found, about: `p50 at ${a.workers}`, better: 'less', refused, bounded }
}

/** @param {SideFindings[]} sides @param {number} confidence */
function maximumDifference(sides, confidence) {
  const bounded = sides.flatMap(({ name, bound }) => (bound ? [`${name}: ${bound.because}`] : []))
  const [a, b] = sides.map(({ maxima }) => new Map(maxima.map(({ block, rps }) => [block, rps])))
  const found = pairedRatio(bounded.length > 0 ? NONE : a, b, confidence)
  return { ...found, about: 'maximum rate', better: 'more', refused: /** @type {string[]} */ ([]), bounded }
}
