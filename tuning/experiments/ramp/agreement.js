import { count, wholePercent } from '../../../load/report/format.js'
import { CONFIDENCE, digits, pairedRatio, verdictOf } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { waitingShare } from './rungs.js'

/**
 * @import { RampPlan } from './design.js'
 * @import { Climbed } from './findings.js'
 */

/** Drivers agree if their rates at the ceiling differ by no more. */
const AGREE_RATIO = 0.1

/** Of a worker's time. In a closed loop without pauses it is all spent waiting: workers = rate x latency (Little's law). */
const WAITING_RATIO = 0.9

/** What a verdict on the claim that two drivers agree says of them. */
const VERDICTS = /** @type {const} */ ({
  reproduced: 'agree',
  refuted: 'differ',
  undecided: 'unknown',
  'not measured': 'unknown',
})

/** @typedef {ReturnType<typeof agreementsOf>[number]} Agreement */

/** How far each further driver agrees with the first, by the rate at the ceiling. @param {RampPlan} plan @param {Climbed[]} series */
export function agreementsOf({ drivers: [reference, ...others] }, series) {
  const references = series.filter(({ isMain }) => isMain)
  return references.flatMap((one) => {
    return others.map((driver) => {
      const isOther = (/** @type {Climbed} */ own) =>
        own.side === one.side && own.driver === driver && own.variant === 'all'
      const other = /** @type {Climbed} */ (series.find(isOther))
      const effect = ratioTo(one, other)
      const verdict = VERDICTS[verdictOf({ expect: 'same', least_ratio: 1 + AGREE_RATIO }, effect)]
      return { side: one.side, driver, reference, effect, verdict, why: reasons([other, one], verdict) }
    })
  })
}

/** The rate of one series at the ceiling as a ratio to another's, block by block. @param {Climbed} reference @param {Climbed} other */
export function ratioTo(reference, other) {
  return { level: other.key, ...pairedRatio(reference.rates_rps, other.rates_rps, CONFIDENCE) }
}

/** @param {Agreement} agreement */
export function agreementSentence({ side, driver, reference, effect: { ratio, low, high }, verdict, why }) {
  const where = `${driver} and ${reference} on ${side.toUpperCase()}`
  if (Number.isNaN(ratio)) return `Cross-check: ${where} cannot be compared: ${why.join('; ')}.`
  const within = `within ${AGREE_RATIO * 100} %`
  const said = {
    agree: `${where} agree ${within}`,
    differ: `${where} do not agree ${within}`,
    unknown: `whether ${where} agree ${within} cannot be told`,
  }
  const interval = Number.isFinite(high) ? ` [${digits(low)}–${digits(high)}]` : ''
  const rate = `${driver}'s rate at the ceiling is ${digits(ratio)}x${interval} of ${reference}'s`
  return [`Cross-check: ${said[verdict]}: ${rate}.`, ...(why.length > 0 ? [`${why.join('; ')}.`] : [])].join(' ')
}

/** Why two rates may differ; or why that is unknown. @param {Climbed[]} both @param {'agree' | 'differ' | 'unknown'} verdict */
function reasons(both, verdict) {
  if (verdict === 'agree') return []
  const unmet = both
    .filter(({ blocks }) => blocks === 0)
    .map(({ driver, met, tried, furthest }) => {
      if (met > 0) return `${driver} met the ceiling in ${met} of ${tried} blocks only`
      return `${driver} did not meet the ceiling${furthest ? `, ${count(furthest.workers)} workers being the most it tried` : ''}`
    })
  if (unmet.length > 0) return unmet
  if (verdict === 'unknown') {
    const rates = both.map(({ rates_rps }) => [...rates_rps.values()])
    const spread = Math.max(...rates.map((own) => Math.max(...own) / Math.min(...own)))
    return [`the blocks of one driver differ by ${spread.toFixed(2)}x: too few, or a noisy machine`]
  }
  const own = both.flatMap(({ driver, generator_core_ratio, refuses, isFull, trials }) => {
    const waiting = median(trials.map(waitingShare))
    const used = `${driver} used or waited for ${wholePercent(generator_core_ratio)} of what it may have of the cores`
    const waited = `${driver}'s workers waited for answers only ${wholePercent(waiting)} of their time`
    return [
      ...(isFull ? [`${used}: it limited itself`] : []),
      ...(refuses ? [`${driver} met failures before the ceiling`] : []),
      ...(waiting < WAITING_RATIO ? [`${waited}: the rest is its own`] : []),
    ]
  })
  const none = 'neither generator was seen at a limit of its own: perhaps they load the service differently'
  return own.length > 0 ? own : [none]
}
