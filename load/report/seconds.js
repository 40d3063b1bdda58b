import { cellName, offered as offeredText } from './format.js'
import { valueText } from './picture.js'
import { VERDICTS } from './verdicts.js'

/**
 * @import { Picture } from './picture.js'
 * @import { TrialRecord } from './record.js'
 */

/**
 * What got through in each second, trial after trial, beside what was offered.
 *
 * @param {TrialRecord[]} records
 * @returns {Picture | null} null: no trial has seconds
 */
export function secondsPicture(records) {
  let at_s = 0
  /** @type {[number, number][]} */
  const offered = []
  const through = Object.fromEntries(
    Object.keys(VERDICTS).map((verdict) => [verdict, /** @type {[number, number][]} */ ([])]),
  )
  for (const { load, traffic, outcome } of records) {
    const own = through[outcome.verdict] ?? through.invalid
    for (const [i, { length_s, rate_rps }] of secondsOf({ load, traffic }).entries()) {
      own.push([at_s + i, rate_rps], [at_s + i + length_s, rate_rps])
    }
    if (load.rate_rps !== null)
      offered.push([at_s, load.rate_rps], [at_s + load.duration_s, load.rate_rps], [at_s + load.duration_s, Number.NaN])
    own.push([at_s + load.duration_s, Number.NaN])
    at_s += load.duration_s
  }
  const series = Object.entries(VERDICTS).flatMap(([verdict, { name, style }]) =>
    through[verdict].some(([, y]) => Number.isFinite(y))
      ? [{ name, points: through[verdict], as: /** @type {const} */ ('line'), style }]
      : [],
  )
  if (series.length === 0) return null
  return {
    name: 'seconds',
    table: tableOf(records),
    title: 'Throughput, second by second',
    about:
      'Successes in each second of each trial, one trial after the other, beside what was offered; pauses between trials are left out.',
    form: {
      kind: 'xy',
      x: { title: 'seconds of load', unit: 's', max: at_s },
      y: { title: 'per second', unit: 'rate', log: isWide(series.flatMap(({ points }) => points)) },
      series: [
        ...(offered.length > 0
          ? [{ name: 'offered', points: offered, as: /** @type {const} */ ('line'), style: 5 }]
          : []),
        ...series,
      ],
    },
  }
}

/** Rates so far apart that on an even scale the lower ones would all be nothing. @param {[number, number][]} points */
function isWide(points) {
  const rates = points.map(([, rate]) => rate).filter((rate) => rate > 0)
  return Math.max(...rates) > WIDE_RATIO * Math.min(...rates)
}

const WIDE_RATIO = 100

/**
 * Successes per second. What was answered after the end of the load belongs to none of its seconds.
 *
 * @param {Pick<TrialRecord, 'load' | 'traffic'>} record
 */
function secondsOf({ load, traffic }) {
  const seconds = (traffic.per_second ?? []).map(({ ok }, i) => {
    const length_s = Math.min(1, load.duration_s - i)
    return { length_s, rate_rps: ok / length_s }
  })
  return seconds.filter(({ length_s }) => length_s > LEAST_S)
}

/** Of less, too few requests are left to make a rate of. */
const LEAST_S = 0.05

/** A row per trial. @param {TrialRecord[]} records */
function tableOf(records) {
  const rows = records.map((record) => [
    `${record.trial}${record.cell ? `, ${cellName(record.cell)}` : ''}`,
    offeredText(record.load),
    record.outcome.verdict,
    secondsOf(record)
      .map(({ rate_rps }) => valueText(rate_rps, 'rate'))
      .join(', '),
  ])
  return { head: ['trial', 'offered', 'outcome', 'second by second'], rows }
}
