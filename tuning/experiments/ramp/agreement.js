import { count, wholePercent } from '../../../load/report/format.js'
import { median } from '../../stats/ranks.js'
import { sidesOf } from './design.js'
import { waitingShare } from './rungs.js'
import { isFull, ratioTo, wholeMixOf } from './series.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { Name, RampPlan, Records } from './design.js'
 * @import { Climbed, Found } from './series.js'
 */

/** Drivers agree where their rates at the ceiling differ by no more. */
export const AGREE_RATIO = 0.1

/** Of a worker's time. In a closed loop without pauses it is all spent waiting: workers = rate x latency (Little's law). */
const WAITING_RATIO = 0.9

/**
 * How far each further driver agrees with the first, by the rate at the ceiling, and why not where it does not.
 *
 * @param {RampPlan} plan
 * @param {Climbed[]} climbed
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
export function agreementsOf({ sides, drivers: [reference, ...others] }, climbed) {
  return sidesOf({ sides }).flatMap((side) =>
    others.map((driver) => {
      const [own, first] = [driver, reference].map((name) => /** @type {Climbed} */ (wholeMixOf(climbed, side, name)))
      const effect = ratioTo(first, own)
      const verdict = verdictOf(effect)
      const why = verdict === 'agree' ? [] : reasons([own, first], verdict)
      return { side, driver, reference, effect, verdict, why }
    }),
  )
}

/** @param {Effect} effect @returns {Agreement['verdict']} */
function verdictOf({ low, high }) {
  const most = 1 + AGREE_RATIO
  if (low >= 1 / most && high <= most) return 'agree'
  return low > most || high < 1 / most ? 'differ' : 'unknown'
}

/** Why two rates may differ; or why that is unknown. @param {Climbed[]} both @param {Agreement['verdict']} verdict */
function reasons(both, verdict) {
  const unmet = both.filter(({ found }) => found.blocks === 0)
  if (unmet.length > 0) return unmet.map(({ found }) => unmetText(found))
  if (verdict === 'unknown') {
    const rates = both.map(({ rps }) => [...rps.values()])
    const spread = Math.max(...rates.map((own) => Math.max(...own) / Math.min(...own)))
    return [`the blocks of one driver differ by ${spread.toFixed(2)}x: too few, or a noisy machine`]
  }
  const own = both.flatMap(({ found, trials }) => ownReasons(found, trials))
  const none = 'neither generator was seen at a limit of its own: perhaps they load the service differently'
  return own.length > 0 ? own : [none]
}

/** @param {Found} found */
function unmetText({ driver, met, tried, furthest }) {
  if (met > 0) return `${driver} met the ceiling in ${met} of ${tried} blocks only`
  return `${driver} did not meet the ceiling${furthest ? `, ${count(furthest.workers)} workers being the most it tried` : ''}`
}

/** @param {Found} found @param {Records} trials */
function ownReasons(found, trials) {
  const { driver, generator_core_ratio, refuses } = found
  const waiting = median(trials.map(waitingShare))
  const used = `${driver} used or waited for ${wholePercent(generator_core_ratio)} of what it may have of the cores`
  const waited = `${driver}'s workers waited for answers only ${wholePercent(waiting)} of their time`
  return [
    ...(isFull(found) ? [`${used}: it limited itself`] : []),
    ...(refuses ? [`${driver} met failures before the ceiling`] : []),
    ...(waiting < WAITING_RATIO ? [`${waited}: the rest is its own`] : []),
  ]
}
