import { isValid } from '../../../load/capacity/ladder.js'
import { median, typical } from '../../../load/verdict/ranks.js'
import { labelOf, silentSide } from '../../knobs/sides.js'
import { groupBy } from '../../stats/design.js'
import { CONFIDENCE, pairedRatio, verdictOf } from '../../stats/effects.js'
import { generatorShare, isFullShare } from '../../stats/sound.js'
import { crossingsOf, rungsOf } from './climb.js'
import { costPerMillion, costRatio } from './cost.js'
import { placeOf, screensOf, seriesOf, trialsAt } from './design.js'
import { diskBytes } from './rungs.js'

/**
 * @import { RampPlan, Records, Series } from './design.js'
 * @typedef {ReturnType<typeof findingsOf>} RampFindings
 * @typedef {ReturnType<typeof climbed>} Climbed
 */

/** Drivers agree if their rates at the ceiling differ by no more than this factor. */
export const AGREE_RATIO = 1.1

/** @param {RampPlan} plan @param {Records} records @param {{ drivers?: Record<string, string> }} run drivers with their versions */
export function findingsOf(plan, records, { drivers = {} }) {
  const { a: price_a, b: price_b } = plan.prices
  const series = seriesOf(plan).map((one) => climbed(plan, one, records))
  const mains = series.filter(({ isMain }) => isMain)
  const [a, b] = mains
  const bounded = mains.flatMap(({ bound }) => bound)
  // Number of As that do the work of one B; null if there is no B, or if a rate is only a lower bound.
  const work = b && bounded.length === 0 ? ratioTo(a, b) : null
  const b_to_a = price_a && price_b && work && work.pairs > 0 ? costRatio(price_a, price_b, work) : null
  // A ratio is no answer if one of its two rates is the generator's limit.
  const isUnknown = b && mains.some(({ isFull, bound }) => isFull && bound.length > 0)
  const unknown = `it is not known how many of A do the work of one B: ${bounded.join('; ')}`
  const each = eachOf(series)
  const beside = records.flatMap((record) => (isValid(record) && record.beside) || [])
  const found = {
    work,
    bounded,
    cost: { a: a.per_million, b: b?.per_million ?? null, b_to_a },
    kept_ratio: beside.length === 0 ? null : median(beside.map(({ planned, ok }) => ok / planned)),
    agreements: agreementsOf(plan, series),
  }
  return {
    problem: silentSide(records, Object.keys(plan.sides)) ?? (isUnknown ? unknown : null),
    kept: {
      capacity: null,
      limit: null,
      ramp: {
        series: series.map(({ kept }) => kept),
        ...found,
        ...(each.length > 0 && { each: each.map(({ entry, work: own }) => ({ entry, work: own })) }),
      },
    },
    plan,
    ...found,
    series,
    mains,
    each,
    screens: screensOf(plan).map(({ side, entry: { name } }) => {
      return { side, entry: name, trial: trialsAt(records, side, { phase: 'screen', entry: name }).find(isValid) }
    }),
    drivers,
  }
}

/** Agreement of each further driver with the first, by the rate at the ceiling. @param {RampPlan} plan @param {Climbed[]} series */
function agreementsOf({ drivers: [reference, ...others] }, series) {
  const checks = series.filter(({ driver, variant }) => others.includes(driver) && variant === 'all')
  return checks.map((check) => {
    const { side, driver } = check
    const main = /** @type {Climbed} */ (series.find((one) => one.isMain && one.side === side))
    const effect = ratioTo(main, check)
    return { side, driver, reference, effect, verdict: verdictOf({ expect: 'same', least_ratio: AGREE_RATIO }, effect) }
  })
}

/**
 * The series of each entry that climbs alone, A's first, and the number of As that do the work of one B; null if that is not known.
 * @param {Climbed[]} series
 */
function eachOf(series) {
  const alone = series.filter(({ entry }) => entry !== null)
  return [...groupBy(alone, ({ entry }) => String(entry))].map(([entry, own]) => {
    const [a, b] = own
    const isKnown = b && own.every(({ bound }) => bound.length === 0)
    return { entry, series: own, work: isKnown ? ratioTo(a, b) : null }
  })
}

/** The rate of one series at the ceiling as a ratio to another's, block by block. @param {Climbed} reference @param {Climbed} other */
function ratioTo(reference, other) {
  const effect = pairedRatio(reference.rates_rps, other.rates_rps)
  return { level: other.key, estimate: effect.ratio, ...effect }
}

/** @param {RampPlan} plan @param {Series} series @param {Records} records */
function climbed(plan, series, records) {
  const { side, driver, variant, entry = null } = series
  const name = side.toUpperCase()
  const own = trialsAt(records, side, placeOf(series))
  const trials = own.filter(isValid)
  const tried = new Set(own.map(({ at }) => at.block)).size
  const met = crossingsOf(plan, own)
  // If less than half of the blocks met the ceiling, the blocks that did are not typical.
  const crossings = 2 * met.length >= tried ? met : []
  const [below, above] = [crossings.map((one) => one.below.workers), crossings.map((one) => one.above.workers)]
  const withWorkers = (/** @type {number[]} */ some) => trials.filter(({ load }) => some.includes(load.connections))
  const most = Math.max(...trials.map(({ load }) => load.connections))
  const around = withWorkers(crossings.length > 0 ? [...below, ...above] : [most])
  const seen = rungsOf(plan, trials).sort((one, other) => one.workers - other.workers)
  const logs = crossings.map(({ rps }) => Math.log(rps))
  const { estimate, low, high } = typical(logs, CONFIDENCE)
  /** Figures that run.json keeps: medians of the blocks that count; NaN if the ceiling was not met. */
  const kept = {
    ...series,
    blocks: crossings.length,
    met: met.length,
    tried,
    workers: median(crossings.map(({ workers }) => workers)),
    rps: { estimate: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high) },
    // Requests fail before the latency reaches the ceiling.
    refuses: 2 * crossings.filter(({ by_errors }) => by_errors).length > crossings.length,
    below_workers: median(below),
    above_workers: median(above),
    // The rung that came nearest to the ceiling, if the ceiling was not met.
    furthest: crossings.length > 0 ? null : (seen.at(seen.every(({ over }) => over) ? 0 : -1) ?? null),
    // At the rungs around the ceiling or, if it was not met, with the most workers.
    generator_core_ratio: median(around.map(generatorShare)),
  }
  const isFull = isFullShare(kept.generator_core_ratio)
  const limit = isFull
    ? `${driver} was at its own limit on ${name}`
    : `${name} fails requests before it is at the ceiling`
  // The reason why the rate at the ceiling is a lower bound; empty if it is not.
  const bound = crossings.length > 0 && (isFull || kept.refuses) ? [limit] : []
  const price = plan.prices[side]
  const without = variant === 'without' ? `, without ${plan.left_out}` : ''
  const only = entry === null ? '' : `, only ${entry}`
  const underCeiling = withWorkers(below)
  return {
    ...kept,
    kept,
    entry,
    name: `${name}${plan.drivers.length > 1 ? `, ${driver}` : ''}${without}${only}`,
    label: labelOf(plan.sides[side]),
    // The main series answers for its side; the others check it.
    isMain: driver === plan.drivers[0] && variant === 'all',
    isFull,
    bound,
    per_million: price && crossings.length > 0 && bound.length === 0 ? costPerMillion(price, kept.rps) : null,
    trials,
    rates_rps: new Map(crossings.map(({ block, rps }) => [block, rps])),
    rungs: tableRungs(plan, trials),
    // Just below the ceiling: the trials, and medians of their figures.
    below: underCeiling,
    api_core_ratio: median(underCeiling.map(({ probes }) => probes.api.cpu_core_ratio)),
    request_cpu_us: median(underCeiling.map(({ probes }) => probes.api.cpu_us_per_request)),
    answer_disk_bytes: median(underCeiling.map((record) => diskBytes(record) / record.traffic.completed)),
  }
}

/** A rung for the trials with the same number of workers. @param {RampPlan} plan @param {Records} trials valid, of one series */
function tableRungs(plan, trials) {
  const rungs = [...groupBy(trials, ({ load }) => String(load.connections)).values()].map((own) => ({
    workers: own[0].load.connections,
    trials: own,
    rps: median(own.map(({ traffic }) => traffic.goodput_rps)),
    mean_ms: median(own.map(({ traffic }) => traffic.latency_ms?.mean)),
    over: 2 * rungsOf(plan, own).filter(({ over }) => over).length > own.length,
  }))
  return rungs.sort((a, b) => a.workers - b.workers)
}
