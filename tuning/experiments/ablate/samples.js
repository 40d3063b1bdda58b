import { drawn, heading, table } from '../../../load/report/blocks.js'
import { SERIES } from '../../../load/report/colours.js'
import { figure } from '../../../load/report/format.js'
import { valueText, xyPicture } from '../../../load/report/picture.js'
import { median } from '../../../load/verdict/ranks.js'
import { nameOf, WHOLE } from './stages.js'
import { consumed } from './steps.js'

/**
 * @import { Series } from '../../../load/report/picture.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 * @import { Closed } from './speeds.js'
 * @import { Records } from './steps.js'
 */

/** Stages in a picture: with the whole, it has a series for each style. */
const MOST_STAGES = SERIES.length - 1

/**
 * Successes per second in a variant, with the statistics that were published, or null without a sound trial.
 * @param {Records} records @param {string} consumer @param {string} variant
 */
export function statisticsOf(records, consumer, variant) {
  const trials = consumed(records, consumer, variant)
  const samples = trials.flatMap(samplesOf)
  const count = samples.length
  if (count === 0) return null
  const sum = samples.reduce((total, rps) => total + rps, 0)
  const mean = sum / count
  const squares = samples.reduce((total, rps) => total + (rps - mean) ** 2, 0)
  return {
    variant,
    count,
    min: Math.min(...samples),
    max: Math.max(...samples),
    sum,
    mean,
    median: median(samples),
    sd: count > 1 ? Math.sqrt(squares / (count - 1)) : Number.NaN,
    cpu_us: median(trials.map(({ probes }) => probes.api.cpu_us_per_request)),
  }
}

/**
 * Samples of a trial, in successes per second. A trial shorter than a second is one sample. Longer trials give one per full second, as
 * the last second may be incomplete.
 * @param {Pick<TrialRecord, 'load' | 'traffic'>} record
 */
function samplesOf({ load, traffic }) {
  if (load.duration_s < 1) return [traffic.goodput_rps]
  return traffic.per_second.slice(0, Math.floor(load.duration_s)).map(({ ok }) => ok)
}

/**
 * The samples of the whole and without each stage, in the order in which they were taken, over the seconds of the closed loop's load.
 * @param {Records} records @param {string} consumer @param {string[]} stages @returns {Series[]} the whole first
 */
export function curvesOf(records, consumer, stages) {
  const curves = [WHOLE, ...stages.map((stage) => nameOf([stage]))].map((name) => {
    return /** @type {Series} */ ({ name, points: [], as: 'both' })
  })
  let at_s = 0
  for (const { load, traffic, cell } of consumed(records, consumer)) {
    const length_s = Math.min(1, load.duration_s)
    for (const [i, rps] of samplesOf({ load, traffic }).entries()) {
      curves.find(({ name }) => name === cell.variant)?.points.push([at_s + (i + 0.5) * length_s, rps])
    }
    at_s += load.duration_s
  }
  return curves
}

/** The curves and the statistics of each variant; empty without a closed loop. @param {Closed[]} closed */
export function statisticsBlocks(closed) {
  if (closed.length === 0) return []
  const parts = closed.flatMap((one) => [...curvePictures(one).map(drawn), statisticsTable(one)])
  return [heading('Successes per second', { detail: true }), ...parts]
}

/** @param {Closed} closed */
function statisticsTable({ consumer, variants }) {
  const rows = variants.map(({ variant, count, ...figures }) => {
    return [variant, String(count), ...Object.values(figures).map(figure)]
  })
  return table([consumer, 'count', 'min', 'max', 'sum', 'mean', 'median', 'sd', 'CPU us per request'], rows)
}

/** The whole next to some of the stages in each picture; none if no variant has two samples to connect. @param {Pick<Closed, 'consumer' | 'curves'>} closed */
export function curvePictures({ consumer, curves: [whole, ...others] }) {
  if (others.every(({ points }) => points.length < 2)) return []
  const pictures = Math.ceil(others.length / MOST_STAGES)
  const size = Math.ceil(others.length / pictures)
  return Array.from({ length: pictures }, (_, i) => {
    const series = [whole, ...others.slice(i * size, (i + 1) * size)]
    const name = i === 0 ? `per-second-${consumer}` : `per-second-${consumer}-${i + 1}`
    const about = `${consumer}, ${series.map((one) => one.name).join(', ')}: a point for each second, or for each shorter trial; other variants come between them, and pauses are left out.`
    const picture = xyPicture(name, 'Successes per second in each variant', about, {
      x: { title: 'seconds of load', unit: 's' },
      y: { title: 'successes per second', unit: 'rate' },
      series,
    })
    const rows = series.map((one) => [one.name, one.points.map(([, rps]) => valueText(rps, 'rate')).join(', ')])
    return { ...picture, table: { head: ['variant', 'successes per second, in order'], rows } }
  })
}
