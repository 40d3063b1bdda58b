import { confidenceOfEach, pairedRatio, ratioText } from '../../stats/effects.js'
import { GENERATOR_FULL } from '../../stats/sound.js'

/** @import { Level, SideFindings } from './findings.js' */

/**
 * The differences on which the answer rests: the median latency of successes at each concurrency, and the maximum rate.
 * @param {Level[][]} levels of A and B @param {SideFindings[]} sides
 * @typedef {ReturnType<typeof judged>} Difference the ratio of B to A in one figure; because: the reason why it cannot compare
 *   the services, or empty; ratio: NaN if the lab or a refusal decided it, or no block has both; low and high: NaN with a reason
 */
export function differencesOf(levels, sides) {
  // The answer rests on all of them: two equal services tie in 19 of 20 runs.
  const confidence = confidenceOfEach(levels.length + 1)
  const rates = sides.map(({ maxima, bound }) => new Map(bound ? [] : maxima.map(({ block, rps }) => [block, rps])))
  const bounds = sides.flatMap(({ name, bound }) => (bound ? [`${name}: ${bound.because}`] : []))
  const maximum = pairedRatio(rates[0], rates[1], confidence)
  return [
    ...levels.map((both) => latencyDifference(both, confidence)),
    judged({ about: 'maximum rate', better: 'more', ...maximum }, bounds.join('; ')),
  ]
}

/** @param {Level[]} both @param {number} confidence */
function latencyDifference(both, confidence) {
  const namesOf = (/** @type {Level[]} */ levels) => levels.map(({ name }) => name).join(' and ')
  const found = pairedRatio(both[0].p50_ms, both[1].p50_ms, confidence)
  const refused = namesOf(both.filter(({ isRefused }) => isRefused))
  const failed = namesOf(both.filter(({ isFailed }) => isFailed))
  // A saturated generator adds the same latency to both sides: a difference despite it is real, but a tie may be due to it.
  const full = namesOf(both.filter(({ isGeneratorFull }) => found.tied && isGeneratorFull))
  const bound = full && `${GENERATOR_FULL} for ${full}`
  return judged(
    { about: `p50 at concurrency ${both[0].workers}`, better: 'less', ...found },
    refused ? `${refused} refused requests` : failed ? `${failed} failed requests` : bound,
  )
}

/** @param {ReturnType<typeof pairedRatio> & { about: string, better: 'less' | 'more' }} found @param {string} obstacle may be empty */
function judged(found, obstacle) {
  const because = obstacle || (Number.isFinite(found.high) ? '' : 'too few blocks')
  if (because) {
    const ratio = obstacle ? Number.NaN : found.ratio
    return { ...found, ratio, low: Number.NaN, high: Number.NaN, tied: false, because, verdict: 'not compared' }
  }
  const isBetter = found.ratio > 1 === (found.better === 'more')
  return { ...found, because, verdict: found.tied ? 'tied' : `B is ${isBetter ? 'better' : 'worse'}` }
}

/** The reason why a run has no answer: nothing in it could be compared; otherwise null. @param {Difference[]} differences */
export function incomparable(differences) {
  const reasons = new Set(differences.map(({ because }) => because))
  return reasons.has('') ? null : `nothing could be compared: ${[...reasons].join('; ')}`
}

/** The answer in a sentence or two. @param {Difference[]} differences */
export function answerSentence(differences) {
  const known = differences.filter(({ because }) => because === '')
  const apart = known
    .filter(({ tied }) => !tied)
    .map((one) => `${one.verdict} than A in ${one.about}: ${ratioText(one)}`)
  const ties = known.filter(({ tied }) => tied).map(({ about }) => about)
  const others = differences
    .filter(({ because }) => because !== '')
    .map(({ about, because }) => `${about} (${because})`)
  return [
    apart.join('; ') || (known.length > 0 ? 'No difference between A and B is clear' : 'Nothing could be compared'),
    ...(ties.length > 0 ? [`Tied: ${ties.join(', ')}`] : []),
    ...(others.length > 0 ? [`Not compared: ${others.join(', ')}`] : []),
  ]
    .map((text) => `${text}.`)
    .join(' ')
}
