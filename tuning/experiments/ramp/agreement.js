import { count, wholePercent } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { CONFIDENCE, pairedRatio, ratioText, verdictOf } from '../../stats/effects.js'
import { waitingShare } from './rungs.js'

/**
 * @import { RampPlan } from './design.js'
 * @import { Climbed } from './findings.js'
 */

/** Drivers agree if their rates at the ceiling differ by no more. */
const AGREE_RATIO = 0.1

/** Share of a worker's time. In a closed loop without pauses it only waits: workers = rate x latency (Little's law). */
const WAITING_RATIO = 0.9

/** What a verdict on the claim that two drivers agree says of them, as run.json has it and in words. */
const VERDICTS = /** @type {const} */ ({
  reproduced: 'agree',
  refuted: 'differ',
  undecided: 'unknown',
  'not measured': 'unknown',
})
const WORDS = { agree: 'agree', differ: 'do not agree', unknown: 'may or may not agree' }

/** @typedef {ReturnType<typeof agreementsOf>[number]} Agreement */

/** How far each further driver agrees with the first, by the rate at the ceiling. @param {RampPlan} plan @param {Climbed[]} series */
export function agreementsOf({ drivers: [reference, ...others] }, series) {
  const checks = series.filter(({ driver, variant }) => others.includes(driver) && variant === 'all')
  return checks.map((check) => {
    const { side, driver } = check
    const main = /** @type {Climbed} */ (series.find((one) => one.isMain && one.side === side))
    const effect = ratioTo(main, check)
    const verdict = VERDICTS[verdictOf({ expect: 'same', least_ratio: 1 + AGREE_RATIO }, effect)]
    return { side, driver, reference, effect, verdict, why: reasons([check, main], verdict) }
  })
}

/** The rate of one series at the ceiling as a ratio to another's, block by block. @param {Climbed} reference @param {Climbed} other */
export function ratioTo(reference, other) {
  return { level: other.key, ...pairedRatio(reference.rates_rps, other.rates_rps, CONFIDENCE) }
}

/** @param {Agreement} agreement */
export function agreementSentence({ side, driver, reference, effect, verdict, why }) {
  const both = `${driver} and ${reference} on ${side.toUpperCase()}`
  const reason = why.join('; ')
  if (effect.pairs === 0) return `Cross-check: ${both} cannot be compared: ${reason}.`
  const rate = `${driver}'s rate at the ceiling is ${ratioText(effect)} of ${reference}'s`
  return `Cross-check: ${both} ${WORDS[verdict]} within ${AGREE_RATIO * 100} %: ${rate}${reason && `; ${reason}`}.`
}

/** Why two rates may differ; or why that is unknown. @param {Climbed[]} both @param {'agree' | 'differ' | 'unknown'} verdict */
function reasons(both, verdict) {
  if (verdict === 'agree') return []
  const unmet = both.filter(({ blocks }) => blocks === 0)
  if (unmet.length > 0) {
    return unmet.map(({ driver, met, tried, furthest }) => {
      if (met > 0) return `${driver} met the ceiling in only ${met} of ${tried} blocks`
      return `${driver} did not meet the ceiling${furthest ? ` with up to ${count(furthest.workers)} workers` : ''}`
    })
  }
  if (verdict === 'unknown') {
    const rates = both.map(({ rates_rps }) => [...rates_rps.values()])
    const spread = Math.max(...rates.map((own) => Math.max(...own) / Math.min(...own)))
    return [`the blocks of one driver differ by ${spread.toFixed(2)}x: too few, or a noisy machine`]
  }
  const own = both.flatMap(({ driver, generator_core_ratio, refuses, isFull, trials }) => {
    const waiting = median(trials.map(waitingShare))
    const [used, share] = [generator_core_ratio, waiting].map(wholePercent)
    return [
      ...(isFull ? [`${driver} used or waited for ${used} of the cores that it may use, so it limited itself`] : []),
      ...(refuses ? [`${driver} met failures before the ceiling`] : []),
      ...(waiting < WAITING_RATIO
        ? [`${driver}'s workers waited for answers only ${share} of their time; the rest is its own`]
        : []),
    ]
  })
  return own.length > 0
    ? own
    : ['neither generator was at a limit of its own: perhaps they load the service differently']
}
