import { figureOf } from '../../stats/picture-values.js'
import { measuredIn, PERCENTILES, strategyFigures } from './figures.js'
import { sharesOf } from './shares.js'
import { trialsOf } from './steps.js'
import { answerSentences } from './verdict.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Counts } from './shares.js'
 * @import { BalancePlan, Records } from './steps.js'
 */

/** Of a trial: the more requests there were, the more can be told apart. */
const SLICES = { least: 6, most: 24, requests: 100 }

/**
 * Who got which share of the requests, and how long they took.
 *
 * @param {any} run
 * @param {Records} records
 * @returns {Picture[]}
 */
export function balancePictures({ plan }, records) {
  return [
    ...percentilePicture(plan, records, 'strategies', 'over uneven endpoints'),
    ...percentilePicture(plan, records, 'crowded', 'over the same endpoints, crowded'),
    ...measuredIn('strategies', plan, records).map((strategy) => sharesPicture(plan, records, strategy)),
    ...failingPicture(plan, records),
  ]
}

/** @param {any} run @param {Records} records */
export function balanceSentence({ plan, problem, simulation }, records) {
  const sentences = answerSentences(
    strategyFigures(plan, records),
    strategyFigures(plan, records, 'crowded'),
    simulation ?? null,
  )
  return `${problem ? `No trustworthy answer: ${problem}. ` : ''}${sentences[0] ?? ''}`
}

/** @param {BalancePlan} plan @param {Records} records @param {'strategies' | 'crowded'} part @param {string} where @returns {Picture[]} */
function percentilePicture(plan, records, part, where) {
  const figures = strategyFigures(plan, records, part)
  if (figures.length === 0) return []
  return [
    {
      name: `percentiles-${part}`,
      title: `Latency ${where}`,
      about: `Percentiles of the successes at ${plan.sizes[part].rate_rps}/s, medians of the blocks.`,
      form: {
        kind: 'dots',
        x: { title: 'latency', unit: 'ms', min: 0 },
        labels: [...PERCENTILES],
        series: figures.map(({ strategy, latency_ms }) => ({
          name: strategy,
          values: PERCENTILES.map((name) =>
            figureOf({ estimate: latency_ms[name], low: Number.NaN, high: Number.NaN }),
          ),
        })),
      },
    },
  ]
}

/** @param {BalancePlan} plan @param {Records} records @param {string} strategy @returns {Picture} */
function sharesPicture(plan, records, strategy) {
  const counts = trialsOf(records, 'strategies', strategy).map(({ probes }) => probes.target)
  const { duration_s } = plan.sizes.strategies
  const slices = slicesOf(counts)
  const shares = sharesOf(counts, { slices, duration_s })
  const { from_s, to_s } = plan.fails.strategies
  return {
    name: `shares-${strategy}`,
    title: `Shares over time: ${strategy}`,
    about: 'The share of the requests that each endpoint got, in all blocks together.',
    under: 'Shares over time: strategies',
    form: {
      kind: 'xy',
      x: { title: 'seconds', unit: 's', max: duration_s },
      y: { title: 'share of the requests', unit: 'share' },
      series: counts[0].names.map((/** @type {string} */ name, /** @type {number} */ i) => ({
        name,
        points: shares[i].map((share, slice) => [((slice + 0.5) * duration_s) / slices, share]),
        as: 'line',
      })),
      marks: to_s > from_s ? [{ axis: 'x', from: from_s, to: to_s, label: 'one fails' }] : [],
    },
  }
}

/** @param {BalancePlan} plan @param {Records} records @returns {Picture[]} */
function failingPicture(plan, records) {
  const { duration_s } = plan.sizes.failing
  const { from_s, to_s } = plan.fails.failing
  const series = measuredIn('failing', plan, records).flatMap((strategy) => {
    const counts = trialsOf(records, 'failing', strategy).map(({ probes }) => probes.target)
    const slices = slicesOf(counts)
    const shares = sharesOf(counts, { slices, duration_s })[counts[0].names.indexOf('failing')]
    if (!shares) return []
    const points = shares.map(
      (share, slice) => /** @type {[number, number]} */ ([((slice + 0.5) * duration_s) / slices, share]),
    )
    return [{ name: strategy, points, as: /** @type {const} */ ('line') }]
  })
  if (series.length === 0) return []
  return [
    {
      name: 'shares-failing',
      title: 'The endpoint that fails, over time',
      about: 'The share of the requests that it got under each strategy, in all blocks together.',
      under: 'Shares over time: failing',
      form: {
        kind: 'xy',
        x: { title: 'seconds', unit: 's', max: duration_s },
        y: { title: 'share of the requests', unit: 'share' },
        series,
        marks: [{ axis: 'x', from: from_s, to: to_s, label: 'it fails' }],
      },
    },
  ]
}

/** @param {Counts[]} trials */
function slicesOf(trials) {
  const counts = trials.flatMap(({ endpoints }) => endpoints.flatMap(({ requests }) => requests))
  const requests = counts.reduce((sum, count) => sum + count, 0)
  return Math.min(SLICES.most, Math.max(SLICES.least, Math.floor(requests / SLICES.requests)))
}
