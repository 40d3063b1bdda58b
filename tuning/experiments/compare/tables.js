import { readFileSync } from 'node:fs'
import { count, decimal, milliseconds, NONE } from '../../../load/report/format.js'
import { whereAndWhen } from '../../../load/run/old.js'
import { labelOf } from '../../knobs/sides.js'
import { median } from '../../stats/ranks.js'
import { table } from '../../stats/spread.js'
import { predictedRate } from '../../stats/usl.js'
import { lawOf } from './law.js'
import { boundSentence, limitSentence } from './limits.js'
import { histogramOf, percentileOf, samplesOf } from './samples.js'
import { ladderTrials, latencyTrials, refusedRatio } from './steps.js'
import { answerSentence, differencesOf, reasonsOf } from './verdict.js'

/**
 * @import { ComparePlan, Name, Records } from './steps.js'
 * @import { Difference } from './verdict.js'
 */

const PERCENTILES = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]
const HISTOGRAM_BUCKETS = 11

/** What a law levels off at is in sight where so much of it was measured. */
const LEVEL_RATIO = 0.5

const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/compare.json', import.meta.url), 'utf8'))
const NAMES = /** @type {const} */ (['a', 'b'])

/**
 * What was found, for the terminal and the report's top.
 *
 * @param {any} run
 * @param {Records} records
 */
export function compareText(run, records) {
  const { plan } = run
  const differences = differencesOf(plan, records)
  return [
    ...(run.problem ? [`**No trustworthy answer: ${run.problem}.**`] : []),
    answerSentence(differences),
    `A: ${labelOf(plan.sides.a)}; B: ${labelOf(plan.sides.b)}.`,
    differencesTable(differences),
    latencyTable(plan, records),
    maximumTable(records),
    ...NAMES.flatMap((name) => boundSentence(name, records)),
    ...NAMES.flatMap((name) => limitSentence(plan, name, records)),
    lawTable(plan, records),
    ...(run.warnings ?? []).map((/** @type {string} */ text) => `- Warning: ${text}.`),
  ].join('\n\n')
}

/**
 * report.md
 *
 * @param {any} run
 * @param {Records} records
 */
export function compareReport(run, records) {
  const { plan } = run
  return `${[
    `# Redline compare: ${run.run_id}`,
    compareText(run, records),
    '## Where the time goes',
    phasesTable(plan, records),
    '## Histograms',
    ...plan.concurrency.map((/** @type {number} */ workers) => histogramTable(workers, records)),
    '## Answers',
    statusTable(records),
    '## Published',
    publishedTable(),
    `"${PUBLISHED.title}" (${PUBLISHED.author}): ${PUBLISHED.setting}. Its maximum: A ${PUBLISHED.maximum.a.text}; B ${PUBLISHED.maximum.b.map((/** @type {any} */ { workers, rps }) => `${rps}/s at ${workers}`).join(', ')} workers.`,
    '## How it was measured',
    [
      `- ${plan.blocks} blocks, in each both sides in an order that is drawn: closed loop at ${plan.concurrency.join(', ')} workers, ${plan.duration_s} s each. Ratios are taken within a block; their intervals go by ranks and together miss in one run of twenty.`,
      `- In ${plan.ladders} of them, more and more workers that send at most ${plan.per_worker_rps}/s each, until that brings no more. A refusal (429, 503) is no throughput. What the generator (90 % of its cores) or the longest ladder limited is no maximum.`,
      '- Latencies are those of the successes; where a side refuses requests, the rest has it easier, and is not compared. Setting up a connection is no part of a latency; each phase of it is shown apart. A percentile is shown where ten samples lie beyond it. Those of several blocks are put together from buckets 2.3 % wide.',
      ...(run.pinning ? [`- ${run.pinning}`] : []),
    ].join('\n'),
    '## Where',
    whereAndWhen(run),
  ].join('\n\n')}\n`
}

/** @param {Difference[]} differences */
function differencesTable(differences) {
  const rows = differences.map((difference) => {
    const { about, ratio, low, high, pairs, tied, better, refused } = difference
    const isKnown = Number.isFinite(high) && reasonsOf(difference) === ''
    const left = refused.length > 0 ? 'refused' : difference.bounded.length > 0 ? 'our own limit' : 'too few blocks'
    return [
      about,
      Number.isNaN(ratio) || reasonsOf(difference) !== '' ? NONE : `${ratio.toFixed(2)}x`,
      isKnown ? `${low.toFixed(2)}–${high.toFixed(2)}` : left,
      String(pairs),
      !isKnown ? NONE : tied ? 'tied' : ratio > 1 === (better === 'more') ? 'B is better' : 'B is worse',
    ]
  })
  return table(['B to A', 'ratio', 'interval', 'blocks', 'verdict'], rows)
}

/** @param {ComparePlan} plan @param {Records} records */
function latencyTable({ concurrency }, records) {
  const rows = concurrency.flatMap((workers) =>
    NAMES.map((name) => {
      const trials = latencyTrials(records, name, workers)
      const samples = samplesOf(trials)
      return [
        `${name.toUpperCase()}, ${workers}`,
        figure(median(trials.map(({ traffic }) => traffic.goodput_rps))),
        milliseconds(median(trials.map(({ traffic }) => traffic.ok_latency_ms?.mean ?? Number.NaN))),
        ...PERCENTILES.map((share) => milliseconds(percentileOf(samples, share))),
        count(samples.total),
      ]
    }),
  )
  const heads = PERCENTILES.map((share) => `p${Math.round(share * 100)}`)
  return table(['side, workers', 'successes/s', 'mean', ...heads, 'samples'], rows)
}

/** @param {ComparePlan} plan @param {Records} records */
function phasesTable({ concurrency }, records) {
  const names = ['dns', 'connect', 'tls', 'write', 'wait', 'read']
  const rows = concurrency.flatMap((workers) =>
    NAMES.map((side) => {
      const trials = latencyTrials(records, side, workers)
      const of = (/** @type {string} */ name) => {
        return median(trials.map(({ traffic }) => /** @type {any} */ (traffic).phases_ms?.[name]?.p50 ?? Number.NaN))
      }
      return [`${side.toUpperCase()}, ${workers}`, ...names.map((name) => milliseconds(of(name)))]
    }),
  )
  const text = 'Medians; the first three once per connection, the others per request.'
  return [table(['side, workers', ...names], rows), text].join('\n\n')
}

/** @param {number} workers @param {Records} records */
function histogramTable(workers, records) {
  const samples = NAMES.map((name) => samplesOf(latencyTrials(records, name, workers)))
  const ends = samples.flatMap((own) => [
    percentileOf(own, 0.001) ?? percentileOf(own, 0.1),
    percentileOf(own, 0.99) ?? percentileOf(own, 0.9),
  ])
  const known = ends.filter((end) => end !== undefined)
  if (known.length === 0) return `Too few samples at ${workers} workers.`
  const range = { from_ms: Math.min(...known), to_ms: Math.max(...known), count: HISTOGRAM_BUCKETS }
  const shares = samples.map((own) => histogramOf(own, range))
  const width_ms = (range.to_ms - range.from_ms) / range.count
  const rows = Array.from({ length: range.count }, (_, i) => {
    const from_ms = range.from_ms + i * width_ms
    return [`${milliseconds(from_ms)}${i === range.count - 1 ? ' and more' : ''}`, ...shares.map((own) => bar(own[i]))]
  })
  return table([`${workers} workers, from`, 'A', 'B'], rows)
}

/** @param {Records} records */
function maximumTable(records) {
  const [a, b] = NAMES.map((name) => ladderTrials(records, name))
  const rungs = [...new Set([...a, ...b].map(({ load }) => load.connections))].sort((one, other) => one - other)
  const rows = rungs.map((workers) => [
    String(workers),
    ...[a, b].flatMap((trials) => {
      const own = trials.filter(({ load }) => load.connections === workers)
      const refusals = median(own.map(refusedRatio))
      return [
        figure(median(own.map(({ traffic }) => traffic.goodput_rps))),
        Number.isNaN(refusals) ? NONE : `${(refusals * 100).toFixed(1)} %`,
      ]
    }),
  ])
  return table(['workers', 'A: successes/s', 'refused', 'B: successes/s', 'refused'], rows)
}

/** @param {ComparePlan} plan @param {Records} records */
function lawTable(plan, records) {
  const rows = NAMES.map((name) => {
    const { law, points } = lawOf(plan, records, name)
    if (!law)
      return [
        name.toUpperCase(),
        NONE,
        NONE,
        NONE,
        'fewer than three levels of concurrency without refusals and with a generator that had time',
      ]
    const { lambda_rps, sigma_ratio, kappa_ratio, peak_concurrency, peak_rps, limit_rps } = law
    const most = Math.max(...points.map((point) => point.concurrency))
    const peak =
      peak_concurrency !== null && peak_concurrency <= most
        ? `${figure(Number(peak_rps))}/s at ${figure(peak_concurrency)} workers`
        : limit_rps !== null && predictedRate(law, most) >= LEVEL_RATIO * limit_rps
          ? `levels off at ${figure(limit_rps)}/s`
          : 'none in sight'
    return [name.toUpperCase(), `${figure(lambda_rps)}/s`, sigma_ratio.toFixed(4), kappa_ratio.toFixed(6), peak]
  })
  const text = 'How the rate grows with concurrency, by the Universal Scalability Law (Gunther).'
  return [text, table(['side', 'one worker', 'contention', 'coherency', 'predicted peak'], rows)].join('\n\n')
}

/** @param {Records} records */
function statusTable(records) {
  const totals = NAMES.map((name) => {
    /** @type {Record<string, number>} */
    const own = {}
    for (const { cell, traffic } of records) {
      if (cell !== name) continue
      for (const [key, number] of Object.entries({ ...traffic.status, ...traffic.errors }))
        own[key] = (own[key] ?? 0) + number
    }
    return own
  })
  const keys = [...new Set(totals.flatMap((own) => Object.keys(own)))].sort()
  return table(
    ['answer', 'A', 'B'],
    keys.map((key) => [key, ...totals.map((own) => count(own[key] ?? 0))]),
  )
}

function publishedTable() {
  const rows = PUBLISHED.latency.flatMap((/** @type {any} */ level) =>
    NAMES.map((name) => {
      const { rps, mean_ms, p50_ms, p90_ms, p99_ms } = level[name]
      return [
        `${name.toUpperCase()}, ${level.concurrency}`,
        String(rps),
        ...[mean_ms, p50_ms, p90_ms, p99_ms].map(milliseconds),
      ]
    }),
  )
  return table(['side, workers', 'req/s', 'mean', 'p50', 'p90', 'p99'], rows)
}

/** @param {number} share */
function bar(share) {
  return `${'#'.repeat(Math.round(share * 40))} ${(share * 100).toFixed(1)} %`
}

/** @param {number} value */
function figure(value) {
  if (Number.isNaN(value)) return NONE
  return decimal(value, value < 100 ? 1 : 0, 0)
}
