import { ratioOf } from '../../stats/effects.js'
import { median, typical } from '../../stats/ranks.js'
import { generatorWasLimit, isSound } from '../../stats/sound.js'
import { leavingOf, queuedRatio, sharesOf } from './shares.js'
import { REFERENCE, strategiesOf, trialsOf } from './steps.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { Counts } from './shares.js'
 * @import { BalancePlan, MeasuredPart, Records } from './steps.js'
 */

const CONFIDENCE = 0.95

export const PERCENTILES = /** @type {const} */ (['p25', 'p50', 'p75', 'p95'])

/** Columns of a table over time. */
const COLUMNS = 6

/** Points of a curve over time: the more requests there were, the more can be told apart. */
const POINTS = { least: 6, most: 24, requests: 100 }

/** @template T @typedef {Record<typeof PERCENTILES[number], T>} ByPercentile */

/**
 * @typedef {object} StrategyFigures
 * @property {string} strategy
 * @property {ByPercentile<number>} latency_ms of the successes, medians of the blocks
 * @property {ByPercentile<Effect> | null} to_reference ratios to round robin within a block; null: it is the reference
 * @property {ByPercentile<Effect> | null} to_adaptive the same, to adaptive
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
  const observations = byPercentile((name) => observationsOf(part, records, (record) => okLatency(record, name)))
  return measuredIn(part, plan, records).map((strategy) => {
    const trials = trialsOf(records, part, strategy)
    const ratiosTo = (/** @type {string} */ other) => {
      return strategy === other ? null : byPercentile((name) => ratioOf(observations[name], strategy, other))
    }
    return {
      strategy,
      latency_ms: byPercentile((name) => median(trials.map((record) => okLatency(record, name)))),
      to_reference: ratiosTo(REFERENCE),
      to_adaptive: ratiosTo('adaptive'),
      saved_ms: -differenceTo(REFERENCE, strategy, part, records, (record) => okLatency(record, 'mean')).estimate,
      error_ratio: errorRatio(trials),
      queued_ratio: queuedRatio(countsOf(trials)),
      trials: trials.length,
    }
  })
}

/** @template T @param {(name: typeof PERCENTILES[number]) => T} compute @returns {ByPercentile<T>} */
function byPercentile(compute) {
  return /** @type {any} */ (Object.fromEntries(PERCENTILES.map((name) => [name, compute(name)])))
}

/**
 * What the balancer itself adds, over an endpoint that answers at once.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 */
export function overheadFigures(plan, records) {
  return measuredIn('overhead', plan, records).map((strategy) => {
    const trials = trialsOf(records, 'overhead', strategy)
    const isDirect = strategy === 'direct'
    return {
      strategy,
      p50_ms: median(trials.map(p50)),
      added_ms: isDirect ? null : differenceTo('direct', strategy, 'overhead', records, p50),
      cpu_us: isDirect ? null : median(trials.map(cpuOf)),
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
      p50_ms: median(trials.map(p50)),
    }
  })
}

/** @param {Records[number]} record of the part failing */
export function leaving({ probes }) {
  return leavingOf(probes.target, probes.target.names.indexOf('failing'))
}

/** What processes bring. @param {BalancePlan} plan @param {Records} records */
export function processFigures(plan, records) {
  const goodput = (/** @type {Records[number]} */ { traffic }) => traffic.goodput_rps
  const observations = observationsOf('processes', records, goodput)
  return measuredIn('processes', plan, records).map((strategy) => {
    const trials = trialsOf(records, 'processes', strategy)
    return {
      strategy,
      goodput_rps: median(trials.map(goodput)),
      p50_ms: median(trials.map(p50)),
      cores: String(trials[0]?.settings.API_CORES ?? trials[0]?.target.cores ?? ''),
      to_one: strategy === '1' ? null : ratioOf(observations, strategy, '1'),
      is_limited: [strategy, '1'].some((one) => generatorWasLimit(trialsOf(records, 'processes', one))),
    }
  })
}

/**
 * The share of the requests that each endpoint got, per endpoint: in all, in a few slices of the trials, and in more.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 * @returns {ShareFigures[]}
 *
 * @typedef {{ part: 'strategies' | 'crowded' | 'failing', strategy: string, names: string[], whole: number[], columns: number[][], points: number[][] }} ShareFigures
 */
export function shareFigures(plan, records) {
  return /** @type {const} */ (['strategies', 'crowded', 'failing']).flatMap((part) => {
    const { duration_s } = plan.sizes[part]
    return measuredIn(part, plan, records).map((strategy) => {
      const counts = countsOf(trialsOf(records, part, strategy))
      const inSlices = (/** @type {number} */ slices) => sharesOf(counts, { slices, duration_s })
      const whole = inSlices(1).flat()
      return {
        part,
        strategy,
        names: counts[0].names,
        whole,
        columns: inSlices(COLUMNS),
        points: inSlices(pointsFor(counts)),
      }
    })
  })
}

/** @param {Counts[]} trials */
function pointsFor(trials) {
  const counts = trials.flatMap(({ endpoints }) => endpoints.flatMap(({ requests }) => requests))
  const requests = counts.reduce((sum, count) => sum + count, 0)
  return Math.min(POINTS.most, Math.max(POINTS.least, Math.floor(requests / POINTS.requests)))
}

/** @param {Records} trials @returns {Counts[]} */
function countsOf(trials) {
  return trials.map(({ probes }) => probes.target)
}

/** Strategies with a valid trial. @param {MeasuredPart} part @param {BalancePlan} plan @param {Records} records */
function measuredIn(part, plan, records) {
  return strategiesOf(part, plan).filter((strategy) => trialsOf(records, part, strategy).length > 0)
}

/** Of the successes. @param {Records[number]} record @param {'mean' | typeof PERCENTILES[number]} name */
function okLatency({ traffic }, name) {
  return traffic.ok_latency_ms?.[name] ?? Number.NaN
}

/** @param {Records[number]} record */
export function p50(record) {
  return okLatency(record, 'p50')
}

/** Microseconds of the balancer per request. @param {Records[number]} record */
export function cpuOf({ probes }) {
  return probes.api.cpu_us_per_request ?? Number.NaN
}

/** Of the requests that clients sent. @param {Records} trials */
export function errorRatio(trials) {
  const planned = trials.reduce((sum, { traffic }) => sum + traffic.planned, 0)
  return planned === 0 ? Number.NaN : 1 - trials.reduce((sum, { traffic }) => sum + traffic.ok, 0) / planned
}

/** @param {MeasuredPart} part @param {Records} records @param {(record: Records[number]) => number} value */
function observationsOf(part, records, value) {
  const own = records.filter((record) => record.cell.part === part && isSound(record) && value(record) > 0)
  return own.map((record) => {
    const { strategy } = record.cell
    return { block: record.at.block, cell: strategy, levels: { strategy }, value: value(record) }
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
    const other = others.find(({ at }) => at.block === record.at.block)
    const difference = other ? value(record) - value(other) : Number.NaN
    return Number.isFinite(difference) ? [difference] : []
  })
  return typical(differences, CONFIDENCE)
}
