import { median, typical } from '../../../load/verdict/ranks.js'
import { byBlock, CONFIDENCE, excessOf, pairedRatio } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'
import { isSound } from '../../stats/sound.js'
import { leavingOf, queuedRatio, sharesOf } from './shares.js'
import { REFERENCE, strategiesOf } from './steps.js'

/**
 * @import { BalancePlan } from './balance.js'
 * @import { Counts } from './shares.js'
 * @import { MeasuredPart, Records } from './steps.js'
 * @typedef {ReturnType<typeof figuresOf>} Figures
 * @typedef {ReturnType<typeof measuredOf>} Measured
 * @typedef {(record: Records[number]) => number} Value
 */

export const PERCENTILES = /** @type {const} */ (['p25', 'p50', 'p75', 'p95'])

/** The results of each strategy in each part. @param {BalancePlan} plan @param {Records} records */
export function figuresOf(plan, records) {
  /** @template T @param {MeasuredPart} part @param {(measured: Measured) => T} compute */
  const each = (part, compute) => {
    const sound = trialsAt(records, { part }, isSound)
    const measured = strategiesOf(part, plan).map((strategy) => measuredOf(strategy, sound))
    const found = measured.filter(({ trials }) => trials.length > 0)
    return found.map((one) => ({ strategy: one.strategy, ...compute(one) }))
  }
  return {
    strategies: each('strategies', unevenFigures),
    crowded: each('crowded', unevenFigures),
    failing: each('failing', failingFigures),
    overhead: each('overhead', overheadFigures),
    shares: each('strategies', ({ trials }) => ({ shares: sharesOf(countsOf(trials)) })),
  }
}

/** A strategy's trials, and its comparison with others within a block. @param {string} strategy @param {Records} sound trials of its part */
function measuredOf(strategy, sound) {
  const trialsOf = (/** @type {string} */ one) => sound.filter(({ cell }) => cell.strategy === one)
  const trials = trialsOf(strategy)
  return {
    strategy,
    trials,
    middle: (/** @type {Value} */ value) => median(trials.map(value)),
    ratioTo: (/** @type {string} */ reference, /** @type {Value} */ value) => {
      return pairedRatio(byBlock(trialsOf(reference), value), byBlock(trials, value))
    },
    differenceTo: (/** @type {string} */ reference, /** @type {Value} */ value) => {
      const differences = excessOf(byBlock(trials, value), byBlock(trialsOf(reference), value))
      return typical([...differences.values()].filter(Number.isFinite), CONFIDENCE)
    },
  }
}

/** Figures over uneven endpoints; latencies are those of the successes. @param {Measured} measured */
function unevenFigures({ strategy, trials, middle, ratioTo, differenceTo }) {
  const ratiosTo = (/** @type {string} */ other) => {
    return strategy === other ? null : byPercentile((value) => ratioTo(other, value))
  }
  return {
    latency_ms: byPercentile(middle),
    mean_ms: middle(okLatency_ms('mean')),
    to_reference: ratiosTo(REFERENCE),
    to_adaptive: ratiosTo('adaptive'),
    saved_ms: -differenceTo(REFERENCE, okLatency_ms('mean')).estimate,
    error_ratio: errorRatio(trials),
    queued_ratio: queuedRatio(countsOf(trials)),
    trials: trials.length,
  }
}

/** @template T @param {(value: Value) => T} compute */
function byPercentile(compute) {
  const found = PERCENTILES.map((name) => [name, compute(okLatency_ms(name))])
  return /** @type {Record<typeof PERCENTILES[number], T>} */ (Object.fromEntries(found))
}

/** The overhead of the balancer, in front of an endpoint that answers at once. @param {Measured} measured */
function overheadFigures({ strategy, middle, differenceTo }) {
  const isDirect = strategy === 'direct'
  return {
    p50_ms: middle(p50_ms),
    added_ms: isDirect ? null : differenceTo('direct', p50_ms),
    cpu_us: isDirect ? null : middle(({ probes }) => probes.api.cpu_us_per_request ?? Number.NaN),
  }
}

/** Times until the failing endpoint is dropped, and until it is used again. @param {Measured} measured */
function failingFigures({ trials, middle }) {
  const found = countsOf(trials).map(leavingOf)
  return {
    leave_s: found.map(({ leave_s }) => leave_s),
    back_s: found.map(({ back_s }) => back_s),
    errors_at_endpoint: median(found.map(({ errors }) => errors)),
    error_ratio: errorRatio(trials),
    p50_ms: middle(p50_ms),
  }
}

/** Counts of the endpoints themselves. @param {Records} trials @returns {Counts[]} */
function countsOf(trials) {
  return trials.map(({ probes }) => probes.target)
}

/** Latency of the successes. @param {'mean' | typeof PERCENTILES[number]} name @returns {Value} */
function okLatency_ms(name) {
  return ({ traffic }) => traffic.ok_latency_ms?.[name] ?? Number.NaN
}

const p50_ms = okLatency_ms('p50')

/** Share of the planned requests that did not succeed. @param {Records} trials */
function errorRatio(trials) {
  const sum = (/** @type {'planned' | 'ok'} */ name) => trials.reduce((total, { traffic }) => total + traffic[name], 0)
  return 1 - sum('ok') / sum('planned')
}
