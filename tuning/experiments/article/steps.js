import { readFileSync } from 'node:fs'
import { byExperiment, isSettled, isValid } from '../../../load/capacity/ladder.js'
import { loadOf } from '../../knobs/open-cell.js'
import { levelsOf, nameOf, oncePerPlan, visitsOf } from '../../stats/design.js'

/**
 * @import { NotAppliedCell, Plan, Step } from '../../../load/run/experiment.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 */

/** The figures as they were published; our own transcription. */
export const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/article.json', import.meta.url), 'utf8'))

/** As in the article, and with a fixed set of connections. */
export const GENERATORS = /** @type {const} */ (['vegeta-unbounded', 'paced'])

/** How the article's service stores and refuses: one unnamed statement per row, and nothing is refused for its age. */
const DESIGN = { INSERT_MODE: 'single', MAX_QUEUE_MS: '0', MAX_QUEUE_REQUESTS: '1000000', MAX_LOOP_DELAY_MS: '0' }

const PEAK = { connections: 128, warmup_s: 2, duration_s: 5 }
const CONNECTIONS = 256
const WARMUP_S = 1

/** What a trial takes beside its load: the start, and answers that come late; more where a generator collapses. */
const BESIDE_S = 20

/**
 * @typedef {Plan & { blocks: number, preset: 'article' }} ArticlePlan
 * @typedef {TrialRecord[]} Records
 * @typedef {typeof GENERATORS[number]} Generator
 */

/**
 * The next trial: the peak of the article's design on this machine, then every row of its table, sent by both generators,
 * in blocks. The offered rates are scaled, so that the same shares of the peak are met. Pure.
 *
 * @param {ArticlePlan} plan
 * @param {Records} records
 * @param {NotAppliedCell[]} notApplied
 * @returns {Step | null}
 */
export function nextStep(plan, records, notApplied) {
  const isOut = (/** @type {string} */ cell) => notApplied.some((one) => one.cell === cell)
  const first = cellOf(0, 'paced')
  if (isOut(first)) return null
  const peak_rps = peakOf(records)
  if (peak_rps === null) {
    if (isSettled(records)) return null
    const load = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, ...PEAK }
    return { experiment: 'peak', cell: first, left_s: durationOf(plan), load }
  }
  const visits = visitsTo(plan)
  const trials = byExperiment(records)
  for (const [i, { experiment, cell, row }] of visits.entries()) {
    if (isOut(cell) || isSettled(trials.get(experiment) ?? [], counts)) continue
    const load = {
      driver: 'paced',
      loop: /** @type {const} */ ('open'),
      rate_rps: offeredHere(row, peak_rps),
      connections: CONNECTIONS,
      warmup_s: WARMUP_S,
      duration_s: plan.duration_s,
      ...loadOf(levelsOf(cell)),
    }
    return { experiment, cell, left_s: ((visits.length - i) / visits.length) * durationOf(plan), load }
  }
  return null
}

/** Seconds. @param {ArticlePlan} plan */
export function durationOf(plan) {
  return visitsTo(plan).length * (plan.duration_s + WARMUP_S + BESIDE_S)
}

/** What the design takes in a closed loop. @param {Records} records @returns {number | null} */
export function peakOf(records) {
  const peak = records.find((record) => record.experiment === 'peak' && isValid(record))
  return peak?.traffic.goodput_rps ?? null
}

/** The trials of a row that count. @param {Records} records @param {number} row @param {Generator} generator */
export function trialsOf(records, row, generator) {
  return records.filter((record) => record.experiment.endsWith(`/${nameOfUnit(row, generator)}`) && counts(record))
}

/** @param {number} row @param {number} peak_rps @returns {number} */
export function offeredHere(row, peak_rps) {
  return Math.round((PUBLISHED.rows[row].offered_rps / PUBLISHED.capacity_rps) * peak_rps)
}

/** What the article's generator did to itself is what the article is about. @param {TrialRecord} record */
function counts(record) {
  return isValid(record) || (record.load.unbounded === true && record.outcome.blame === 'generator')
}

const visitsTo = oncePerPlan((/** @type {ArticlePlan} */ { blocks, mix }) => {
  const cells = PUBLISHED.rows.flatMap((/** @type {any} */ _, /** @type {number} */ row) =>
    GENERATORS.map((generator) => nameOfUnit(row, generator)),
  )
  return visitsOf({ cells, anchor: null, blocks, seed: mix.seed }).map(({ block, position, cell: unit }) => {
    const { row, generator } = unitOf(unit)
    return { experiment: `row/${block}/${position}/${unit}`, cell: cellOf(row, generator), row }
  })
})

/** @param {number} row @param {Generator} generator */
function nameOfUnit(row, generator) {
  return `${row + 1}:${generator}`
}

/** @param {string} unit */
function unitOf(unit) {
  const [number, generator] = unit.split(':')
  return { row: Number(number) - 1, generator: /** @type {Generator} */ (generator) }
}

/** @param {number} row @param {Generator} generator */
function cellOf(row, generator) {
  const { pool_max, connect_timeout_ms, nofile } = PUBLISHED.rows[row]
  return nameOf({
    ...DESIGN,
    POOL_MAX: String(pool_max),
    POOL_CONNECT_TIMEOUT_MS: String(connect_timeout_ms),
    NOFILE: String(nofile),
    GENERATOR: generator,
  })
}
