import { readFileSync } from 'node:fs'
import { COLD_WARMUP_S, isValid } from '../../../../load/capacity/ladder.js'
import { milliseconds, percent, wholePercent } from '../../../../load/report/format.js'
import { median } from '../../../../load/verdict/ranks.js'
import { loadOf } from '../../../knobs/means.js'
import { groupBy } from '../../../stats/design.js'
import { durationOf, matrixVisits, nextTrial, peakOf, trialsAt } from '../../../stats/matrix.js'
import { spread, spreadOf } from '../../../stats/tables.js'
import { lastReason } from '../findings.js'
import { CLOSED, SERVICE } from '../limits/needs.js'
import { conclusionsOf, idleText, OVERLOADS, sumOf, switchesOf } from './conclusions.js'

/**
 * @import { Comparison } from './conclusions.js'
 * @import { Matrix } from '../../../stats/matrix.js'
 * @import { Cell, NotAppliedCell, Plan, Step, TrialRecord } from '../../../../load/report/record.js'
 */

/** The figures as they were published; our own transcription. @type {{ capacity_rps: number, cpu_ratio: number, memory_ratio: number, rows: Published[], comparisons: Comparison[] }} */
const PUBLISHED = JSON.parse(readFileSync(new URL('../../../published/article.json', import.meta.url), 'utf8'))

/** The article's generator, and one with a fixed set of connections. */
const GENERATORS = /** @type {const} */ (['vegeta-unbounded', 'paced'])

const PEAK_LOAD = { ...CLOSED, warmup_s: COLD_WARMUP_S, duration_s: 5 }

/** Connections of the bounded generator: too many for a limit of 700 open files, but few enough for 1024, less those that are not sockets. */
const CONNECTIONS = 850
const OPEN = { driver: 'paced', loop: /** @type {const} */ ('open'), connections: CONNECTIONS, warmup_s: 1 }

/** The article's shorter timeout for a database connection, and the duration of its trials, which was also vegeta's request timeout. */
const SHORT_MS = 2000
const PUBLISHED_S = 30

/** "More files are worse because of context switching": closed loops with these numbers of open sockets, all in use. */
const SOCKETS = [500, 1900]
const SOCKETS_ROW = 4

/** Time of a trial besides its load: the start, and late answers; more if a generator collapses. */
const OVERHEAD_S = 8

const whole = (/** @type {number | undefined} */ value) => spread([Number(value)], 0)

/**
 * The figures of a row: the heading of each, its formatter, and a trial's value.
 * @satisfies {Record<string, [string, (value: any) => string, (record: TrialRecord) => number | null | undefined]>}
 */
export const FIGURES = {
  achieved_rps: ['achieved/s', whole, ({ traffic }) => traffic.achieved_rps],
  success_ratio: ['success', percent, ({ traffic }) => traffic.success_ratio],
  mean_ms: ['mean', milliseconds, ({ traffic }) => traffic.latency_ms?.mean],
  p99_ms: ['p99', milliseconds, ({ traffic }) => traffic.latency_ms?.p99],
  max_ms: ['max', milliseconds, ({ traffic }) => traffic.latency_ms?.max],
  min_ms: ['min', milliseconds, ({ traffic }) => traffic.latency_ms?.min],
  created: ['201', whole, ({ traffic }) => traffic.status[201] ?? 0],
  server_errors: ['5xx', whole, ({ traffic }) => sumOf(traffic.status, '5')],
  code_0: ['code 0', whole, ({ traffic }) => sumOf(traffic.errors)],
  api_core_ratio: ["API's core", wholePercent, ({ probes }) => probes.api.cpu_core_ratio],
  rss_mib: ['RSS, MiB', whole, ({ probes }) => Number(probes.api.rss_bytes) / 2 ** 20],
  open_files: ["API's files", whole, ({ probes }) => probes.api.open_files],
  ports: ['ports in use', whole, ({ probes }) => Number(probes.generator.open_files) + (probes.kernel.time_wait ?? 0)],
}

/**
 * @typedef {Plan & { blocks: number, preset: 'article' }} ArticlePlan
 * @typedef {typeof GENERATORS[number]} Generator
 * @typedef {Record<keyof typeof FIGURES, number>} Figures
 * @typedef {{ offered_rps: number, pool_max: number, connect_timeout_ms: number, nofile: number, success_ratio: number } & Partial<Figures>} Published
 */

/**
 * The next trial: the peak of the article's service on this machine, then every row of its table, sent by both generators, in
 * blocks. Each row offers the same share of the peak as the article did. Pure.
 * @param {ArticlePlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied @returns {Step | null}
 */
export function designArticle(plan, records, notApplied) {
  return nextTrial(matrixOf(plan, peakOf(records)), records, notApplied)
}

/** Estimated seconds of the whole run. @param {ArticlePlan} plan */
export function articleDuration(plan) {
  return durationOf(matrixOf(plan, null))
}

/** @param {ArticlePlan} plan @param {number | null} peak_rps @returns {Matrix} */
function matrixOf({ blocks, mix, duration_s }, peak_rps) {
  const scale = scaleOf(peak_rps)
  const rows = PUBLISHED.rows.flatMap((_, row) =>
    GENERATORS.map((generator) => ({ cell: { ...cellOf(row, scale), GENERATOR: generator }, at: { row, generator } })),
  )
  const sockets = SOCKETS.map((sockets) => ({ cell: cellOf(SOCKETS_ROW, scale), at: { sockets } }))
  return {
    visits: matrixVisits({ units: [...rows, ...sockets], blocks, seed: mix.seed }),
    restarts: true,
    visit_s: duration_s + OPEN.warmup_s + OVERHEAD_S,
    peak: { cell: cellOf(0, 1), load: PEAK_LOAD },
    counts,
    loadOf: ({ cell, at }) => {
      if (at.sockets) return { ...CLOSED, connections: at.sockets, warmup_s: OPEN.warmup_s, duration_s }
      const times = { duration_s, timeout_s: timeoutOf(duration_s) }
      return { ...OPEN, rate_rps: offeredHere(at.row, peak_rps), ...times, ...loadOf(cell) }
    },
  }
}

/** A request's timeout in seconds, scaled like a trial. @param {number} duration_s */
function timeoutOf(duration_s) {
  return Math.min(PUBLISHED_S, duration_s)
}

/**
 * Factor for the article's timeouts for a database connection, which makes the shorter one half of a request's wait if all connections of
 * the bounded generator wait. The original 2 s could not expire here: more requests would have to wait than any limit of open files in
 * the article has room for.
 * @param {number | null} peak_rps
 */
export function scaleOf(peak_rps) {
  const wait_ms = (1000 * CONNECTIONS) / (peak_rps ?? PUBLISHED.capacity_rps)
  return Math.min(1, wait_ms / 2 / SHORT_MS)
}

/** @param {number} row @param {number} scale @returns {Cell} */
function cellOf(row, scale) {
  const { pool_max, connect_timeout_ms, nofile } = PUBLISHED.rows[row]
  const timeout_ms = Math.max(1, Math.round(scale * connect_timeout_ms))
  return { ...SERVICE, POOL_MAX: pool_max, POOL_CONNECT_TIMEOUT_MS: timeout_ms, NOFILE: nofile }
}

/** @param {number} row @param {number | null} peak_rps */
export function offeredHere(row, peak_rps) {
  return Math.round((PUBLISHED.rows[row].offered_rps / PUBLISHED.capacity_rps) * (peak_rps ?? Number.NaN))
}

/** A collapse of the article's own generator counts: the article is about it. @param {TrialRecord} record */
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
  const byDefaults = PUBLISHED.rows.flatMap((_, row) => trialsOf(row, 'vegeta-unbounded'))
  const bounded = OVERLOADS.flatMap((row) => trialsOf(row - 1, 'paced'))
  const bySockets = SOCKETS.map((sockets) => trialsAt(records, { sockets }, counts))
  const conclusions = conclusionsOf(PUBLISHED.comparisons, (row, generator) => trialsOf(row - 1, generator), bySockets)
  return {
    problem: peak_rps === null ? `the article's design has no peak: ${lastReason(records)}` : null,
    kept: { conclusions },
    preset,
    blocks,
    duration_s,
    peak_rps,
    scale: scaleOf(peak_rps),
    timeout_s: timeoutOf(duration_s),
    published_rps: PUBLISHED.capacity_rps,
    conclusions,
    sockets: bySockets.every((own) => own.length === 0)
      ? []
      : bySockets.map((trials, i) => socketsRow(SOCKETS[i], trials)),
    idle: idleText(byDefaults, bounded, PUBLISHED),
    rows: PUBLISHED.rows.map((published, row) => ({
      published,
      offered_rps: offeredHere(row, peak_rps),
      measured: GENERATORS.map((generator) => ({ generator, ...measuredRow(trialsOf(row, generator)) })),
    })),
  }
}

/** Medians over the blocks. @param {TrialRecord[]} trials */
function measuredRow(trials) {
  const medians = Object.entries(FIGURES).map(([name, [, , value]]) => [name, median(trials.map(value))])
  return {
    trials: trials.length,
    success: spreadOf(trials.map(({ traffic }) => traffic.success_ratio)),
    limits: limitsOf(trials),
    .../** @type {Figures} */ (Object.fromEntries(medians)),
  }
}

/** @param {number} sockets @param {TrialRecord[]} trials */
function socketsRow(sockets, trials) {
  const medianOf = (/** @type {(record: TrialRecord) => number} */ value) => median(trials.map(value))
  return {
    sockets,
    goodput_rps: medianOf(({ traffic }) => traffic.goodput_rps),
    switches: medianOf(switchesOf),
    cpu_us: medianOf(({ probes }) => Number(probes.api.cpu_us_per_request)),
  }
}

/** The limits that the counters named, the most frequent first. @param {TrialRecord[]} trials */
function limitsOf(trials) {
  const names = [...groupBy(trials, ({ limit }) => limit.resource)].sort(([, a], [, b]) => b.length - a.length)
  return names.map(([name, own]) => (names.length === 1 ? name : `${name} ${own.length} of ${trials.length}`))
}
