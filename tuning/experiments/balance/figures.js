import { ratioOf } from '../../stats/effects.js'
import { median, typical } from '../../stats/ranks.js'
import { generatorWasLimit, isSound } from '../../stats/sound.js'
import { leavingOf, queuedRatio } from './shares.js'
import { blockOf, REFERENCE, strategiesOf, strategyOf, trialsOf } from './steps.js'

/** @import { Effect } from '../../stats/effects.js' */

const CONFIDENCE = 0.95

export const PERCENTILES = /** @type {const} */ (['p25', 'p50', 'p75', 'p95'])

/**
 * @typedef {import('./steps.js').BalancePlan} BalancePlan
 * @typedef {import('./steps.js').Records} Records
 * @typedef {import('./steps.js').MeasuredPart} MeasuredPart
 *
 * @typedef {object} StrategyFigures
 * @property {string} strategy
 * @property {Record<typeof PERCENTILES[number], number>} latency_ms of the successes, medians of the blocks
 * @property {Record<typeof PERCENTILES[number], Effect> | null} to_reference ratios to round robin
 *   within a block; null: it is the reference
 * @property {Record<typeof PERCENTILES[number], Effect> | null} to_adaptive the same, to adaptive
 * @property {number} saved_ms per success, against round robin
 * @property {number} error_ratio of the requests that clients sent
 * @property {number} queued_ratio of the requests that found every place of their endpoint taken
 * @property {number} trials
 */

/**
 * How each strategy did over uneven endpoints.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 * @param {'strategies' | 'crowded'} [part]
 * @returns {StrategyFigures[]}
 */
export function strategyFigures(plan, records, part = 'strategies') {
  return measuredIn(part, plan, records).map((strategy) => {
    const trials = trialsOf(records, part, strategy)
    const latency = PERCENTILES.map((name) => [name, median(trials.map((record) => okLatency(record, name)))])
    const ratiosTo = (/** @type {string} */ other) => {
      if (strategy === other) return null
      const ratios = PERCENTILES.map((name) => {
        const observations = observationsOf(part, records, (record) => okLatency(record, name))
        return [name, ratioOf(observations, strategy, other)]
      })
      return Object.fromEntries(ratios)
    }
    return {
      strategy,
      latency_ms: Object.fromEntries(latency),
      to_reference: ratiosTo(REFERENCE),
      to_adaptive: ratiosTo('adaptive'),
      saved_ms: -differenceTo(REFERENCE, strategy, part, records, (record) => okLatency(record, 'mean')).estimate,
      error_ratio: errorRatio(trials),
      queued_ratio: queuedRatio(trials.map(({ probes }) => probes.target)),
      trials: trials.length,
    }
  })
}

/**
 * What the balancer itself adds, over an endpoint that answers at once.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 */
export function overheadFigures(plan, records) {
  const p50 = (/** @type {Records[number]} */ record) => okLatency(record, 'p50')
  return measuredIn('overhead', plan, records).map((strategy) => {
    const trials = trialsOf(records, 'overhead', strategy)
    return {
      strategy,
      p50_ms: median(trials.map(p50)),
      added_ms: strategy === 'direct' ? null : differenceTo('direct', strategy, 'overhead', records, p50),
      cpu_us:
        strategy === 'direct' ? null : median(trials.map(({ probes }) => probes.api.cpu_us_per_request ?? Number.NaN)),
    }
  })
}

/**
 * How long it took to leave an endpoint that failed, and to come back.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 */
export function failingFigures(plan, records) {
  return measuredIn('failing', plan, records).map((strategy) => {
    const trials = trialsOf(records, 'failing', strategy)
    const found = trials.map(leaving)
    return {
      strategy,
      leave_s: found.map(({ leave_s }) => leave_s),
      back_s: found.map(({ back_s }) => back_s),
      errors_at_endpoint: median(found.map(({ errors }) => errors)),
      error_ratio: errorRatio(trials),
      p50_ms: median(trials.map((record) => okLatency(record, 'p50'))),
    }
  })
}

/** @param {Records[number]} record of the part failing */
export function leaving({ probes }) {
  return leavingOf(probes.target, probes.target.names.indexOf('failing'))
}

/**
 * What processes bring.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 */
export function processFigures(plan, records) {
  const goodput = (/** @type {Records[number]} */ { traffic }) => traffic.goodput_rps
  const observations = observationsOf('processes', records, goodput)
  return measuredIn('processes', plan, records).map((strategy) => {
    const trials = trialsOf(records, 'processes', strategy)
    return {
      strategy,
      goodput_rps: median(trials.map(goodput)),
      p50_ms: median(trials.map((record) => okLatency(record, 'p50'))),
      cores: String(trials[0]?.settings.API_CORES ?? trials[0]?.target.cores ?? ''),
      to_one: strategy === '1' ? null : ratioOf(observations, strategy, '1'),
      is_limited: [strategy, '1'].some((one) => generatorWasLimit(trialsOf(records, 'processes', one))),
    }
  })
}

/** Strategies with a valid trial. @param {MeasuredPart} part @param {BalancePlan} plan @param {Records} records */
export function measuredIn(part, plan, records) {
  return strategiesOf(part, plan).filter((strategy) => trialsOf(records, part, strategy).length > 0)
}

/** Of the successes. @param {Records[number]} record @param {'mean' | typeof PERCENTILES[number]} name */
export function okLatency({ traffic }, name) {
  return traffic.ok_latency_ms?.[name] ?? Number.NaN
}

/** Of the requests that clients sent. @param {Records} trials */
export function errorRatio(trials) {
  const planned = trials.reduce((sum, { traffic }) => sum + traffic.planned, 0)
  return planned === 0 ? Number.NaN : 1 - trials.reduce((sum, { traffic }) => sum + traffic.ok, 0) / planned
}

/** @param {MeasuredPart} part @param {Records} records @param {(record: Records[number]) => number} value */
function observationsOf(part, records, value) {
  return records.flatMap((record) => {
    const strategy = strategyOf(String(record.cell))
    const isOwn = isSound(record) && record.cell === `${part}/${strategy}` && value(record) > 0
    return isOwn ? [{ block: blockOf(record), cell: strategy, levels: { strategy }, value: value(record) }] : []
  })
}

/**
 * The typical difference within a block.
 *
 * @param {string} reference
 * @param {string} strategy
 * @param {MeasuredPart} part
 * @param {Records} records
 * @param {(record: Records[number]) => number} value
 */
export function differenceTo(reference, strategy, part, records, value) {
  const others = trialsOf(records, part, reference)
  const differences = trialsOf(records, part, strategy).flatMap((record) => {
    const other = others.find((one) => blockOf(one) === blockOf(record))
    const difference = other ? value(record) - value(other) : Number.NaN
    return Number.isFinite(difference) ? [difference] : []
  })
  return differences.length === 0
    ? { estimate: Number.NaN, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY, pairs: 0 }
    : typical(differences, CONFIDENCE)
}
