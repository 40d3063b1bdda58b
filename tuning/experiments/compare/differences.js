import { pairedRatio, ratioText } from '../../stats/effects.js'

/** @import { Level, SideFindings } from './findings.js' */

/** Of the whole answer: each of its tests gets an equal share (Bonferroni), so that two equals are tied in 19 of 20 runs. */
const ERROR_RATE = 0.05

/**
 * @typedef {ReturnType<typeof judged>} Difference the ratio of B to A in one figure.
 *   ratio: NaN if no block has both; high: infinite if there are too few blocks; because: why the figure does not tell the
 *   services apart; verdict: null if there is a because, or too few blocks
 */

/**
 * The differences on which the answer rests: the median latency of successes at each concurrency, and the maximum rate.
 * @param {Level[][]} levels of A and B @param {SideFindings[]} sides @returns {Difference[]}
 */
export function differencesOf(levels, sides) {
  const confidence = 1 - ERROR_RATE / (levels.length + 1)
  const rates = sides.map(({ maxima, bound }) => new Map(bound ? [] : maxima.map(({ block, rps }) => [block, rps])))
  const bounded = sides.flatMap(({ name, bound }) => (bound ? [`${name}: ${bound.because}`] : []))
  const maximum = pairedRatio(rates[0], rates[1], confidence)
  return [
    ...levels.map((both) => latencyDifference(both, confidence)),
    judged(maximum, { about: 'maximum rate', better: 'more', refused: [], bounded }),
  ]
}

/** @param {Level[]} both @param {number} confidence */
function latencyDifference(both, confidence) {
  const found = pairedRatio(both[0].p50_ms, both[1].p50_ms, confidence)
  const refused = both.filter(({ isRefused }) => isRefused).map(({ name }) => name)
  const full = both.filter(({ isGeneratorFull }) => isGeneratorFull).map(({ name }) => name)
  // A full generator adds the same latency to both sides: a difference in spite of it is real, but a tie may be due to it.
  const isDoubtful = found.tied && Number.isFinite(found.high) && full.length > 0
  const bounded = isDoubtful ? [`the generator was the limit of ${full.join(' and ')}`] : []
  return judged(found, { about: `p50 at ${both[0].workers}`, better: 'less', refused, bounded })
}

/**
 * @param {ReturnType<typeof pairedRatio>} found
 * @param {{ about: string, better: 'less' | 'more', refused: string[], bounded: string[] }} figure refused: sides that refused
 *   requests; bounded: how the lab limited it
 */
function judged(found, figure) {
  const { better, refused, bounded } = figure
  const refusal = refused.length > 0 ? [`${refused.join(' and ')} refused requests`] : []
  const because = [...refusal, ...bounded].join('; ')
  const isBetter = found.ratio > 1 === (better === 'more')
  const known = found.tied ? 'tied' : `B is ${isBetter ? 'better' : 'worse'}`
  return { ...found, ...figure, because, verdict: because === '' && Number.isFinite(found.high) ? known : null }
}

/** The answer in a sentence. @param {Difference[]} differences */
export function answerSentence(differences) {
  const known = differences.filter(({ verdict }) => verdict !== null)
  const left = differences.filter(({ because }) => because !== '')
  const listed = left.map(({ about, because }) => `${about} (${because})`).join(', ')
  const apart = left.length > 0 ? ` Not compared: ${listed}.` : ''
  if (known.length === 0) return `${nothingSentence(differences)}${apart}`
  const ties = known.filter(({ tied }) => tied).map(({ about }) => about)
  if (ties.length === known.length) return `Tied: nothing tells A from B (${ties.join(', ')}).${apart}`
  const parts = known
    .filter(({ tied }) => !tied)
    .map((difference) => `${difference.verdict} than A in ${difference.about}: ${ratioText(difference)}`)
  return `${parts.join('; ')}${ties.length > 0 ? `; tied in ${ties.join(', ')}` : ''}.${apart}`
}

/** @param {Difference[]} differences none of them with a verdict */
function nothingSentence(differences) {
  const few = differences.filter(({ because }) => because === '').map(({ about }) => about)
  const latencies = differences.filter(({ better }) => better === 'less')
  if (latencies.every(({ refused }) => refused.length > 0)) {
    const who = [...new Set(latencies.flatMap(({ refused }) => refused))].sort().join(' and ')
    const rest = few.length > 0 ? `, and there are too few blocks for the ${few.join(', ')}` : ''
    return `Nothing tells A from B: ${who} refused requests at every concurrency${rest}.`
  }
  return few.length > 0 ? 'Too few blocks to tell A from B.' : 'Nothing was measured that tells A from B.'
}
