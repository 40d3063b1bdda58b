import { median } from '../../stats/ranks.js'
import { consumed } from './steps.js'

/** @import { Records } from './steps.js' */

/**
 * What a variant did in each second, as the publication has it; where a trial is shorter, its own rate is its sample.
 *
 * @param {Records} records
 * @param {string} consumer
 * @param {string} variant
 * @returns {Statistics | null} null: no valid trial
 *
 * @typedef {{ count: number, min: number, max: number, sum: number, mean: number, median: number, sd: number }} Statistics
 *   answers per second that were a success; sd: of the sample
 */
export function statisticsOf(records, consumer, variant) {
  const samples = consumed(records, consumer).flatMap((record) =>
    record.cell.variant === variant ? samplesOf(record) : [],
  )
  const count = samples.length
  if (count === 0) return null
  const sum = samples.reduce((total, rps) => total + rps, 0)
  const mean = sum / count
  const squares = samples.reduce((total, rps) => total + (rps - mean) ** 2, 0)
  return {
    count,
    min: Math.min(...samples),
    max: Math.max(...samples),
    sum,
    mean,
    median: median(samples),
    sd: count > 1 ? Math.sqrt(squares / (count - 1)) : Number.NaN,
  }
}

/** Whole seconds alone: the last one may have begun only. @param {Records[number]} record */
function samplesOf({ load, traffic }) {
  if (load.duration_s < 1) return [traffic.goodput_rps]
  return traffic.per_second.slice(0, Math.floor(load.duration_s)).map(({ ok }) => ok)
}
