import { count } from '../../load/report/table.js'
import { median } from '../ranks.js'
import { isFull, mainOf, ratioBetween } from './findings.js'
import { crossingsOf, trialsOf } from './steps.js'

/** Drivers agree where their rates at the ceiling differ by no more. */
const AGREE_RATIO = 0.1

/** Of a worker's time. In a closed loop without pauses it is all spent waiting: workers = rate x latency (Little's law). */
const WAITING_RATIO = 0.9

/**
 * How far each further driver agrees with the first, by the rate at the ceiling, and why not where it does not. Pure.
 *
 * @param {import('./steps.js').RampPlan} plan
 * @param {import('./steps.js').Records} records
 * @param {import('./findings.js').Findings} findings
 * @returns {Agreement[]}
 *
 * @typedef {object} Agreement
 * @property {import('./steps.js').Name} side
 * @property {string} driver
 * @property {string} reference
 * @property {import('../effects.js').Effect} effect
 * @property {boolean} agrees
 * @property {string[]} why
 */
export function agreementsOf(plan, records, findings) {
  const [reference, ...others] = plan.drivers
  const sides = /** @type {import('./steps.js').Name[]} */ (Object.keys(plan.sides))
  return sides.flatMap((side) =>
    others.map((driver) => {
      const effect = ratioBetween(plan, records, `${side}:${driver}:all`, `${side}:${reference}:all`)
      const agrees = Math.abs(Math.log(effect.ratio)) <= Math.log(1 + AGREE_RATIO)
      const why = agrees ? [] : reasons(plan, records, findings, { side, driver, reference, effect })
      return { side, driver, reference, effect, agrees, why }
    }),
  )
}

/** @param {Agreement} agreement */
export function agreementSentence({ side, driver, reference, effect, agrees, why }) {
  const where = `${driver} and ${reference} on ${side.toUpperCase()}`
  if (Number.isNaN(effect.ratio)) return `Cross-check: ${where} cannot be compared: ${why.join('; ')}.`
  const interval = Number.isFinite(effect.high) ? ` [${effect.low.toFixed(2)}–${effect.high.toFixed(2)}]` : ''
  const figure = `${driver}'s rate at the ceiling is ${effect.ratio.toFixed(2)}x${interval} of ${reference}'s`
  if (agrees) return `Cross-check: ${where} agree within ${AGREE_RATIO * 100} %: ${figure}.`
  return `Cross-check: ${where} do not agree within ${AGREE_RATIO * 100} %: ${figure}. ${why.join('; ')}.`
}

/**
 * @param {import('./steps.js').RampPlan} plan
 * @param {import('./steps.js').Records} records
 * @param {import('./findings.js').Findings} findings
 * @param {Pick<Agreement, 'side' | 'driver' | 'reference' | 'effect'>} pair
 */
function reasons(plan, records, { series }, { side, driver, reference, effect }) {
  const found = [driver, reference].flatMap((name) => {
    const own = mainOf(series, side, name)
    if (!own) return []
    const trials = trialsOf(records, own.key)
    if (own.blocks === 0) {
      const furthest = own.furthest ? `, ${count(own.furthest.workers)} workers being the most it tried` : ''
      return [`${name} did not meet the ceiling${furthest}`]
    }
    const waiting = median(trials.map(waitingShare))
    return [
      ...(isFull(own)
        ? [
            `${name} used or waited for ${Math.round(own.generator_core_ratio * 100)} % of what it may have of the cores: it limited itself`,
          ]
        : []),
      ...(waiting < WAITING_RATIO
        ? [
            `${name}'s workers waited for answers only ${Math.round(waiting * 100)} % of their time: the rest is its own`,
          ]
        : []),
    ]
  })
  if (found.length > 0) return found
  const rates = [driver, reference].map((name) =>
    crossingsOf(plan, records, `${side}:${name}:all`).map(({ rps }) => rps),
  )
  const spread = Math.max(...rates.map((own) => Math.max(...own) / Math.min(...own)))
  const isUncertain = effect.low <= 1 + AGREE_RATIO && effect.high >= 1 / (1 + AGREE_RATIO)
  if (isUncertain) return [`the blocks of one driver differ by ${spread.toFixed(2)}x: too few, or a noisy machine`]
  return ['neither generator was at its limit: they load the service differently']
}

/**
 * Of the workers' time: a driver that waits for the last answers has its workers at work, on the average, half an answer
 * longer than the trial, and one that cuts them off, half an answer less.
 *
 * @param {Pick<import('./steps.js').Records[number], 'traffic' | 'load'>} record
 */
export function waitingShare({ traffic, load }) {
  const mean_s = (traffic.latency_ms?.mean ?? Number.NaN) / 1000
  const failed = Object.values(traffic.errors).reduce((sum, number) => sum + number, 0)
  const cut = Math.min(load.connections, Math.max(0, traffic.sent - traffic.completed - failed))
  const worked_s = load.connections * load.duration_s + ((load.connections - 2 * cut) * mean_s) / 2
  return Math.min(1, (traffic.completed * mean_s) / worked_s)
}
