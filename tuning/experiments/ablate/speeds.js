import { observationsOf, ratioOf } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { generatorWasLimit } from '../../stats/sound.js'
import { nameOf, variantsOf, WHOLE } from './stages.js'
import { closedLoopsOf, consumed } from './steps.js'

/** @import { AblatePlan, Records } from './steps.js' */

/**
 * What each closed loop did in each variant, and how much faster it was without a stage, and without all of them.
 *
 * @param {Pick<AblatePlan, 'stages' | 'consumers'>} plan
 * @param {Records} records
 *
 * @typedef {ReturnType<typeof closedOf>[number]} Closed
 */
export function closedOf(plan, records) {
  const { stages } = plan
  const removed = [...stages.map((stage) => [stage]), ...(stages.length > 1 ? [stages] : [])]
  return closedLoopsOf(plan).map((consumer) => ({
    consumer,
    whole_rps: median(visitsTo(records, consumer, WHOLE).map(({ traffic }) => traffic.goodput_rps)),
    speeds: removed.map((without) => ({ consumer, without, ...speedUp(records, consumer, nameOf(without)) })),
    variants: variantsOf(stages).flatMap((without) => statisticsOf(records, consumer, nameOf(without)) ?? []),
  }))
}

/**
 * The goodput of a closed loop in a variant, as a ratio to the whole; isLimited: its generator was the limit of either.
 *
 * @param {Records} records
 * @param {string} consumer
 * @param {string} variant
 */
export function speedUp(records, consumer, variant) {
  const observations = observationsOf(consumed(records, consumer), ({ traffic }) => traffic.goodput_rps)
  const isLimited = [variant, WHOLE].some((one) => generatorWasLimit(visitsTo(records, consumer, one)))
  return { ...ratioOf(observations, { variant }, { variant: WHOLE }), isLimited }
}

/**
 * Successes per second in a variant, with the statistics that were published; null: no sound trial.
 *
 * @param {Records} records
 * @param {string} consumer
 * @param {string} variant
 */
export function statisticsOf(records, consumer, variant) {
  const trials = visitsTo(records, consumer, variant)
  // A trial of less than a second is a sample itself; of others, the last second may be incomplete.
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
    variant,
    count,
    min: Math.min(...samples),
    max: Math.max(...samples),
    sum,
    mean,
    median: median(samples),
    sd: count > 1 ? Math.sqrt(squares / (count - 1)) : Number.NaN,
    cpu_us: median(trials.map(({ probes }) => probes.api.cpu_us_per_request)),
  }
}

/** @param {Records} records @param {string} consumer @param {string} variant */
function visitsTo(records, consumer, variant) {
  return consumed(records, consumer).filter(({ cell }) => cell.variant === variant)
}
