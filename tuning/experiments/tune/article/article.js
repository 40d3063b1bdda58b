import { readFileSync } from 'node:fs'
import { isValid } from '../../../../load/capacity/ladder.js'
import { count, milliseconds, NONE, percent } from '../../../../load/report/format.js'
import { median } from '../../../../load/verdict/ranks.js'
import { loadOf } from '../../../knobs/means.js'
import { durationOf, matrixVisits, nextTrial, peakOf, trialsAt } from '../../../stats/matrix.js'
import { spreadOf } from '../../../stats/spread.js'
import { lastReason } from '../findings.js'
import { conclusionsOf, sumOf } from './conclusions.js'

/**
 * @import { Matrix } from '../../../stats/matrix.js'
 * @import { Cell, NotAppliedCell, Plan, Step, TrialRecord } from '../../../../load/report/record.js'
 */

/** The figures as they were published; our own transcription. @type {{ capacity_rps: number, rows: Published[] }} */
const PUBLISHED = JSON.parse(readFileSync(new URL('../../../published/article.json', import.meta.url), 'utf8'))

/** As in the article, and with a fixed set of connections. */
const GENERATORS = /** @type {const} */ (['vegeta-unbounded', 'paced'])

/** The article's service sends one unnamed statement per row, and refuses no request for its age. */
const SERVICE = { INSERT_MODE: 'single', MAX_QUEUE_MS: 0, MAX_QUEUE_REQUESTS: 1_000_000, MAX_LOOP_DELAY_MS: 0 }

const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, connections: 128 }
const PEAK = { cell: cellOf(0, 'paced'), load: { ...CLOSED, warmup_s: 2, duration_s: 5 } }
const OPEN = { driver: 'paced', loop: /** @type {const} */ ('open'), connections: 256, warmup_s: 1 }

/** What a trial takes besides its load: the start, and late answers; more where a generator collapses. */
const OVERHEAD_S = 20

/**
 * The figures of a row: the head of each, how it is written, and a trial's value.
 * @satisfies {Record<string, [string, (value: any) => string, (traffic: TrialRecord['traffic']) => number | undefined]>}
 */
export const FIGURES = {
  achieved_rps: ['achieved/s', whole, ({ achieved_rps }) => achieved_rps],
  success_ratio: ['success', percent, ({ success_ratio }) => success_ratio],
  mean_ms: ['mean', milliseconds, ({ latency_ms }) => latency_ms?.mean],
  p99_ms: ['p99', milliseconds, ({ latency_ms }) => latency_ms?.p99],
  max_ms: ['max', milliseconds, ({ latency_ms }) => latency_ms?.max],
  min_ms: ['min', milliseconds, ({ latency_ms }) => latency_ms?.min],
  created: ['201', whole, ({ status }) => status[201] ?? 0],
  server_errors: ['5xx', whole, ({ status }) => sumOf(status, '5')],
  code_0: ['code 0', whole, ({ errors }) => sumOf(errors)],
}

/**
 * @typedef {Plan & { blocks: number, preset: 'article' }} ArticlePlan
 * @typedef {typeof GENERATORS[number]} Generator
 * @typedef {Record<keyof typeof FIGURES, number>} Figures
 * @typedef {{ offered_rps: number, pool_max: number, connect_timeout_ms: number, nofile: number } & Figures} Published
 */

/**
 * The next trial: the peak of the article's service on this machine, then every row of its table, sent by both generators, in
 * blocks. Each row offers the same share of the peak as the article did. Pure.
 * @param {ArticlePlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied @returns {Step | null}
 */
export function designArticle(plan, records, notApplied) {
  return nextTrial(matrixOf(plan, peakOf(records)), records, notApplied)
}

/** Seconds. @param {ArticlePlan} plan */
export function articleDuration(plan) {
  return durationOf(matrixOf(plan, null))
}

/** @param {ArticlePlan} plan @param {number | null} peak_rps @returns {Matrix} */
function matrixOf({ blocks, mix, duration_s }, peak_rps) {
  const units = PUBLISHED.rows.flatMap((_, row) =>
    GENERATORS.map((generator) => ({ cell: cellOf(row, generator), at: { row, generator } })),
  )
  return {
    visits: matrixVisits({ units, blocks, seed: mix.seed }),
    visit_s: duration_s + OPEN.warmup_s + OVERHEAD_S,
    peak: PEAK,
    counts,
    loadOf: ({ cell, at }) => ({ ...OPEN, rate_rps: offeredHere(at.row, peak_rps), duration_s, ...loadOf(cell) }),
  }
}

/** @param {number} row @param {Generator} generator @returns {Cell} */
function cellOf(row, generator) {
  const { pool_max, connect_timeout_ms, nofile } = PUBLISHED.rows[row]
  const own = { POOL_MAX: pool_max, POOL_CONNECT_TIMEOUT_MS: connect_timeout_ms, NOFILE: nofile }
  return { ...SERVICE, ...own, GENERATOR: generator }
}

/** @param {number} row @param {number | null} peak_rps */
export function offeredHere(row, peak_rps) {
  return Math.round((PUBLISHED.rows[row].offered_rps / PUBLISHED.capacity_rps) * (peak_rps ?? Number.NaN))
}

/** What the article's generator did to itself is what the article is about. @param {TrialRecord} record */
function counts(record) {
  return isValid(record) || (record.load.unbounded === true && record.outcome.blame === 'generator')
}

/**
 * The article's rows, published and here, and a verdict on each of its conclusions. Pure.
 * @typedef {ReturnType<typeof analyseArticle>} ArticleFindings
 * @param {ArticlePlan} plan @param {TrialRecord[]} records
 */
export function analyseArticle({ preset, blocks, duration_s }, records) {
  const peak_rps = peakOf(records)
  const trialsOf = (/** @type {number} */ row, /** @type {Generator} */ generator) => {
    return trialsAt(records, { row, generator }, counts)
  }
  const conclusions = conclusionsOf((row, generator) => trialsOf(row - 1, generator))
  return {
    problem: peak_rps === null ? `the article's design has no peak: ${lastReason(records)}` : null,
    kept: { conclusions },
    preset,
    blocks,
    duration_s,
    peak_rps,
    published_rps: PUBLISHED.capacity_rps,
    conclusions,
    rows: PUBLISHED.rows.map((published, row) => ({
      published,
      offered_rps: offeredHere(row, peak_rps),
      measured: GENERATORS.map((generator) => ({ generator, ...measuredRow(trialsOf(row, generator)) })),
    })),
  }
}

/** Medians over the blocks. @param {TrialRecord[]} trials */
function measuredRow(trials) {
  const medians = Object.entries(FIGURES).map(([name, [, , value]]) => {
    return [name, median(trials.map(({ traffic }) => value(traffic)))]
  })
  return {
    trials: trials.length,
    success: spreadOf(trials.map(({ traffic }) => traffic.success_ratio)),
    .../** @type {Figures} */ (Object.fromEntries(medians)),
  }
}

/** @param {number | undefined} value */
function whole(value) {
  return value === undefined ? NONE : count(Math.round(value))
}
