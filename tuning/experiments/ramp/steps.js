import { byExperiment, isValid } from '../../../load/capacity/ladder.js'
import { visitsOf } from '../../stats/design.js'
import { aroundCeiling, crossingOf, nextWorkers } from './climb.js'

/**
 * @import { Entry } from '../../../load/generators/mix.js'
 * @import { Plan, Step } from '../../../load/run/experiment.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Side } from '../../knobs/sides.js'
 * @import { Climb, Rung } from './climb.js'
 * @import { Price } from './cost.js'
 */

/** A trial that was invalid is repeated twice at most. */
const MAX_INVALID = 3

/** A request type alone, as many workers as the publication has connections. */
const SCREEN_WORKERS = 16

const START_WORKERS = 8

/** Beside the load itself: processes that start, and what the last answers take. */
const START_S = 0.8
const LONGER_START_S = /** @type {Record<string, number>} */ ({ locust: 2 })

/** For the bar: rungs of a climb from the start, and of one that knows where to look. */
const LATER_RUNGS = 2.3

/**
 * @typedef {'a' | 'b'} Name
 * @typedef {'all' | 'without'} Variant
 * @typedef {TrialRecord[]} Records
 * @typedef {Plan & Ramp} RampPlan
 *
 * @typedef {object} Ramp
 * @property {Partial<Record<Name, Side>>} sides
 * @property {string[]} drivers the first one answers, the others check it
 * @property {boolean} cross_checks by two drivers at least
 * @property {Entry[] | null} without the entries of the mix that are left, where some are to be left out
 * @property {string | null} left_out their names
 * @property {number} ceiling_ms of the mean latency
 * @property {number} most_workers
 * @property {number} growth from one rung to the next in the first block
 * @property {number} close how far apart the two rungs around the ceiling may be
 * @property {number} blocks
 * @property {number} [generator_cores] that the generator may use
 * @property {number} background_rps 0: none
 * @property {Partial<Record<Name, Price>>} prices
 *
 * @typedef {{ key: string, side: Name, driver: string, variant: Variant }} Series one climb in each block
 */

/**
 * The next trial: each request type alone first; then, in blocks, a climb on each side (by each driver, with and without
 * what is to be left out), in an order that is drawn. The first climb finds the ceiling, those of later blocks begin below
 * it. Pure.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @returns {Step | null}
 */
export function nextStep(plan, records) {
  const screen = screenStep(plan, records)
  if (screen) return screen
  const all = seriesOf(plan)
  const visits = visitsOf({ cells: all.map(({ key }) => key), anchor: null, blocks: plan.blocks, seed: plan.mix.seed })
  const climbs = byExperiment(records, climbOf)
  for (const [i, { block, cell: key }] of visits.entries()) {
    const series = /** @type {Series} */ (all.find((one) => one.key === key))
    const workers = climbStep(plan, series, block, climbs)
    if (workers === null) continue
    const left_s = (durationOf(plan) * (visits.length - i)) / visits.length
    const load = { ...loadOf(plan, series.driver, workers), ...mixOf(plan, series) }
    return { experiment: `${climbName(block, key)}/${workers}`, cell: series.side, left_s, load }
  }
  return null
}

/** Every climb of a block. @param {Pick<RampPlan, 'sides' | 'drivers' | 'without'>} plan @returns {Series[]} */
export function seriesOf({ sides, drivers, without }) {
  const names = /** @type {Name[]} */ (Object.keys(sides))
  const variants = /** @type {Variant[]} */ (without ? ['all', 'without'] : ['all'])
  return names.flatMap((side) =>
    drivers.flatMap((driver) =>
      variants.map((variant) => ({ key: `${side}:${driver}:${variant}`, side, driver, variant })),
    ),
  )
}

/** Seconds. @param {RampPlan} plan */
export function durationOf(plan) {
  const { duration_s, warmup_s, ceiling_ms, growth, most_workers, blocks } = plan
  const starts_s = plan.drivers.map((driver) => START_S + (LONGER_START_S[driver] ?? 0))
  const start_s = starts_s.reduce((sum, driver_s) => sum + driver_s, 0) / starts_s.length
  const each_s = warmup_s + duration_s + start_s + ceiling_ms / 1000
  const first = Math.log(most_workers / START_WORKERS) / Math.log(growth) + 2
  const climbs_s = seriesOf(plan).length * each_s * (first + (blocks - 1) * LATER_RUNGS)
  return climbs_s + screened(plan).length * Object.keys(plan.sides).length * (warmup_s + duration_s + start_s)
}

/** The valid trials of a series, all blocks. @param {Records} records @param {string} key */
export function trialsOf(records, key) {
  return records.filter(({ experiment, outcome }) => {
    return experiment.startsWith('ramp/') && experiment.split('/')[2] === key && outcome.verdict !== 'invalid'
  })
}

/** @param {{ experiment: string }} record */
export function blockOf({ experiment }) {
  return Number(experiment.split('/')[1])
}

/**
 * @param {RampPlan} plan
 * @param {Records} trials valid, of one series and block
 * @returns {Rung[]}
 */
export function rungsOf({ ceiling_ms }, trials) {
  return trials.map(({ load, traffic, outcome }) => {
    const mean_ms = traffic.latency_ms?.mean ?? Number.POSITIVE_INFINITY
    const over = mean_ms > ceiling_ms || outcome.verdict === 'fail'
    return { workers: load.connections, rps: traffic.goodput_rps, mean_ms, over }
  })
}

/**
 * Where each block's climb met the ceiling.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {string} key of a series
 */
export function crossingsOf(plan, records, key) {
  const trials = trialsOf(records, key)
  const climbs = [...byExperiment(trials, climbOf).values()].sort(([a], [b]) => blockOf(a) - blockOf(b))
  return climbs.flatMap((own) => {
    const met = metBy(plan, own)
    return met ? [{ block: blockOf(own[0]), ...met }] : []
  })
}

/** Where a climb met the ceiling. @param {RampPlan} plan @param {Records} trials valid, of one series and block */
function metBy(plan, trials) {
  const rungs = rungsOf(plan, trials)
  const crossing = crossingOf(rungs, plan.ceiling_ms)
  return crossing && crossing.rps > 0 ? { ...crossing, ...aroundCeiling(rungs) } : null
}

/**
 * Those of a series that a figure can be made of: none where less than half of its blocks met the ceiling, since those that
 * did are not typical.
 *
 * @param {RampPlan} plan
 * @param {Records} records
 * @param {string} key of a series
 */
export function typicalCrossings(plan, records, key) {
  const crossings = crossingsOf(plan, records, key)
  return 2 * crossings.length >= blocksTried(records, key) ? crossings : []
}

/** Blocks that climbed. @param {Records} records @param {string} key of a series */
export function blocksTried(records, key) {
  const own = records.filter(({ experiment }) => experiment.startsWith('ramp/') && experiment.split('/')[2] === key)
  return new Set(own.map(blockOf)).size
}

/** The requests that are looked at alone, where a mix has several. @param {Pick<RampPlan, 'mix'>} plan */
export function screened({ mix }) {
  const entries = mix.entries ?? []
  return entries.length > 1 ? entries : []
}

/** @param {Records} records @param {Name} side @param {string} name of a request of the mix */
export function screenTrial(records, side, name) {
  return records.find(({ experiment, cell, outcome }) => {
    return experiment === screenName(name) && cell === side && outcome.verdict !== 'invalid'
  })
}

/** @param {RampPlan} plan @param {Records} records @returns {Step | null} */
function screenStep(plan, records) {
  for (const cell of /** @type {Name[]} */ (Object.keys(plan.sides))) {
    for (const entry of screened(plan)) {
      const experiment = screenName(entry.name)
      const own = records.filter((record) => record.experiment === experiment && record.cell === cell)
      if (isDone(own)) continue
      const mix = { ...plan.mix, name: entry.name, entries: [entry] }
      const load = { ...loadOf(plan, plan.drivers[0], Math.min(SCREEN_WORKERS, plan.most_workers)), mix }
      return { experiment, cell, left_s: durationOf(plan), load }
    }
  }
  return null
}

/**
 * @param {RampPlan} plan
 * @param {Series} series
 * @param {number} block
 * @param {Climbs} climbs
 *
 * @typedef {Map<string, Records>} Climbs trials by climb
 */
function climbStep(plan, { key, driver }, block, climbs) {
  const own = climbs.get(climbName(block, key)) ?? []
  const last = own.filter(({ load }) => load.connections === own.at(-1)?.load.connections)
  if (last.length > 0 && !isDone(last)) return last[0].load.connections
  // A rung that cannot be had ends its climb: what lies beyond it would only be guessed.
  if (last.length > 0 && last.every(({ outcome }) => outcome.verdict === 'invalid')) return null
  const rungs = rungsOf(plan, own.filter(isValid))
  // With any other number, wrk leaves cores unused.
  const multiple = driver === 'wrk' ? (plan.generator_cores ?? 1) : 1
  return nextWorkers(rungs, { ...startOf(plan, key, block, climbs), multiple })
}

/**
 * The first climb begins at the bottom, later ones below the ceiling that an earlier one met.
 *
 * @param {RampPlan} plan
 * @param {string} key
 * @param {number} block
 * @param {Climbs} climbs
 * @returns {Climb}
 */
function startOf(plan, key, block, climbs) {
  const { most_workers: most, growth, close } = plan
  for (let earlier = 0; earlier < block; earlier++) {
    const known = metBy(plan, (climbs.get(climbName(earlier, key)) ?? []).filter(isValid))
    if (known?.below) return { start: known.below.workers, most, growth: close, close }
  }
  return { start: START_WORKERS, most, growth, close }
}

/** The name of a climb, without the workers of a rung. @param {number} block @param {string} key */
function climbName(block, key) {
  return `ramp/${block}/${key}`
}

/** @param {string} experiment */
function climbOf(experiment) {
  return experiment.slice(0, experiment.lastIndexOf('/'))
}

/** @param {RampPlan} plan @param {string} driver @param {number} connections */
function loadOf({ warmup_s, duration_s }, driver, connections) {
  const loop = /** @type {const} */ ('closed')
  return { driver, loop, rate_rps: null, connections, warmup_s, duration_s }
}

/** The plan's own, unless something is left out. @param {RampPlan} plan @param {Series} series */
function mixOf({ mix, without: entries, left_out }, { variant }) {
  return variant === 'all' || !entries ? {} : { mix: { ...mix, name: `${mix.name} without ${left_out}`, entries } }
}

/** @param {Records} trials of one rung */
function isDone(trials) {
  return trials.length >= MAX_INVALID || trials.some(({ outcome }) => outcome.verdict !== 'invalid')
}

/** @param {string} name */
function screenName(name) {
  return `screen/${name}`
}

/** The disks and the memory that are seen are ours: those of a side where it is here, too. @param {Records[number]} record */
export function isHere({ target }) {
  return target?.kind === 'local'
}
