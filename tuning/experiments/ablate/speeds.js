import { heading, titled } from '../../../load/report/blocks.js'
import { count, figure, NONE, wholePercent } from '../../../load/report/format.js'
import { meanOf, median, typical } from '../../../load/verdict/ranks.js'
import { groupBy } from '../../stats/design.js'
import {
  CONFIDENCE,
  confidenceOfEach,
  digits,
  noiseOf,
  observationsOf,
  ratioOf,
  ratioText,
} from '../../stats/effects.js'
import { GENERATOR_LIMIT, generatorWasLimit } from '../../stats/sound.js'
import { curvesOf, statisticsOf } from './samples.js'
import { nameOf, removalsOf, removedText, variantsOf, WHOLE } from './stages.js'
import { closedLoopsOf, consumed } from './steps.js'

/** @import { AblatePlan, Records } from './steps.js' */

/** The fixed amount of work. */
const REQUESTS = 10_000

/**
 * The results of each closed loop in each variant, and its speed-up without each stage and without all of them.
 * @param {Pick<AblatePlan, 'stages' | 'consumers'>} plan @param {Records} records
 * @typedef {ReturnType<typeof closedOf>[number]} Closed
 */
export function closedOf(plan, records) {
  const { stages } = plan
  const confidence = speedConfidence(plan)
  return closedLoopsOf(plan).map((consumer) => ({
    consumer,
    whole_rps: median(consumed(records, consumer, WHOLE).map(({ traffic }) => traffic.goodput_rps)),
    speeds: removalsOf(stages).map((without) => {
      return { consumer, without, ...speedUp(records, consumer, nameOf(without), confidence) }
    }),
    times: timesOf(plan, records, consumer),
    variants: variantsOf(stages).flatMap((without) => statisticsOf(records, consumer, nameOf(without)) ?? []),
    curves: curvesOf(records, consumer, stages),
  }))
}

/**
 * Confidence of each interval of the throughput's table, which is read as a whole: one for each removal and closed loop.
 * @param {Pick<AblatePlan, 'stages' | 'consumers'>} plan
 */
export function speedConfidence(plan) {
  return confidenceOfEach(removalsOf(plan.stages).length * Math.max(1, closedLoopsOf(plan).length))
}

/**
 * The goodput of a closed loop in a variant, as a ratio to the whole. isLimited: the generator was the limit of either.
 * @param {Records} records @param {string} consumer @param {string} variant @param {number} [confidence] of the interval
 */
export function speedUp(records, consumer, variant, confidence = CONFIDENCE) {
  const observations = observationsOf(consumed(records, consumer), ({ traffic }) => traffic.goodput_rps)
  const isLimited = [variant, WHOLE].some((one) => generatorWasLimit(consumed(records, consumer, one)))
  const ratio = ratioOf(observations, { variant }, { variant: WHOLE }, noiseOf(observations), confidence)
  return { ...ratio, isLimited }
}

/** The throughput without each stage; empty without a closed loop. @param {Closed[]} closed */
export function ratioBlocks(closed) {
  if (closed.length === 0) return []
  const whole = ['nothing (successes/s)', ...closed.map(({ whole_rps }) => figure(whole_rps)), '']
  const rows = closed[0].speeds.map(({ without }, i) => {
    const speeds = closed.map(({ speeds: { [i]: speed } }) => speed)
    const texts = speeds.map((one) => (one.isLimited && one.pairs > 0 ? GENERATOR_LIMIT : ratioText(one)))
    return [removedText(without), ...texts, effectText(speeds)]
  })
  const about = `**Throughput without a stage**, as a ratio to the whole; with ${wholePercent(CONFIDENCE)} confidence, every interval in this table holds the true value:`
  const head = ['removed', ...closed.map(({ consumer }) => consumer), 'effect']
  return titled(about, head, [whole, ...rows], { name: 'speeds' })
}

/**
 * The effect of a removal: `faster`, or `faster (autocannon); no effect seen (client)` if the closed loops differ; a dash if none of
 * them can tell.
 * @param {Closed['speeds']} speeds of one removal
 */
function effectText(speeds) {
  const known = speeds.filter(({ isLimited, pairs }) => !isLimited && pairs > 0)
  const effects = groupBy(known, effectOf)
  if (effects.size === 0) return NONE
  if (effects.size === 1) return effectOf(known[0])
  const texts = [...effects].map(([effect, own]) => `${effect} (${own.map(({ consumer }) => consumer).join(', ')})`)
  return texts.join('; ')
}

/**
 * Whether a variant differs from the whole: a ratio that noise can explain is no finding, and too few blocks settle nothing.
 * @param {Pick<Closed['speeds'][number], 'ratio' | 'high' | 'tied'>} speed
 */
export function effectOf({ ratio, high, tied }) {
  if (!Number.isFinite(high)) return 'not settled'
  if (tied) return 'no effect seen'
  return ratio > 1 ? 'faster' : 'slower'
}

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
  const about = `Time in seconds. A trial ends after a time, not after a number of requests; so this is its time up to the last answer, divided by its successes, times ${count(REQUESTS)}. With ${wholePercent(CONFIDENCE)} confidence, every interval in this table holds the true value.`
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
