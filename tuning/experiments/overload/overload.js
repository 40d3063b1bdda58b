import { COLD_WARMUP_S, isValid, MAX_INVALID } from '../../../load/capacity/ladder.js'
import { NotApplied, UsageError } from '../../../load/command/errors.js'
import { duration, durationFlag, numberFlag, seedFlag } from '../../../load/command/flags.js'
import { answer, method, table } from '../../../load/report/blocks.js'
import { breakdown, count, mebibytes, milliseconds, NONE, offered, wholePercent } from '../../../load/report/format.js'
import { localPlan } from '../../../load/run/plan.js'
import { openPlanned } from '../../../load/run/runner.js'
import { openCell } from '../../knobs/open-cell.js'
import { nextTrial, peakOf, trialsAt } from '../../stats/matrix.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Cell, Plan, Step, TrialRecord } from '../../../load/report/record.js'
 * @import { Place } from '../../../load/run/site.js'
 * @import { Matrix } from '../../stats/matrix.js'
 */

const DEFAULTS = { duration: 60_000, connections: 2000, seed: 1 }
const QUICK = { duration: 10_000 }
const TIMEOUT_S = 5
/** Maximum level of the knob DB_DELAY_MS (tuning/knobs). */
const MAX_DELAY_MS = 1000

/**
 * The loads, in this order: a closed loop for the peak, one with as many connections as the overloads (each open connection costs CPU, so
 * that alone lowers the rate), then shares of the peak in an open loop.
 */
const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, connections: 500 }
const PEAK = { ...CLOSED, warmup_s: COLD_WARMUP_S, duration_s: 5 }
const CROWD = 'crowd'
const SHARES = [0.5, 2, 0.5, 3, 0.5]
const HALF = { warmup_s: 2, duration_s: 5 }

/** How much of the peak is left in an overload, and how soon does the service recover? @type {Experiment<OverloadPlan>} */
export const overload = {
  name: 'overload',
  about: 'how much of the peak is left at two and three times its rate?',
  flags: {
    duration: durationFlag(`duration of each overload (default ${DEFAULTS.duration / 1000}s)`),
    quick: { value: '', about: 'overloads of 10s: about a minute' },
    'db-delay': {
      ...durationFlag('simulated slowness of the database: added to each statement (default none)'),
      parse: delay,
      expected: `a time from 1ms to ${MAX_DELAY_MS}ms`,
    },
    connections: numberFlag(`connections of the open loop (default ${DEFAULTS.connections})`, 1, 15_000),
    seed: seedFlag(`seed of the users (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run overload                  about 3 minutes
  npm run overload -- --quick
  MAX_QUEUE_MS=100 INSERT_MODE=prepared npm run overload -- --duration 10s`,
  plan(flags) {
    const { duration: duration_ms, connections, seed } = { ...DEFAULTS, ...(flags.quick && QUICK), ...flags }
    const far = flags['db-delay'] && { cell: { DB_DELAY_MS: flags['db-delay'] } }
    return { ...localPlan({ seed, duration_s: duration_ms / 1000, timeout_s: TIMEOUT_S }), open: connections, ...far }
  },
  design,
  open: (cell, place, plan) => (cell ? openFar(cell, place) : openPlanned(cell, place, plan)),
  analyse(_, records) {
    // Earlier versions had no crowd.
    const valid = records.filter((record) => isValid(record) && record.at.phase !== CROWD)
    const wanted = SHARES.length + 1
    const problem = valid.length === wanted ? null : `${valid.length} of ${wanted} loads had a valid trial`
    const open = valid.filter(({ at }) => at.share !== undefined)
    return {
      problem,
      peak_rps: peakOf(records) ?? Number.NaN,
      records,
      open,
      crowd: trialsAt(records, { phase: CROWD }).at(0),
    }
  },
  report: ({ peak_rps, records, open, crowd }) => [
    answer(sentence(peak_rps, open, crowd)),
    loads(peak_rps, records),
    method(isSplit(records) ? [METHOD, SPLIT] : [METHOD]),
  ],
}

/** Without the requested distance, there is nothing to measure. @param {Cell} cell @param {Place} place @throws {UsageError} */
async function openFar(cell, place) {
  return openCell(cell, place).catch((error) => {
    throw error instanceof NotApplied ? new UsageError(error.message) : error
  })
}

/** @param {string} text */
function delay(text) {
  const ms = duration(text)
  return ms !== undefined && Number.isInteger(ms) && ms <= MAX_DELAY_MS ? ms : undefined
}

const METHOD =
  'Latency counts from the intended send time, so it grows without bound where the service neither serves nor refuses all that is offered. Each half load begins 2 s after the overload before it.'
const SPLIT =
  'The time in the service counts from the sending. Before that a request waits in its client for a free connection, which no service can shorten except by answering as fast as is offered.'

/**
 * @typedef {Plan & { open: number, cell?: Cell }} OverloadPlan open: connections; cell: for all loads; if absent, the API as it is
 * @param {OverloadPlan} plan @param {TrialRecord[]} records @returns {Step | null}
 */
export function design({ duration_s, open: connections, cell }, records) {
  const peak_rps = peakOf(records)
  if (peak_rps === 0) return null
  /** @type {Matrix} */
  const matrix = {
    peak: { cell: cell ?? null, load: PEAK },
    visits: [
      ...(connections === PEAK.connections ? [] : [{ cell: cell ?? null, at: { phase: CROWD, position: 0 } }]),
      ...SHARES.map((share, i) => ({ cell: cell ?? null, at: { phase: 'load', share, position: i + 1 } })),
    ],
    loadOf: ({ at: { share } }) => {
      if (share === undefined) return { ...CLOSED, connections, ...HALF }
      const rate_rps = Math.max(1, Math.round(Number(peak_rps) * share))
      const times = share < 1 ? HALF : { warmup_s: 0.5, duration_s }
      return { driver: 'paced', loop: 'open', rate_rps, connections, ...times }
    },
    // On average: half of the loads are short.
    visit_s: (HALF.warmup_s + HALF.duration_s + duration_s) / 2,
    tries: MAX_INVALID,
  }
  return nextTrial(matrix, records, [])
}

/** @param {number} peak_rps @param {TrialRecord[]} open @param {TrialRecord | undefined} crowd */
function sentence(peak_rps, open, crowd) {
  const share = (/** @type {TrialRecord} */ { traffic }) => wholePercent(traffic.goodput_rps / peak_rps)
  const crowded = crowd && ` (${share(crowd)} of it with ${count(Number(crowd.load.connections))} connections)`
  const left = open
    .filter(({ load }) => Number(load.rate_rps) > peak_rps)
    .map((record) => `${share(record)} of it at ${record.at.share}x`)
  if (Number.isNaN(peak_rps)) return 'The peak in a closed loop was not measured.'
  return `Peak in a closed loop: ${count(Math.round(peak_rps))}/s${crowded ?? ''}; goodput left in an overload: ${left.join(', ') || 'not measured'}.`
}

/** Whether the time since sending is known; earlier versions did not record it. @param {TrialRecord[]} records */
const isSplit = (records) => records.some(({ traffic }) => traffic.ok_service_ms)

/** @param {number} peak_rps @param {TrialRecord[]} records */
function loads(peak_rps, records) {
  const rows = records.map(({ at, load, outcome, traffic, probes: { api } }) => [
    `${at.share === undefined ? at.phase : `${at.share}x`}${isValid({ outcome }) ? '' : ' (invalid)'}`,
    offered(load),
    count(Math.round(traffic.goodput_rps)),
    wholePercent(traffic.goodput_rps / peak_rps),
    milliseconds(traffic.ok_latency_ms?.p50),
    milliseconds(traffic.ok_latency_ms?.p99),
    ...(isSplit(records) ? [milliseconds(traffic.ok_service_ms?.p99)] : []),
    count(traffic.status[503] ?? 0),
    breakdown(traffic.errors),
    wholePercent(api.cpu_core_ratio),
    api.rss_bytes === undefined ? NONE : mebibytes(api.rss_bytes),
  ])
  const accepted = ['accepted p50', 'p99', ...(isSplit(records) ? ['p99 in the service'] : [])]
  const head = [
    'load',
    'offered',
    'goodput/s',
    "of the closed loop's rate",
    ...accepted,
    '503',
    'errors',
    'API core',
    'RSS',
  ]
  return table(head, rows, { name: 'loads' })
}
