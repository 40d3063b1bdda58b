import { answer, drawn, heading, list, method, paragraph, table } from '../../../load/report/blocks.js'
import { count, figure, milliseconds, NONE, ratesText, tenthPercent } from '../../../load/report/format.js'
import { xyPicture } from '../../../load/report/picture.js'
import { proofPicture, proofText } from '../../../load/report/proof.js'
import { digits, intervalText } from '../../stats/effects.js'
import { columnsOf } from '../../stats/tables.js'
import { PERCENTILES, PHASES } from './findings.js'
import { publishedBlocks } from './published.js'
import { histogramsOf } from './samples.js'
import { sizeRows } from './sizes.js'
import { chapterTexts, unprovenText } from './why.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { CompareFindings, Level, SideFindings } from './findings.js'
 */

const DETAIL = { detail: true }

const SIZES =
  'Response size: the median of the successes, without any decompression; headers include the status line and interim responses.'

/** @param {CompareFindings} findings @returns {Block[]} */
export function compareReport(findings) {
  const { kept, sides, levels, rungs } = findings
  const all = levels.flat()
  const rows = all.map(({ name, workers, rps, mean_ms, percentiles_ms, samples }) => {
    return [`${name}, ${workers}`, figure(rps), ...[mean_ms, ...percentiles_ms].map(milliseconds), count(samples.total)]
  })
  const phases = all.map(({ name, workers, phases_ms }) => [`${name}, ${workers}`, ...phases_ms.map(milliseconds)])
  const statuses = [...new Set(sides.flatMap((side) => Object.keys(side.answers)))].sort()
  const answers = statuses.map((key) => [key, ...sides.map((side) => count(side.answers[key] ?? 0))])
  const limits = sides.flatMap(limitSentences)
  return [
    answer(kept.conclusion),
    paragraph(`${sides.map(({ name, label }) => `${name}: ${label}`).join('; ')}.`),
    ...whyList(findings),
    ...latencyPicture(findings),
    differencesTable(findings),
    table(['side, workers', 'successes/s', 'mean', ...PERCENTILES.map((share) => `p${share * 100}`), 'samples'], rows),
    rungTable(rungs),
    ...(limits.length > 0 ? [list(limits)] : []),
    heading('Where the time goes', DETAIL),
    table(['side, workers', ...PHASES], phases),
    paragraph('Medians; the first three once per connection, the others per request.'),
    heading('Histograms', DETAIL),
    ...levels.map(histogramBlock),
    heading('Answers', DETAIL),
    table(['answer', 'A', 'B'], answers),
    ...proofBlocks(findings),
    ...publishedBlocks(findings),
    method(methodOf(findings)),
  ]
}

/** The reason why one side is faster, the effect of each dose, and what to change. @param {CompareFindings} findings @returns {Block[]} */
function whyList({ plan, why, sides }) {
  const items = sides.flatMap(({ name, proof }) => {
    if (!proof) return []
    return [proofText(proof, `Proof of ${name}`) ?? [], ...proof.undosed, ...chapterTexts({ name, proof })].flat()
  })
  const unproven = unprovenText(plan)
  const texts = [...(why ? [{ text: why, items }] : []), ...(unproven ? [unproven] : [])]
  return texts.length > 0 ? [list(texts)] : []
}

/** @param {CompareFindings} findings @returns {Block[]} */
function proofBlocks({ sides }) {
  const pictures = sides.flatMap(({ name, proof }) => proofPicture(proof ?? {}, name) ?? [])
  return pictures.length > 0 ? [heading('Proof by dose', DETAIL), ...pictures.map(drawn)] : []
}

/** @param {CompareFindings} findings */
function methodOf({ plan: { blocks, concurrency, duration_s, ladders, per_worker_rps }, sides }) {
  return [
    `${blocks} blocks, each with both sides in random order: closed loop at ${concurrency.join(', ')} workers, ${duration_s} s each. Ratios are taken within a block; their intervals are based on ranks, and in one run of twenty at least one interval misses the true ratio.`,
    `In ${ladders} of them, workers that send at most ${per_worker_rps}/s each are added until the rate no longer rises. A refusal (429, 503) is no throughput. A rate that the generator (90 % of its cores) or the end of the ladder limited does not count as a maximum.`,
    'Latencies are those of the successes; where a side refuses requests, the remaining ones are faster for it and are not compared. Latencies exclude the first connection of each worker; the phases of setting it up are shown apart. A percentile is shown if ten samples lie beyond it. Samples of several blocks are merged in buckets 2.3 % wide.',
    ...(sizeRows(sides).length > 0 ? [SIZES] : []),
  ]
}

/** @param {CompareFindings} findings @returns {Block[]} empty if nothing was measured */
function latencyPicture({ plan, sides, levels }) {
  const series = sides.map(({ name }, i) => {
    const means = levels.map((both) => /** @type {[number, number]} */ ([both[i].workers, both[i].mean_ms]))
    return { name, points: means.filter(([, ms]) => Number.isFinite(ms)), as: /** @type {const} */ ('both') }
  })
  if (series.every(({ points }) => points.length === 0)) return []
  const isWide = Math.max(...plan.concurrency) >= 10 * Math.min(...plan.concurrency)
  const x = /** @type {const} */ ({ title: 'workers', unit: 'number', log: isWide })
  const y = /** @type {const} */ ({ title: 'mean latency', unit: 'ms', log: true })
  const about = 'Mean latency of the successes, medians of the blocks.'
  return [drawn(xyPicture('latency', 'Latency against concurrency', about, { x, y, series }))]
}

/** The differences, and the sizes of the responses: services that do not answer alike are not compared by speed alone. @param {CompareFindings} findings */
function differencesTable({ differences, sides }) {
  const [head, rows] = columnsOf(differences, [
    ['B to A', ({ about }) => about],
    ['ratio', ({ ratio }) => (Number.isNaN(ratio) ? NONE : `${digits(ratio)}x`)],
    ['interval', ({ because, low, high }) => (because === '' ? intervalText({ low, high }) : NONE)],
    ['blocks', ({ pairs }) => String(pairs)],
    ['verdict', ({ because, verdict }) => because || verdict],
  ])
  return table(head, [...rows, ...sizeRows(sides)], { name: 'differences', align: ['l', 'r', 'r', 'r', 'l'] })
}

/** @param {CompareFindings['rungs']} rungs */
function rungTable(rungs) {
  const rows = rungs
    .filter((both) => both.some(({ rps }) => !Number.isNaN(rps)))
    .map((both) => [
      count(both[0].workers),
      ...both.flatMap(({ rps, refused_ratio }) => [figure(rps), tenthPercent(refused_ratio)]),
    ])
  return table(['workers', ...rungs[0].flatMap(({ name }) => [`${name}: successes/s`, 'refused'])], rows)
}

/** @param {Level[]} both @returns {Block} */
function histogramBlock(both) {
  const { from_ms, shares } = histogramsOf(both.map(({ samples }) => samples))
  const [{ workers }] = both
  if (from_ms.length === 0) return paragraph(`Too few samples at ${workers} workers.`)
  const rows = from_ms.map((start_ms, i) => [
    `${milliseconds(start_ms)}${i === from_ms.length - 1 ? ' and more' : ''}`,
    ...shares.map((own) => `${'#'.repeat(Math.round(own[i] * 40))} ${tenthPercent(own[i])}`),
  ])
  return table([`${workers} workers, from`, 'A', 'B'], rows)
}

/** Limits of a side's figures other than the side itself, and the way it refuses requests. @param {SideFindings} side */
function limitSentences({ name, bound, refusal }) {
  const least = bound ? [`${name}: at least ${count(Math.round(bound.rps))}/s: ${bound.because}.`] : []
  return refusal
    ? [...least, `${name} refused requests (429 or 503), which is no throughput; ${refusalText(refusal)}.`]
    : least
}

/** @param {NonNullable<SideFindings['refusal']>} refusal */
function refusalText({ capacity, failure }) {
  if (!capacity) return 'the rate at which it begins was not found; it is not looked for with a mix of several requests'
  const { low_rps, high_rps } = capacity
  if (low_rps === null || high_rps === null) return `without a refusal it took ${ratesText(capacity)}`
  const between = `between ${count(low_rps)} and ${count(high_rps)}/s`
  return failure === '429'
    ? `rate limit ${between}, above which it answers 429`
    : `${between} it begins to fail, above all by ${failure ?? 'late answers'}: a rate limit is not known`
}
