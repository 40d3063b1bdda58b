import { isSettled, isValid } from '../../../load/capacity/ladder.js'
import { coldWarmup, coldWarmups_s, hasStopped } from '../../knobs/sides.js'
import { visitsOf } from '../../stats/design.js'
import { aloneMix } from './alone.js'
import { crossingsOf, nextWorkers, rungsOf } from './climb.js'

/**
 * @import { Side } from '../../knobs/sides.js'
 * @import { Price } from './cost.js'
 * @import { Entry, Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

/** Maximum number of trials of a rung as long as none is valid. */
const TRIES = 3

/** Workers for a request type alone: as many as the publication has connections. */
const SCREEN_WORKERS = 16

const START_WORKERS = 8

/** Only for the estimate of the time left: the start of a generator, and the rungs of a climb that begins near the ceiling. */
const START_S = 0.8
const LATER_RUNGS = 2.3

/**
 * @typedef {TrialRecord[]} Records
 * @typedef {{ key: string, side: string, driver: string, variant: string, entry?: string }} Series one climb in each block; entry: of
 *   the mix, if it is sent alone
 * @typedef {Plan & { sides: Record<string, Side>, prices: Record<string, Price>, drivers: string[],
 *   generator_cores?: number, without: Entry[] | null, left_out: string | null, each?: boolean, background_rps: number, ceiling_ms: number,
 *   most_workers: number, growth: number, close: number, blocks: number, cold_warmup_s?: number }} RampPlan drivers: the first one answers, the others
 *   check it; without: the mix without the entries that are left out; each: whether each entry of the mix also climbs alone; growth:
 *   from one rung to the next in the first block; close: how far apart the two rungs around the ceiling may be
 */

/**
 * Measures first each request type alone with a few workers, then blocks, each with a climb of every series in random order: the
 * first climb finds the ceiling, and the climbs of later blocks begin just below it. All this ends as soon as a side
 * stops answering.
 * @param {RampPlan} plan @param {Records} records @returns {Step | null}
 */
export function design(plan, records) {
  if (Object.keys(plan.sides).some((side) => hasStopped(records, side))) return null
  const { mix, drivers, blocks, most_workers, warmup_s, duration_s } = plan
  const whole_s = durationOf(plan)
  const common = { loop: /** @type {const} */ ('closed'), rate_rps: null, warmup_s, duration_s }
  for (const { side, entry } of screensOf(plan)) {
    const at = { phase: 'screen', entry: entry.name }
    if (isSettled(trialsAt(records, side, at), isValid, TRIES)) continue
    const connections = Math.min(SCREEN_WORKERS, most_workers)
    const load = { ...common, driver: drivers[0], connections, mix: aloneMix(mix, entry) }
    return { at, cell: { side }, left_s: whole_s, ...coldWarmup(plan, side), load }
  }
  const visits = visitsOf({ cells: seriesOf(plan), anchor: null, blocks, seed: mix.seed })
  for (const [i, { block, cell: series }] of visits.entries()) {
    const { side, driver } = series
    const at = placeOf(series)
    const connections = nextRung(plan, driver, block, trialsAt(records, side, at))
    if (connections === null) continue
    const load = { ...common, driver, connections, ...mixFor(plan, series) }
    const left_s = (whole_s * (visits.length - i)) / visits.length
    // In two climbs that follow each other, a side would be cold only in the first.
    const restart = trialsAt(records, side, { ...at, block }).length === 0
    const start = { ...(restart && { restart }), ...coldWarmup(plan, side) }
    return { at: { ...at, block }, cell: { side }, left_s, ...start, load }
  }
  return null
}

/**
 * One per side and driver, with and without the left-out entries; and one per side and entry, if each climbs alone.
 * @param {Pick<RampPlan, 'sides' | 'drivers' | 'without' | 'each' | 'mix'>} plan @returns {Series[]}
 */
export function seriesOf({ sides, drivers, without, each, mix }) {
  const variants = without ? ['all', 'without'] : ['all']
  const names = each ? (mix.entries ?? []).map(({ name }) => name) : []
  return Object.keys(sides).flatMap((side) => {
    const whole = drivers.flatMap((driver) => {
      return variants.map((variant) => ({ key: `${side}:${driver}:${variant}`, side, driver, variant }))
    })
    const [driver] = drivers
    const alone = names.map((entry) => {
      return { key: `${side}:${driver}:only:${entry}`, side, driver, variant: 'only', entry }
    })
    return [...whole, ...alone]
  })
}

/** The fields of `at` that the trials of a series have in common. @param {Series} series @returns {Record<string, string>} */
export function placeOf({ driver, variant, entry }) {
  const place = { phase: 'climb', driver, variant }
  return entry === undefined ? place : { ...place, entry }
}

/** The mix of a series as part of its load; empty if it is the plan's. @param {RampPlan} plan @param {Series} series */
function mixFor({ mix, without, left_out }, { variant, entry }) {
  if (variant === 'without' && without) {
    return { mix: { ...mix, name: `${mix.name} without ${left_out}`, entries: without } }
  }
  const alone = mix.entries?.find(({ name }) => name === entry)
  return alone ? { mix: aloneMix(mix, alone) } : {}
}

/** The requests to measure alone, on each side, if the mix has several. @param {Pick<RampPlan, 'mix' | 'sides'>} plan */
export function screensOf({ mix: { entries = [] }, sides }) {
  return entries.length > 1 ? Object.keys(sides).flatMap((side) => entries.map((entry) => ({ side, entry }))) : []
}

/** @param {Records} records @param {string} side @param {Record<string, string | number>} where fields of `at` */
export function trialsAt(records, side, where) {
  const fields = Object.entries(where)
  return records.filter(({ at, cell }) => cell.side === side && fields.every(([name, value]) => at[name] === value))
}

/** Estimated seconds of the whole run. @param {RampPlan} plan */
export function durationOf(plan) {
  const { duration_s, warmup_s, ceiling_ms, growth, most_workers, blocks } = plan
  const trial_s = warmup_s + duration_s + START_S
  const first = Math.log(most_workers / START_WORKERS) / Math.log(growth) + 2
  const series = seriesOf(plan).length
  const climbs_s = series * (trial_s + ceiling_ms / 1000) * (first + (blocks - 1) * LATER_RUNGS)
  // Each climb starts its side.
  const starts = (blocks * series) / Object.keys(plan.sides).length
  return climbs_s + screensOf(plan).length * trial_s + coldWarmups_s({ ...plan, blocks: starts })
}

/** @param {RampPlan} plan @param {string} driver @param {number} block @param {Records} records of the series @returns workers; null if the climb of this block is over */
function nextRung(plan, driver, block, records) {
  const { most_workers: most, growth, close, generator_cores = 1 } = plan
  const own = records.filter(({ at }) => at.block === block)
  const last = own.filter(({ load }) => load.connections === own.at(-1)?.load.connections)
  // A rung without a valid trial ends its climb: beyond it, we would only guess.
  if (last.length > 0 && !last.some(isValid)) return last.length < TRIES ? last[0].load.connections : null
  const [known] = crossingsOf(plan, records)
  const start = known ? { start: known.below.workers, growth: close } : { start: START_WORKERS, growth }
  // wrk leaves cores unused unless the number of workers is a multiple of them.
  const multiple = driver === 'wrk' ? generator_cores : 1
  return nextWorkers(rungsOf(plan, own), { ...start, most, close, multiple })
}
