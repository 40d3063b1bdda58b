import { count } from '../../../load/report/format.js'
import { median } from '../../stats/ranks.js'
import { isFull, mainOf, ratioBetween } from './findings.js'
import { crossingsOf, trialsOf } from './steps.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { Findings, Found } from './findings.js'
 * @import { Name, RampPlan, Records } from './steps.js'
 */

/** Drivers agree where their rates at the ceiling differ by no more. */
const AGREE_RATIO = 0.1

/** Of a worker's time. In a closed loop without pauses it is all spent waiting: workers = rate x latency (Little's law). */
const WAITING_RATIO = 0.9

/**
 * How far each further driver agrees with the first, by the rate at the ceiling, and why not where it does not. Pure.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {Findings} findings
 * @returns {Agreement[]}
 *
 * @typedef {object} Agreement
 * @property {Name} side
 * @property {string} driver
 * @property {string} reference
 * @property {Effect} effect
 * @property {'agree' | 'differ' | 'unknown'} verdict unknown: the interval of the ratio holds both
 * @property {string[]} why
 */
export function agreementsOf(plan, records, findings) {
  const [reference, ...others] = plan.drivers
  const sides = /** @type {Name[]} */ (Object.keys(plan.sides))
  return sides.flatMap((side) =>
    others.map((driver) => {
      const effect = ratioBetween(plan, records, `${side}:${driver}:all`, `${side}:${reference}:all`)
      const verdict = verdictOf(effect)
      const why = verdict === 'agree' ? [] : reasons(plan, records, findings, { side, driver, reference, verdict })
      return { side, driver, reference, effect, verdict, why }
    }),
  )
}

/** @param {Agreement} agreement */
export function agreementSentence({ side, driver, reference, effect, verdict, why }) {
  const where = `${driver} and ${reference} on ${side.toUpperCase()}`
  if (Number.isNaN(effect.ratio)) return `Cross-check: ${where} cannot be compared: ${why.join('; ')}.`
  const interval = Number.isFinite(effect.high) ? ` [${effect.low.toFixed(2)}–${effect.high.toFixed(2)}]` : ''
  const figure = `${driver}'s rate at the ceiling is ${effect.ratio.toFixed(2)}x${interval} of ${reference}'s`
  const within = `within ${AGREE_RATIO * 100} %`
  if (verdict === 'agree') return `Cross-check: ${where} agree ${within}: ${figure}.`
  if (verdict === 'unknown') {
    return `Cross-check: whether ${where} agree ${within} cannot be told: ${figure}. ${why.join('; ')}.`
  }
  return `Cross-check: ${where} do not agree ${within}: ${figure}. ${why.join('; ')}.`
}

/** @param {Effect} effect @returns {Agreement['verdict']} */
function verdictOf({ low, high }) {
  const most = 1 + AGREE_RATIO
  if (low >= 1 / most && high <= most) return 'agree'
  return low > most || high < 1 / most ? 'differ' : 'unknown'
}

/**
 * Of two rates that differ, what may have made them; of two that may or may not, why that cannot be told.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {Findings} findings
 * @param {Pick<Agreement, 'side' | 'driver' | 'reference' | 'verdict'>} pair
 */
function reasons(plan, records, { series }, { side, driver, reference, verdict }) {
  const both = [driver, reference].flatMap((name) => mainOf(series, side, name) ?? [])
  const unmet = both.filter(({ blocks }) => blocks === 0)
  if (unmet.length > 0) return unmet.map(unmetText)
  if (verdict === 'unknown') {
    const rates = both.map(({ key }) => crossingsOf(plan, records, key).map(({ rps }) => rps))
    const spread = Math.max(...rates.map((own) => Math.max(...own) / Math.min(...own)))
    return [`the blocks of one driver differ by ${spread.toFixed(2)}x: too few, or a noisy machine`]
  }
  const found = both.flatMap((own) => ownReasons(own, trialsOf(records, own.key)))
  return found.length > 0
    ? found
    : ['neither generator was seen at a limit of its own: perhaps they load the service differently']
}

/** @param {Found} found */
function unmetText({ driver, met, tried, furthest }) {
  if (met > 0) return `${driver} met the ceiling in ${met} of ${tried} blocks only`
  return `${driver} did not meet the ceiling${furthest ? `, ${count(furthest.workers)} workers being the most it tried` : ''}`
}

/** @param {Found} found @param {Records} trials its own */
function ownReasons(found, trials) {
  const { driver, generator_core_ratio, refuses } = found
  const waiting = median(trials.map(waitingShare))
  const percent = (/** @type {number} */ ratio) => `${Math.round(ratio * 100)} %`
  return [
    ...(isFull(found)
      ? [
          `${driver} used or waited for ${percent(generator_core_ratio)} of what it may have of the cores: it limited itself`,
        ]
      : []),
    ...(refuses ? [`${driver} met failures before the ceiling`] : []),
    ...(waiting < WAITING_RATIO
      ? [`${driver}'s workers waited for answers only ${percent(waiting)} of their time: the rest is its own`]
      : []),
  ]
}

/**
 * Of the workers' time: a driver that waits for the last answers has its workers at work, on the average, half an answer
 * longer than the trial, and one that cuts them off, half an answer less.
 *
 * @param {Pick<Records[number], 'traffic' | 'load'>} record
 * @returns {number} NaN where not all succeeded, or more were lost than the end cuts off: who had the rest of the time is
 *   not known then
 */
export function waitingShare({ traffic, load }) {
  const { success_ratio, sent, completed, latency_ms } = traffic
  const cut = Math.max(0, sent - completed)
  if (success_ratio < 1 || cut > load.connections) return Number.NaN
  const mean_s = (latency_ms?.mean ?? Number.NaN) / 1000
  const worked_s = load.connections * load.duration_s + ((load.connections - 2 * cut) * mean_s) / 2
  return Math.min(1, (completed * mean_s) / worked_s)
}
