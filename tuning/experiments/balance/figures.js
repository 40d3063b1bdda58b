import { CONFIDENCE, observationsOf, ratioOf } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'
import { median, typical } from '../../stats/ranks.js'
import { generatorWasLimit, isSound } from '../../stats/sound.js'
import { leavingOf, queuedRatio, sharesOf } from './shares.js'
import { REFERENCE, strategiesOf } from './steps.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { BalancePlan } from './plan.js'
 * @import { Counts } from './shares.js'
 * @import { MeasuredPart, Records } from './steps.js'
 */

export const PERCENTILES = /** @type {const} */ (['p25', 'p50', 'p75', 'p95'])

/** Parts with several endpoints. */
export const SHARED = /** @type {const} */ (['strategies', 'crowded', 'failing'])

/** Columns of a table over time. */
const COLUMNS = 6

/** Points of a curve over time: the more requests there were, the more can be told apart. */
const POINTS = { least: 6, most: 24, requests: 100 }

/**
 * What each strategy did in each part.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 *
 * @typedef {ReturnType<typeof figuresOf>} Figures
 * @typedef {Figures['strategies'][number]} StrategyFigures
 */
export function figuresOf(plan, records) {
  /** @template T @param {MeasuredPart} part @param {(measured: Measured, strategy: string) => T} compute */
  const each = (part, compute) => {
    const measured = measuredIn(part, plan, records)
    return measured.strategies.map((strategy) => ({ strategy, ...compute(measured, strategy) }))
  }
  return {
    strategies: each('strategies', unevenFigures),
    crowded: each('crowded', unevenFigures),
    failing: each('failing', failingFigures),
    overhead: each('overhead', overheadFigures),
    processes: each('processes', processFigures),
    shares: SHARED.flatMap((part) => {
      const { duration_s } = plan.sizes[part]
      return each(part, (measured, strategy) => ({ part, ...shareFigures(measured.trialsOf(strategy), duration_s) }))
    }),
  }
}

/**
 * The sound trials of a part, and how its strategies compare within a block.
 *
 * @param {MeasuredPart} part
 * @param {BalancePlan} plan
 * @param {Records} records
 *
 * @typedef {ReturnType<typeof measuredIn>} Measured
 * @typedef {(record: Records[number]) => number} Value
 */
export function measuredIn(part, plan, records) {
  const sound = trialsAt(records, { part }, isSound)
  const named = sound.map((record) => ({ ...record, cell: record.cell.strategy }))
  const trialsOf = (/** @type {string} */ strategy) => sound.filter(({ cell }) => cell.strategy === strategy)
  return {
    trialsOf,
    strategies: strategiesOf(part, plan).filter((strategy) => trialsOf(strategy).length > 0),

    /** @param {string} strategy @param {Value} value */
    middle: (strategy, value) => median(trialsOf(strategy).map(value)),

    /** @param {string} strategy @param {string} reference @param {Value} value */
    ratio: (strategy, reference, value) => ratioOf(observationsOf(named, value), strategy, reference),

    /** @param {string} strategy @param {string} reference @param {Value} value */
    difference: (strategy, reference, value) => {
      const others = new Map(trialsOf(reference).map((record) => [record.at.block, value(record)]))
      const differences = trialsOf(strategy).map((record) => value(record) - Number(others.get(record.at.block)))
      return typical(differences.filter(Number.isFinite), CONFIDENCE)
    },
  }
}

/** Over uneven endpoints: latencies of the successes. @param {Measured} measured @param {string} strategy */
function unevenFigures({ trialsOf, middle, ratio, difference }, strategy) {
  const trials = trialsOf(strategy)
  const ratiosTo = (/** @type {string} */ other) => {
    return strategy === other ? null : byPercentile((value) => ratio(strategy, other, value))
  }
  return {
    latency_ms: byPercentile((value) => middle(strategy, value)),
    to_reference: ratiosTo(REFERENCE),
    to_adaptive: ratiosTo('adaptive'),
    saved_ms: -difference(strategy, REFERENCE, (record) => okLatency_ms(record, 'mean')).estimate,
    error_ratio: errorRatio(trials),
    queued_ratio: queuedRatio(countsOf(trials)),
    trials: trials.length,
  }
}

/** @template T @param {(value: Value) => T} compute @returns {ByPercentile<T>} */
function byPercentile(compute) {
  const found = PERCENTILES.map((name) => [name, compute((record) => okLatency_ms(record, name))])
  return Object.fromEntries(found)
}

/** @template T @typedef {Record<typeof PERCENTILES[number], T>} ByPercentile */

/** What the balancer adds, over an endpoint that answers at once. @param {Measured} measured @param {string} strategy */
function overheadFigures({ middle, difference }, strategy) {
  const isDirect = strategy === 'direct'
  return {
    p50_ms: middle(strategy, p50_ms),
    added_ms: isDirect ? null : difference(strategy, 'direct', p50_ms),
    cpu_us: isDirect ? null : middle(strategy, cpu_us),
  }
}

/** Times to leave an endpoint that failed, and to come back. @param {Measured} measured @param {string} strategy */
function failingFigures({ trialsOf, middle }, strategy) {
  const trials = trialsOf(strategy)
  const found = trials.map(leaving)
  return {
    leave_s: found.map(({ leave_s }) => leave_s),
    back_s: found.map(({ back_s }) => back_s),
    errors_at_endpoint: median(found.map(({ errors }) => errors)),
    error_ratio: errorRatio(trials),
    p50_ms: middle(strategy, p50_ms),
  }
}

/** What further processes bring. @param {Measured} measured @param {string} strategy */
function processFigures({ trialsOf, middle, ratio }, strategy) {
  const goodput_rps = (/** @type {Records[number]} */ { traffic }) => traffic.goodput_rps
  const [first] = trialsOf(strategy)
  return {
    goodput_rps: middle(strategy, goodput_rps),
    p50_ms: middle(strategy, p50_ms),
    cores: String(first.settings.API_CORES ?? first.target.cores ?? ''),
    to_one: strategy === '1' ? null : ratio(strategy, '1', goodput_rps),
    is_limited: [strategy, '1'].some((one) => generatorWasLimit(trialsOf(one))),
  }
}

/** The endpoints' shares: in all, and in slices of the trials. @param {Records} trials @param {number} duration_s */
function shareFigures(trials, duration_s) {
  const counts = countsOf(trials)
  const inSlices = (/** @type {number} */ slices) => sharesOf(counts, { slices, duration_s })
  const requests = counts.flatMap(({ endpoints }) => endpoints.flatMap((one) => one.requests))
  const points = Math.floor(requests.reduce((sum, count) => sum + count, 0) / POINTS.requests)
  return {
    names: counts[0].names,
    whole: inSlices(1).flat(),
    columns: inSlices(COLUMNS),
    points: inSlices(Math.min(POINTS.most, Math.max(POINTS.least, points))),
  }
}

/** As the endpoints counted. @param {Records} trials @returns {Counts[]} */
function countsOf(trials) {
  return trials.map(({ probes }) => probes.target)
}

/** @param {Records[number]} record of the part failing */
export function leaving({ probes }) {
  return leavingOf(probes.target, probes.target.names.indexOf('failing'))
}

/** Of the successes. @param {Records[number]} record @param {'mean' | typeof PERCENTILES[number]} name */
function okLatency_ms({ traffic }, name) {
  return traffic.ok_latency_ms?.[name] ?? Number.NaN
}

/** @param {Records[number]} record */
export function p50_ms(record) {
  return okLatency_ms(record, 'p50')
}

/** Of the balancer, per request. @param {Records[number]} record */
export function cpu_us({ probes }) {
  return probes.api.cpu_us_per_request ?? Number.NaN
}

/** Of the requests that clients sent. @param {Records} trials */
export function errorRatio(trials) {
  const sum = (/** @type {'planned' | 'ok'} */ name) => trials.reduce((total, { traffic }) => total + traffic[name], 0)
  return 1 - sum('ok') / sum('planned')
}
