import { isSettled, isValid } from '../../../load/capacity/ladder.js'
import { visitsOf } from '../../stats/design.js'
import { crossingsOf, nextWorkers, rungsOf } from './climb.js'

/**
 * @import { Side } from '../../knobs/sides.js'
 * @import { Price } from './cost.js'
 * @import { Entry, MixPlan, Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

/** Trials of a rung, if they are invalid. */
const TRIES = 3

/** For a request alone: as many workers as the publication has connections. */
const SCREEN_WORKERS = 16

const START_WORKERS = 8

/** Only for the estimate of the time left: the start of a generator, and the rungs of a climb that begins near the ceiling. */
const START_S = 0.8
const LOCUST_START_S = 2.8
const LATER_RUNGS = 2.3

/**
 * @typedef {'a' | 'b'} Name
 * @typedef {TrialRecord[]} Records
 * @typedef {{ key: string, side: Name, driver: string, variant: string }} Series one climb in each block
 *
 * @typedef {{ sides: Partial<Record<Name, Side>>, drivers: string[], cross_checks: boolean, generator_cores?: number }} Who
 * @typedef {{ without: Entry[] | null, left_out: string | null, background_rps: number }} What
 * @typedef {{ ceiling_ms: number, most_workers: number, growth: number, close: number, blocks: number }} Climbs
 * @typedef {Plan & Who & What & Climbs & { prices: Partial<Record<Name, Price>> }} RampPlan drivers: the first one answers, the
 *   others check it; generator_cores: that it may use; without: the mix without the entries that are left out; null: none is;
 *   growth: from one rung to the next in the first block; close: how far apart the two rungs around the ceiling may be
 */

/**
 * First each request type alone. Then blocks, each with a climb of every series in random order: the first climb finds the
 * ceiling, those of later blocks begin just below it.
 * @param {RampPlan} plan @param {Records} records @returns {Step | null}
 */
export function design(plan, records) {
  const { mix, without, left_out, drivers, blocks, most_workers } = plan
  const whole_s = durationOf(plan)
  for (const { side, entry } of screensOf(plan)) {
    const at = { phase: 'screen', entry: entry.name }
    if (isSettled(trialsAt(records, side, at), isValid, TRIES)) continue
    const alone = { ...mix, name: entry.name, entries: [entry] }
    const load = loadOf(plan, drivers[0], Math.min(SCREEN_WORKERS, most_workers), alone)
    return { at, cell: { side }, left_s: whole_s, load }
  }
  const rest = without && { ...mix, name: `${mix.name} without ${left_out}`, entries: without }
  const visits = visitsOf({ cells: seriesOf(plan), anchor: null, blocks, seed: mix.seed })
  for (const [i, { block, cell: series }] of visits.entries()) {
    const { side, driver, variant } = series
    const workers = nextRung(plan, driver, block, climbsOf(records, series))
    if (workers === null) continue
    const load = loadOf(plan, driver, workers, variant === 'without' ? rest : null)
    const left_s = (whole_s * (visits.length - i)) / visits.length
    return { at: { phase: 'climb', block, driver, variant }, cell: { side }, left_s, load }
  }
  return null
}

/** On each side, by each driver, with and without what is to be left out. @param {Pick<RampPlan, 'sides' | 'drivers' | 'without'>} plan @returns {Series[]} */
export function seriesOf({ sides, drivers, without }) {
  const variants = without ? ['all', 'without'] : ['all']
  return sidesOf({ sides }).flatMap((side) =>
    drivers.flatMap((driver) =>
      variants.map((variant) => ({ key: `${side}:${driver}:${variant}`, side, driver, variant })),
    ),
  )
}

/** @param {Pick<RampPlan, 'sides'>} plan */
export function sidesOf({ sides }) {
  return /** @type {Name[]} */ (Object.keys(sides))
}

/** Seconds. @param {RampPlan} plan */
export function durationOf(plan) {
  const { drivers, duration_s, warmup_s, ceiling_ms, growth, most_workers, blocks } = plan
  const starts_s = drivers.map((driver) => (driver === 'locust' ? LOCUST_START_S : START_S))
  const trial_s = warmup_s + duration_s + starts_s.reduce((sum, one_s) => sum + one_s, 0) / starts_s.length
  const first = Math.log(most_workers / START_WORKERS) / Math.log(growth) + 2
  const climbs_s = seriesOf(plan).length * (trial_s + ceiling_ms / 1000) * (first + (blocks - 1) * LATER_RUNGS)
  return climbs_s + screensOf(plan).length * trial_s
}

/** The requests that are measured alone, on each side: those of a mix of several. @param {Pick<RampPlan, 'mix' | 'sides'>} plan */
export function screensOf({ mix: { entries = [] }, sides }) {
  return entries.length > 1 ? sidesOf({ sides }).flatMap((side) => entries.map((entry) => ({ side, entry }))) : []
}

/** The trials of all climbs of a series. @param {Records} records @param {Series} series */
export function climbsOf(records, { side, driver, variant }) {
  return trialsAt(records, side, { phase: 'climb', driver, variant })
}

/** @param {Records} records @param {Name} side @param {Record<string, string>} where fields of `at` */
export function trialsAt(records, side, where) {
  const fields = Object.entries(where)
  return records.filter(({ at, cell }) => cell.side === side && fields.every(([name, value]) => at[name] === value))
}

/** @param {RampPlan} plan @param {string} driver @param {number} block @param {Records} records of the series @returns workers; null: the climb of this block is over */
function nextRung(plan, driver, block, records) {
  const { most_workers: most, growth, close, generator_cores = 1 } = plan
  const own = records.filter(({ at }) => at.block === block)
  const last = own.filter(({ load }) => load.connections === own.at(-1)?.load.connections)
  // A rung without a valid trial ends its climb: beyond it, we would only guess.
  if (last.length > 0 && !last.some(isValid)) return last.length < TRIES ? last[0].load.connections : null
  const earlier = records.filter(({ at }) => at.block < block)
  const [known] = crossingsOf(plan, earlier)
  const start = known ? { start: known.below.workers, growth: close } : { start: START_WORKERS, growth }
  // With any other number of workers, wrk leaves cores unused.
  const multiple = driver === 'wrk' ? generator_cores : 1
  return nextWorkers(rungsOf(plan, own), { ...start, most, close, multiple })
}

/** @param {RampPlan} plan @param {string} driver @param {number} connections @param {MixPlan | null} mix null: the plan's */
function loadOf({ warmup_s, duration_s }, driver, connections, mix) {
  const loop = /** @type {const} */ ('closed')
  return { driver, loop, rate_rps: null, connections, warmup_s, duration_s, ...(mix && { mix }) }
}
