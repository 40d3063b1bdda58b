import { observationsOf, ratioOf } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { generatorWasLimit } from '../../stats/sound.js'
import { nameOf, variantsOf, WHOLE } from './stages.js'
import { closedLoopsOf, consumed } from './steps.js'

/** @import { AblatePlan, Records } from './steps.js' */

/**
 * What each closed loop gains without a stage, and without all of them.
 *
 * @param {Pick<AblatePlan, 'stages' | 'consumers'>} plan
 * @param {Records} records
 *
 * @typedef {ReturnType<typeof speedsOf>[number]} SpeedUp
 */
export function speedsOf(plan, records) {
  const { stages } = plan
  const all = stages.length > 1 ? [stages] : []
  return closedLoopsOf(plan).flatMap((consumer) => {
    return [...stages.map((stage) => [stage]), ...all].map((without) => {
      return { consumer, without, ...speedUp(records, consumer, nameOf(without)) }
    })
  })
}

/**
 * How much faster a closed loop turns in a variant, as a ratio to the whole; isLimited: that is as fast as its generator can.
 *
 * @param {Records} records
 * @param {string} consumer
 * @param {string} variant
 */
export function speedUp(records, consumer, variant) {
  const trials = consumed(records, consumer)
  const observations = observationsOf(trials, ({ traffic }) => traffic.goodput_rps)
  const isLimited = [variant, WHOLE].some((one) => generatorWasLimit(trials.filter(({ cell }) => cell.variant === one)))
  return { ...ratioOf(observations, { variant }, { variant: WHOLE }), isLimited }
}

/**
 * What each closed loop did in each variant; whole_rps: with nothing away.
 *
 * @param {Pick<AblatePlan, 'stages' | 'consumers'>} plan
 * @param {Records} records
 *
 * @typedef {ReturnType<typeof closedOf>[number]} Closed
 */
export function closedOf(plan, records) {
  return closedLoopsOf(plan).map((consumer) => {
    const variants = variantsOf({ ...plan, slow_us: {} }).flatMap(({ name: variant }) => {
      const found = statisticsOf(records, consumer, variant)
      return found ? [{ variant, ...found }] : []
    })
    const whole = consumed(records, consumer).filter(({ cell }) => cell.variant === WHOLE)
    return { consumer, whole_rps: median(whole.map(({ traffic }) => traffic.goodput_rps)), variants }
  })
}

/**
 * The successes per second of a variant, as published; a trial of less than a second is a sample itself. Null: no sound trial.
 *
 * @param {Records} records
 * @param {string} consumer
 * @param {string} variant
 */
export function statisticsOf(records, consumer, variant) {
  const trials = consumed(records, consumer).filter(({ cell }) => cell.variant === variant)
  // Whole seconds alone: the last one may have begun only.
  const samples = trials.flatMap(({ load, traffic }) => {
    if (load.duration_s < 1) return [traffic.goodput_rps]
    return traffic.per_second.slice(0, Math.floor(load.duration_s)).map(({ ok }) => ok)
  })
  const count = samples.length
  if (count === 0) return null
  const sum = samples.reduce((total, rps) => total + rps, 0)
  const mean = sum / count
  const squares = samples.reduce((total, rps) => total + (rps - mean) ** 2, 0)
  return {
    count,
    min: Math.min(...samples),
    max: Math.max(...samples),
    sum,
    mean,
    median: median(samples),
    sd: count > 1 ? Math.sqrt(squares / (count - 1)) : Number.NaN,
    cpu_us: median(trials.map(({ probes }) => probes.api.cpu_us_per_request ?? Number.NaN)),
  }
}
