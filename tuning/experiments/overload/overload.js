import { COLD_WARMUP_S, isValid, MAX_INVALID } from '../../../load/capacity/ladder.js'
import { NotApplied, UsageError } from '../../../load/command/errors.js'
import { duration, durationFlag, numberFlag, seedFlag, switchFlag } from '../../../load/command/flags.js'
import { answer, method, table } from '../../../load/report/blocks.js'
import { breakdown, count, mebibytes, milliseconds, NONE, offered, wholePercent } from '../../../load/report/format.js'
import { localPlan } from '../../../load/run/plan.js'
import { openPlanned } from '../../../load/run/runner.js'
import { median } from '../../../load/verdict/ranks.js'
import { openCell } from '../../knobs/open-cell.js'
import { groupBy, totalsOf } from '../../stats/design.js'
import { nextTrial, peakOf } from '../../stats/matrix.js'
import { ratios } from '../../stats/measures.js'
import { columnsOf, keptSpread, spread } from '../../stats/tables.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Cell, Plan, Step, TrialRecord } from '../../../load/report/record.js'
 * @import { Place } from '../../../load/run/site.js'
 * @import { Matrix, Visit } from '../../stats/matrix.js'
 */

const DEFAULTS = { blocks: 5, duration: 15_000, connections: 2000, seed: 1 }
const QUICK = { blocks: 1, duration: 10_000 }
const TIMEOUT_S = 5
/** Maximum level of the knob DB_DELAY_MS (tuning/knobs). */
const MAX_DELAY_MS = 1000

/**
 * A block has a closed loop for the peak, one with as many connections as the overloads (each open connection costs CPU, so that alone
 * lowers the rate), and shares of the first peak in an open loop. Every other block goes backwards, so that a drift of the machine
 * affects all loads alike.
 */
const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, connections: 500 }
const PEAK = 'peak'
const CROWD = 'crowd'
const SHARES = [0.5, 2, 0.5, 3, 0.5]
const SHORT = { warmup_s: 2, duration_s: 5 }

/** How much of the peak is left in an overload, and how soon does the service recover? @type {Experiment<OverloadPlan>} */
export const overload = {
  name: 'overload',
  about: 'how much of the peak is left at two and three times its rate?',
  flags: {
    blocks: numberFlag(`passes over all loads (default ${DEFAULTS.blocks})`, 1, 100),
    duration: durationFlag(`duration of each overload (default ${DEFAULTS.duration / 1000}s)`),
    quick: switchFlag('one block, overloads of 10s: about a minute'),
    'db-delay': {
      ...durationFlag('simulated slowness of the database: added to each statement (default none)'),
      parse: delay,
      expected: `a time from 1ms to ${MAX_DELAY_MS}ms`,
    },
    connections: numberFlag(`connections of the open loop (default ${DEFAULTS.connections})`, 1, 15_000),
    seed: seedFlag(`seed of the users (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run overload                  about 7 minutes
  npm run overload -- --quick
  MAX_QUEUE_MS=100 INSERT_MODE=prepared npm run overload -- --duration 10s`,
  plan(flags) {
    const given = { ...DEFAULTS, ...(flags.quick && QUICK), ...flags }
    const { duration: duration_ms, connections, seed, blocks } = given
    const far = flags['db-delay'] && { cell: { DB_DELAY_MS: flags['db-delay'] } }
    const plan = localPlan({ seed, duration_s: duration_ms / 1000, timeout_s: TIMEOUT_S })
    return { ...plan, blocks, open: connections, ...far }
  },
  design,
  open: (cell, place, plan) => (cell ? openFar(cell, place) : openPlanned(cell, place, plan)),
  analyse,
  report: ({ loads }) => [answer(sentence(loads)), loadTable(loads), method([METHOD, SPLIT])],
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

/**
 * @typedef {Plan & { blocks: number, open: number, cell?: Cell }} OverloadPlan open: connections; cell: for all loads; if absent, the API
 *   as it is
 * @param {OverloadPlan} plan @param {TrialRecord[]} records @returns {Step | null}
 */
export function design(plan, records) {
  const { duration_s, open: connections, cell } = plan
  const peak_rps = peakOf(records)
  if (peak_rps === 0) return null
  /** @type {Matrix} */
  const matrix = {
    peak: { cell: cell ?? null, load: { ...CLOSED, ...SHORT, warmup_s: COLD_WARMUP_S } },
    visits: visitsOf(plan),
    loadOf: ({ at: { phase, share } }) => {
      if (phase === PEAK) return { ...CLOSED, ...SHORT }
      if (phase === CROWD) return { ...CLOSED, connections, ...SHORT }
      const rate_rps = Math.max(1, Math.round(Number(peak_rps) * share))
      const times = share < 1 ? SHORT : { warmup_s: 0.5, duration_s }
      return { driver: 'paced', loop: 'open', rate_rps, connections, ...times }
    },
    // On average: two of seven loads are overloads.
    visit_s: (5 * (SHORT.warmup_s + SHORT.duration_s) + 2 * duration_s) / 7,
    tries: MAX_INVALID,
  }
  return nextTrial(matrix, records, [])
}

/** All visits but the first peak, which comes before them. @param {OverloadPlan} plan @returns {Visit[]} */
function visitsOf({ blocks, open, cell }) {
  const crowd = open === CLOSED.connections ? [] : [{ phase: CROWD }]
  const loads = [{ phase: PEAK }, ...crowd, ...SHARES.map((share) => ({ phase: 'load', share }))]
  const visits = Array.from({ length: blocks }, (_, block) => {
    const order = block % 2 === 1 ? loads.toReversed() : loads
    return order.map((at, position) => ({ cell: cell ?? null, at: { ...at, block, position } }))
  })
  return visits.flat().slice(1)
}

/** @param {OverloadPlan} plan @param {TrialRecord[]} records */
function analyse(plan, records) {
  const loads = loadsOf(records)
  const wanted = visitsOf(plan).length + 1
  const measured = new Set(records.filter(isValid).map(placeOf)).size
  const problem = measured === wanted ? null : `${measured} of ${wanted} loads had a valid trial`
  return { problem, kept: { loads: loads.map(keptLoad) }, loads }
}

/** @param {TrialRecord} record */
function placeOf({ at: { block = 0, position = PEAK } }) {
  return `${block} ${position}`
}

/**
 * The valid trials of each kind of load, and what they got compared with the closed loops of their own blocks. The first peak, which
 * comes before the blocks, is that of the first one.
 * @param {TrialRecord[]} records @typedef {ReturnType<typeof loadsOf>} Loads
 */
function loadsOf(records) {
  /** @type {TrialRecord[]} */
  const all = records.map((record) => ({ ...record, at: { block: 0, ...record.at } }))
  const shares = new Map(all.map((record) => [placeOf(record), record.at.share]))
  const nameOf = (/** @type {TrialRecord} */ { at: { phase, share, block, position } }) => {
    return share === undefined ? phase : loadName(share, shares.get(`${block} ${position - 1}`))
  }
  const byName = groupBy(all.filter(isValid), nameOf)
  const ratiosTo = (/** @type {string} */ reference, /** @type {TrialRecord[]} */ trials) => {
    return ratios(trials, byName.get(reference) ?? [], ({ traffic }) => traffic.goodput_rps)
  }
  return NAMES.flatMap((name) => {
    const trials = byName.get(name) ?? []
    if (trials.length === 0) return []
    return [{ name, trials, of_peak: ratiosTo(PEAK, trials), of_crowd: ratiosTo(CROWD, trials), ...figuresOf(trials) }]
  })
}

/** Figures of which the table shows the median. @satisfies {Record<string, (record: TrialRecord) => number | undefined>} */
const MEDIANS = {
  ok_p50_ms: ({ traffic }) => traffic.ok_latency_ms?.p50,
  ok_p99_ms: ({ traffic }) => traffic.ok_latency_ms?.p99,
  service_p99_ms: ({ traffic }) => traffic.ok_service_ms?.p99,
  refused: ({ traffic }) => traffic.status[503] ?? 0,
  api_core_ratio: ({ probes }) => probes.api.cpu_core_ratio,
}

/** refused: responses 503 of a trial; errors: of all trials; rss_bytes: the most, NaN if not known. @param {TrialRecord[]} trials of one kind of load */
function figuresOf(trials) {
  const medians = Object.entries(MEDIANS).map(([name, value]) => [name, median(trials.map((record) => value(record)))])
  return {
    goodputs_rps: trials.map(({ traffic }) => traffic.goodput_rps),
    medians: /** @type {Record<keyof typeof MEDIANS, number>} */ (Object.fromEntries(medians)),
    errors: totalsOf(trials.map(({ traffic }) => traffic.errors)),
    rss_bytes: Math.max(...trials.map(({ probes }) => probes.api.rss_bytes ?? Number.NaN)),
  }
}

/** A row of the table as run.json keeps it. @param {Loads[number]} load */
function keptLoad({ name, trials, of_peak, of_crowd, goodputs_rps, medians, errors, rss_bytes }) {
  const { rate_rps, connections } = trials[0].load
  const [goodput_rps, ...shares] = [goodputs_rps, of_peak, of_crowd].map(keptSpread)
  return {
    ...{ load: name, trials: trials.length, rate_rps, connections, goodput_rps },
    ...{ of_peak: shares[0], of_crowd: shares[1], ...medians, errors, rss_bytes },
  }
}

/** @param {number} share of the peak @param {number} [before] that of the load before it, if it had one */
function loadName(share, before = 0) {
  return share < 1 && before > 1 ? `${share}x after ${before}x` : `${share}x`
}

/** Kinds of loads, as the table lists them. */
const NAMES = [PEAK, CROWD, ...SHARES.map((share, i) => loadName(share, SHARES[i - 1]))]

/** 86 [81–95] % @param {number[]} ratios */
function percents(ratios) {
  const shares = ratios.map((ratio) => ratio * 100)
  const text = spread(shares, 0)
  return text === NONE ? NONE : `${text} %`
}

/** @param {Loads} loads */
function sentence(loads) {
  const [peak, crowd] = [PEAK, CROWD].map((name) => loads.find((load) => load.name === name))
  if (!peak) return 'The peak in a closed loop was not measured.'
  const crowded =
    crowd && ` (${percents(crowd.of_peak)} of it with ${count(Number(crowd.trials[0].load.connections))} connections)`
  const left = loads
    .filter(({ trials }) => trials[0].at.share > 1)
    .map(({ name, of_peak }) => `${percents(of_peak)} of it at ${name}`)
  const peak_rps = median(peak.goodputs_rps)
  return `Peak in a closed loop: ${count(Math.round(peak_rps))}/s${crowded ?? ''}; goodput left in an overload: ${left.join(', ') || 'not measured'}.`
}

/** @param {Loads} loads */
function loadTable(loads) {
  const hasCrowd = loads.some(({ name }) => name === CROWD)
  const [head, rows] = columnsOf(loads, [
    ['load', ({ name }) => name],
    ['trials', ({ trials }) => String(trials.length)],
    ['offered', ({ trials }) => offered(trials[0].load)],
    ['goodput/s', ({ goodputs_rps }) => spread(goodputs_rps, 0)],
    ['of the closed loop', ({ of_peak }) => percents(of_peak)],
    hasCrowd && ['of the crowd', ({ of_crowd }) => percents(of_crowd)],
    ['accepted p50', ({ medians }) => milliseconds(medians.ok_p50_ms)],
    ['p99', ({ medians }) => milliseconds(medians.ok_p99_ms)],
    ['p99 in the service', ({ medians }) => milliseconds(medians.service_p99_ms)],
    ['503', ({ medians }) => count(Math.round(medians.refused))],
    ['errors', ({ errors }) => breakdown(errors)],
    ['API core', ({ medians }) => wholePercent(medians.api_core_ratio)],
    ['RSS', ({ rss_bytes }) => (Number.isNaN(rss_bytes) ? NONE : mebibytes(rss_bytes))],
  ])
  return table(head, rows, { name: 'loads' })
}

const METHOD =
  'Latency counts from the intended send time, so it grows without bound where the service neither serves nor refuses all that is offered. Each half load begins 2 s after the load before it. A trial is compared with the closed loops of its own block; the figures are medians of the valid trials, in brackets the least and the most, the errors are totals, and RSS is the most.'
const SPLIT =
  '*p99 in the service* counts from sending. Before that, a request waits in its client for a free connection; a service can shorten this wait only by keeping up with the offered rate.'
