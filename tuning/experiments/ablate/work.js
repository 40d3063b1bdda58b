import { heading, titled } from '../../../load/report/blocks.js'
import { count, NONE, wholePercent } from '../../../load/report/format.js'
import { meanOf, typical } from '../../../load/verdict/ranks.js'
import { groupBy } from '../../stats/design.js'
import { CONFIDENCE, confidenceOfEach, digits } from '../../stats/effects.js'
import { GENERATOR_LIMIT, generatorWasLimit } from '../../stats/sound.js'
import { nameOf, removalsOf, removedText } from './stages.js'
import { closedLoopsOf, consumed } from './steps.js'

/**
 * @import { Closed } from './speeds.js'
 * @import { AblatePlan, Records } from './steps.js'
 */

/** The fixed amount of work. */
const REQUESTS = 10_000

/**
 * The time that a closed loop takes for a fixed number of successes: in the whole, without each stage, and without all of them. No
 * trial ends after that number, as the drivers end a trial by time; each tells how long its own successes took, up to the last answer.
 * @param {Pick<AblatePlan, 'stages' | 'consumers'>} plan @param {Records} records @param {string} consumer
 * @returns {Time[]}
 * @typedef {{ without: string[], time_s: number, low: number, high: number, isLimited: boolean }} Time time_s: NaN without a trial;
 *   high: Infinity with too few blocks; isLimited: the generator was the limit
 */
export function timesOf(plan, records, consumer) {
  const variants = [[], ...removalsOf(plan.stages)]
  const confidence = confidenceOfEach(variants.length * Math.max(1, closedLoopsOf(plan).length))
  return variants.map((without) => {
    const trials = consumed(records, consumer, nameOf(without))
    const blocks = groupBy(trials, ({ at }) => String(at.block))
    const logs = [...blocks.values()].map((own) =>
      meanOf(own.map(({ traffic }) => Math.log(REQUESTS / traffic.goodput_rps))),
    )
    const { estimate, low, high } = typical(logs.filter(Number.isFinite), confidence)
    const isLimited = generatorWasLimit(trials)
    return { without, time_s: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high), isLimited }
  })
}

/** The time for a fixed amount of work in each variant; empty without a closed loop. @param {Closed[]} closed */
export function workBlocks(closed) {
  if (closed.length === 0) return []
  const rows = closed[0].times.map(({ without }, i) => {
    return [removedText(without), ...closed.map(({ times }) => timeText(times[i]))]
  })
  const about = `Time in seconds. A trial ends after a time, not after a number of requests; so this is its time up to the last answer, divided by its successes, times ${count(REQUESTS)}. With ${wholePercent(CONFIDENCE)} confidence, none of the intervals of this table misses.`
  return [
    heading(`Time for ${count(REQUESTS)} requests`, { detail: true }),
    ...titled(about, ['removed', ...closed.map(({ consumer }) => `${consumer}, s`)], rows, { name: 'work' }),
  ]
}

/** `0.74 [0.70–0.79]` @param {Time} time */
function timeText({ time_s, low, high, isLimited }) {
  if (Number.isNaN(time_s)) return NONE
  if (isLimited) return GENERATOR_LIMIT
  const interval = Number.isFinite(high) ? `${digits(low)}–${digits(high)}` : 'too few blocks'
  return `${digits(time_s)} [${interval}]`
}
