import { wholePercent } from '../../../load/report/format.js'
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

/** How far each further driver agrees with the first, by the rate at the ceiling. @param {RampPlan} plan @param {Climbed[]} series */
export function agreementsOf({ drivers: [reference, ...others] }, series) {
  const checks = series.filter(({ driver, variant }) => others.includes(driver) && variant === 'all')
  return checks.map((check) => {
    const { side, driver } = check
    const main = /** @type {Climbed} */ (series.find((one) => one.isMain && one.side === side))
    const effect = ratioTo(main, check)
    const verdict = VERDICTS[verdictOf({ expect: 'same', least_ratio: 1 + AGREE_RATIO }, effect)]
    return { side, driver, reference, effect, verdict, why: verdict === 'differ' ? reasons([check, main]) : [] }
  })
}

/** The rate of one series at the ceiling as a ratio to another's, block by block. @param {Climbed} reference @param {Climbed} other */
export function ratioTo(reference, other) {
  const effect = pairedRatio(reference.rates_rps, other.rates_rps, CONFIDENCE)
  return { level: other.key, estimate: effect.ratio, ...effect }
}

/** @param {ReturnType<typeof agreementsOf>[number]} agreement */
export function agreementSentence({ side, driver, reference, effect, verdict, why }) {
  const both = `Cross-check: ${driver} and ${reference} on ${side.toUpperCase()}`
  if (effect.pairs === 0) return `${both} cannot be compared: no block has a rate at the ceiling for both.`
  const rate = `${driver}'s rate at the ceiling is ${ratioText(effect)} of ${reference}'s`
  return `${both} ${WORDS[verdict]} within ${AGREE_RATIO * 100} %: ${[rate, ...why].join('; ')}.`
}

/** Why two rates may differ. @param {Climbed[]} both */
function reasons(both) {
  const own = both.flatMap(({ driver, refuses, isFull, trials }) => {
    const waiting = median(trials.map(waitingShare))
    const waits = `${driver}'s workers waited for answers only ${wholePercent(waiting)} of their time; the rest is its own`
    return [
      ...(isFull ? [`${driver} was at its own limit`] : []),
      ...(refuses ? [`${driver} met failures before the ceiling`] : []),
      ...(waiting < WAITING_RATIO ? [waits] : []),
    ]
  })
  if (own.length > 0) return own
  return ['neither generator was at a limit of its own: perhaps they load the service differently']
}
