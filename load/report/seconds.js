import { VERDICTS } from './colours.js'
import { cellName, offered } from './format.js'
import { rangeOf } from './forms/common.js'
import { valueText, xyPicture } from './picture.js'

/**
 * @import { Picture, Series } from './picture.js'
 * @import { TrialRecord } from './record.js'
 */

/** With rates this far apart, the lower ones would all look like zero on a linear scale. */
const WIDE_RATIO = 100

/**
 * Successes in each second, trial after trial, next to the offered rate.
 * @param {TrialRecord[]} records @returns {Picture | null} null if no trial was counted by the second
 */
export function secondsPicture(records) {
  // A load in which suspects were slowed has neither passed nor failed.
  const judged = records.filter(({ doses }) => !doses)
  /** @type {(name: string, style: number) => Series} */
  const lineOf = (name, style) => ({ name, points: [], as: 'line', style })
  const asked = lineOf('offered', 5)
  const lines = Object.fromEntries(
    Object.entries(VERDICTS).map(([verdict, { name, style }]) => [verdict, lineOf(name, style)]),
  )
  let at_s = 0
  for (const { load, traffic, outcome } of judged) {
    const end_s = at_s + load.duration_s
    const { points } = lines[outcome.verdict]
    for (const [i, { length_s, rate_rps }] of secondsOf({ load, traffic }).entries()) {
      points.push([at_s + i, rate_rps], [at_s + i + length_s, rate_rps])
    }
    points.push([end_s, Number.NaN])
    if (load.rate_rps !== null) asked.points.push([at_s, load.rate_rps], [end_s, load.rate_rps], [end_s, Number.NaN])
    at_s = end_s
  }
  const series = Object.values(lines).filter(({ points }) => points.some(([, rate_rps]) => Number.isFinite(rate_rps)))
  if (series.length === 0) return null
  const rates = series.flatMap(({ points }) => points.map(([, rate_rps]) => rate_rps)).filter((rate) => rate > 0)
  const [least, most] = rangeOf(rates)
  const log = most > WIDE_RATIO * least
  const picture = xyPicture(
    'seconds',
    'Throughput, second by second',
    'Successes in each second of each trial, one trial after the other, next to what was offered; pauses between trials are left out.',
    {
      x: { title: 'seconds of load', unit: 's', max: at_s },
      y: { title: 'per second', unit: 'rate', log },
      series: asked.points.length > 0 ? [asked, ...series] : series,
    },
  )
  return { ...picture, table: tableOf(judged) }
}

/**
 * Successes per second in each whole second of the load. A last part of a second is left out, unless the load is no longer: its count has
 * answers that came after the load. The record ends with the last answer, so the seconds after it had none.
 * @param {Pick<TrialRecord, 'load' | 'traffic'>} record
 */
function secondsOf({ load: { duration_s }, traffic: { per_second = [] } }) {
  if (per_second.length === 0) return []
  const length_s = Math.min(1, duration_s)
  return Array.from({ length: Math.max(1, Math.floor(duration_s)) }, (_, second) => {
    return { length_s, rate_rps: (per_second[second]?.ok ?? 0) / length_s }
  })
}

/** A row per trial. @param {TrialRecord[]} records */
function tableOf(records) {
  const rows = records.map((record) => [
    `${record.trial}${record.cell ? `, ${cellName(record.cell)}` : ''}`,
    offered(record.load),
    record.outcome.verdict,
    secondsOf(record)
      .map(({ rate_rps }) => valueText(rate_rps, 'rate'))
      .join(', '),
  ])
  return { head: ['trial', 'offered', 'outcome', 'second by second'], rows }
}
