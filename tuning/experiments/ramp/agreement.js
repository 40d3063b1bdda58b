import { CONFIDENCE, pairedRatio, ratioText, verdictOf } from '../../stats/effects.js'

/**
 * @import { RampPlan } from './design.js'
 * @import { Climbed } from './findings.js'
 */

/** Drivers agree if their rates at the ceiling differ by no more. */
const AGREE_RATIO = 0.1

/** What a verdict on the claim that two drivers agree says of them, as run.json has it and in words. */
const VERDICTS = /** @type {const} */ ({
  reproduced: 'agree',
  refuted: 'differ',
  undecided: 'unknown',
  'not measured': 'unknown',
})
const WORDS = { agree: 'agree', differ: 'do not agree', unknown: 'may or may not agree' }

/** How far each further driver agrees with the first, by the rate at the ceiling. @param {RampPlan} plan @param {Climbed[]} series */
export function agreementsOf({ drivers: [reference, ...others] }, series) {
  const checks = series.filter(({ driver, variant }) => others.includes(driver) && variant === 'all')
  return checks.map((check) => {
    const { side, driver } = check
    const main = /** @type {Climbed} */ (series.find((one) => one.isMain && one.side === side))
    const effect = ratioTo(main, check)
    const verdict = VERDICTS[verdictOf({ expect: 'same', least_ratio: 1 + AGREE_RATIO }, effect)]
    return { side, driver, reference, effect, verdict }
  })
}

/** The rate of one series at the ceiling as a ratio to another's, block by block. @param {Climbed} reference @param {Climbed} other */
export function ratioTo(reference, other) {
  const effect = pairedRatio(reference.rates_rps, other.rates_rps, CONFIDENCE)
  return { level: other.key, estimate: effect.ratio, ...effect }
}

/** @param {ReturnType<typeof agreementsOf>[number]} agreement */
export function agreementSentence({ side, driver, reference, effect, verdict }) {
  const both = `Cross-check: ${driver} and ${reference} on ${side.toUpperCase()}`
  if (effect.pairs === 0) return `${both} cannot be compared: no block has a rate at the ceiling for both.`
  const rate = `${driver}'s rate at the ceiling is ${ratioText(effect)} of ${reference}'s`
  return `${both} ${WORDS[verdict]} within ${AGREE_RATIO * 100} %: ${rate}.`
}
