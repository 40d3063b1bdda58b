import { readFileSync } from 'node:fs'
import { answer, drawn, heading, list, method, paragraph, table } from '../../../load/report/blocks.js'
import { count, figure, milliseconds, NONE, ratesText, tenthPercent } from '../../../load/report/format.js'
import { predictedRate } from '../../stats/usl.js'
import { answerSentence, isBetter, isKnown, reasonsOf } from './differences.js'
import { PERCENTILES, PHASES } from './findings.js'
import { comparePictures } from './pictures.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { ComparePlan } from './design.js'
 * @import { Difference } from './differences.js'
 * @import { CompareFindings, Level, SideFindings } from './findings.js'
 */

/** A law that levels off is shown where at least this share of the level was measured. */
const LEVEL_RATIO = 0.5

const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/compare.json', import.meta.url), 'utf8'))
const DETAIL = { detail: true }

/** @param {CompareFindings} findings @returns {Block[]} */
export function compareReport(findings) {
  const { plan, differences, sides, histograms } = findings
  const limits = sides.flatMap(limitSentences)
  return [
    answer(answerSentence(differences)),
    paragraph(`${sides.map(({ name, label }) => `${name}: ${label}`).join('; ')}.`),
    ...comparePictures(findings).map(drawn),
    differencesTable(differences),
    levelTable(sides, ['successes/s', 'mean', ...PERCENTILES.map((share) => `p${share * 100}`), 'samples'], levelCells),
    rungTable(sides),
    ...(limits.length > 0 ? [list(limits)] : []),
    paragraph('How the rate grows with concurrency, by the Universal Scalability Law (Gunther).'),
    table(['side', 'one worker', 'contention', 'coherency', 'predicted peak'], sides.map(lawCells)),
    heading('Where the time goes', DETAIL),
    levelTable(sides, PHASES, ({ phases_ms }) => phases_ms.map(milliseconds), DETAIL),
    paragraph('Medians; the first three once per connection, the others per request.', DETAIL),
    heading('Histograms', DETAIL),
    ...histograms.map(histogramBlock),
    heading('Answers', DETAIL),
    answersTable(sides),
    ...publishedBlocks(),
    method(methodOf(plan)),
  ]
}

/** @param {ComparePlan} plan */
function methodOf({ blocks, concurrency, duration_s, ladders, per_worker_rps }) {
  return [
    `${blocks} blocks, each with both sides in random order: closed loop at ${concurrency.join(', ')} workers, ${duration_s} s each. Ratios are taken within a block; their intervals go by ranks, and one run in twenty has an interval that misses.`,
    `In ${ladders} of them, more and more workers that send at most ${per_worker_rps}/s each, until that brings no more. A refusal (429, 503) is no throughput. What the generator (90 % of its cores) or the longest ladder limited is no maximum.`,
    'Latencies are those of the successes; where a side refuses requests, the remaining ones are faster for it, and are not compared. The first connection of each worker is no part of a latency; each phase of setting it up is shown apart. A percentile is shown where ten samples lie beyond it. Samples of several blocks are merged in buckets 2.3 % wide.',
  ]
}

/** @param {Difference[]} differences */
function differencesTable(differences) {
  const rows = differences.map((difference) => {
    const { about, ratio, low, high, pairs, tied, refused, bounded } = difference
    const hasRatio = !Number.isNaN(ratio) && reasonsOf(difference) === ''
    const missing = refused.length > 0 ? 'refused' : bounded.length > 0 ? 'our own limit' : 'too few blocks'
    const verdict = tied ? 'tied' : isBetter(difference) ? 'B is better' : 'B is worse'
    return [
      about,
      hasRatio ? `${ratio.toFixed(2)}x` : NONE,
      isKnown(difference) ? `${low.toFixed(2)}–${high.toFixed(2)}` : missing,
      String(pairs),
      isKnown(difference) ? verdict : NONE,
    ]
  })
  return table(['B to A', 'ratio', 'interval', 'blocks', 'verdict'], rows)
}

/**
 * A row for each side at each concurrency.
 * @param {SideFindings[]} sides @param {string[]} head @param {(level: Level) => string[]} cells
 * @param {{ detail?: boolean }} [options]
 */
function levelTable(sides, head, cells, options) {
  const rows = sides[0].levels.flatMap(({ workers }, i) =>
    sides.map(({ name, levels }) => [`${name}, ${workers}`, ...cells(levels[i])]),
  )
  return table(['side, workers', ...head], rows, options)
}

/** @param {Level} level */
function levelCells({ rps, mean_ms, percentiles_ms, samples }) {
  return [figure(rps), milliseconds(mean_ms), ...percentiles_ms.map(milliseconds), count(samples.total)]
}

/** @param {SideFindings[]} sides */
function rungTable(sides) {
  const all = [...new Set(sides.flatMap(({ rungs }) => rungs.map(({ workers }) => workers)))].sort((a, b) => a - b)
  const rows = all.map((workers) => [
    String(workers),
    ...sides.flatMap(({ rungs }) => {
      const rung = rungs.find((one) => one.workers === workers)
      return rung ? [figure(rung.rps), tenthPercent(rung.refused_ratio)] : [NONE, NONE]
    }),
  ])
  return table(['workers', ...sides.flatMap(({ name }) => [`${name}: successes/s`, 'refused'])], rows)
}

/** @param {SideFindings} side */
function lawCells({ name, law, most_workers }) {
  if (!law) {
    const why = 'fewer than three levels of concurrency without refusals and with a generator that had time'
    return [name, NONE, NONE, NONE, why]
  }
  const { lambda_rps, sigma_ratio, kappa_ratio, peak_concurrency, peak_rps, limit_rps } = law
  const isPeakSeen = peak_concurrency !== null && peak_concurrency <= most_workers
  const isLevelSeen = limit_rps !== null && predictedRate(law, most_workers) >= LEVEL_RATIO * limit_rps
  const peak = isPeakSeen
    ? `${figure(Number(peak_rps))}/s at ${figure(peak_concurrency)} workers`
    : isLevelSeen
      ? `levels off at ${figure(limit_rps)}/s`
      : 'none in sight'
  return [name, `${figure(lambda_rps)}/s`, sigma_ratio.toFixed(4), kappa_ratio.toFixed(6), peak]
}

/** @param {CompareFindings['histograms'][number]} histogram @returns {Block} */
function histogramBlock({ workers, from_ms, shares }) {
  if (from_ms.length === 0) return paragraph(`Too few samples at ${workers} workers.`, DETAIL)
  const rows = from_ms.map((start_ms, i) => [
    `${milliseconds(start_ms)}${i === from_ms.length - 1 ? ' and more' : ''}`,
    ...shares.map((own) => `${'#'.repeat(Math.round(own[i] * 40))} ${tenthPercent(own[i])}`),
  ])
  return table([`${workers} workers, from`, 'A', 'B'], rows, DETAIL)
}

/** @param {SideFindings[]} sides */
function answersTable(sides) {
  const keys = [...new Set(sides.flatMap(({ answers }) => Object.keys(answers)))].sort()
  const rows = keys.map((key) => [key, ...sides.map(({ answers }) => count(answers[key] ?? 0))])
  return table(['answer', 'A', 'B'], rows, DETAIL)
}

/** @returns {Block[]} */
function publishedBlocks() {
  const { title, author, setting, latency, maximum } = PUBLISHED
  const rows = latency.flatMap((/** @type {any} */ level) =>
    ['a', 'b'].map((side) => {
      const { rps, mean_ms, p50_ms, p90_ms, p99_ms } = level[side]
      const times = [mean_ms, p50_ms, p90_ms, p99_ms].map(milliseconds)
      return [`${side.toUpperCase()}, ${level.concurrency}`, String(rps), ...times]
    }),
  )
  const rates = maximum.b.map((/** @type {any} */ { workers, rps }) => `${rps}/s at ${workers}`).join(', ')
  return [
    heading('Published', DETAIL),
    table(['side, workers', 'req/s', 'mean', 'p50', 'p90', 'p99'], rows, DETAIL),
    paragraph(`"${title}" (${author}): ${setting}. Its maximum: A ${maximum.a.text}; B ${rates} workers.`, DETAIL),
  ]
}

/** What keeps a side's figures from being its own: a maximum that is a lower bound, and refusals. @param {SideFindings} side */
function limitSentences({ name, bound, refusal }) {
  return [
    ...(bound ? [`${name}: at least ${count(Math.round(bound.rps))}/s: ${bound.because}.`] : []),
    ...(refusal ? [refusalSentence(name, refusal)] : []),
  ]
}

/** @param {string} name @param {NonNullable<SideFindings['refusal']>} refusal */
function refusalSentence(name, { searched, capacity, failure }) {
  const refused = `${name} refused requests (429 or 503)`
  if (!searched) return `${refused}; from which rate on was not looked for, since the mix has several requests.`
  if (!capacity?.low_rps || !capacity.high_rps) {
    return `${refused}${capacity ? `; without one it took ${ratesText(capacity)}` : ''}.`
  }
  const between = `between ${count(capacity.low_rps)} and ${count(capacity.high_rps)}/s`
  if (failure === '429') {
    return `${name}: rate limit ${between}; what is above it is answered 429, which is no throughput.`
  }
  if (failure === '503') {
    return `${name}: from somewhere ${between} on it refuses requests (503), which is no throughput; a rate limit is not known.`
  }
  const how = failure ? `above all by ${failure}` : 'by taking too long'
  return `${refused}; ${between} it begins to fail, ${how}: a rate limit is not known.`
}
