import { VERDICTS } from '../../report/colours.js'
import { ratesText } from '../../report/format.js'

/**
 * @import { Axis, Mark, Picture } from '../../report/picture.js'
 * @import { SweepFindings } from './sweep.js'
 * @import { TrialRecord } from '../../report/record.js'
 */

/** @typedef {TrialRecord[]} Records @typedef {[number, number][]} Points */

/** As long as so much of what is offered is achieved in the typical trial of a rate, the knee is not reached. */
const KNEE_RATIO = 0.95

/**
 * What a sweep looks like: achieved against offered, latency against rate, and what was used meanwhile.
 *
 * @param {SweepFindings} findings
 * @returns {Picture[]}
 */
export function sweepPictures(findings) {
  const { records } = findings
  const own = records.filter(({ cell }) => cell === null)
  const open = own.filter(({ load, outcome }) => load.rate_rps !== null && outcome.verdict !== 'invalid')
  if (open.length === 0) return closedPictures(findings, own)
  const x = { title: 'offered per second', unit: /** @type {const} */ ('rate') }
  const rate = (/** @type {Records[0]} */ { load }) => Number(load.rate_rps)
  return [
    capacityPicture(findings, own, open),
    latencyPicture(findings, open, rate, { ...x, ...roomFor(open.map(rate)) }, rangeMarks(findings)),
    resourcesPicture(open, rate, { ...x, ...roomFor(open.map(rate)) }, rangeMarks(findings)),
  ].filter((picture) => picture !== null)
}

/** A ladder of closed loops. @param {SweepFindings} findings @param {Records} records @returns {Picture[]} */
function closedPictures(findings, records) {
  const valid = records.filter(({ outcome }) => outcome.verdict !== 'invalid')
  if (valid.length === 0) return []
  const connections = (/** @type {Records[0]} */ { load }) => load.connections
  const x = { title: 'connections', unit: /** @type {const} */ ('number'), log: true }
  /** @type {Picture} */
  const goodput = {
    name: 'goodput',
    title: 'Successes per second against connections',
    about:
      'A closed loop: each connection sends when its answer has come, so that more of them ask for more until nothing is left.',
    form: {
      kind: 'xy',
      x,
      y: { title: 'successes per second', unit: 'rate' },
      series: [
        { name: 'successes', points: medians(valid, connections, ({ traffic }) => traffic.goodput_rps), as: 'both' },
      ],
    },
  }
  return [
    goodput,
    latencyPicture(findings, valid, connections, x, []),
    resourcesPicture(valid, connections, x, []),
  ].filter((picture) => picture !== null)
}

/** @param {SweepFindings} findings @param {Records} all @param {Records} open @returns {Picture} */
function capacityPicture(findings, all, open) {
  const most_rps = Math.max(...open.map(({ load }) => Number(load.rate_rps)))
  const series = Object.entries(VERDICTS).flatMap(([verdict, { name, style }]) => {
    const points = all
      .filter(({ load, outcome }) => outcome.verdict === verdict && load.rate_rps !== null)
      .map(({ load, traffic }) => /** @type {[number, number]} */ ([Number(load.rate_rps), traffic.goodput_rps]))
    return points.length === 0 ? [] : [{ name, points, as: /** @type {const} */ ('dots'), style }]
  })
  const knee_rps = kneeOf(open)
  const knee = knee_rps === null ? [] : [{ axis: /** @type {const} */ ('x'), at: knee_rps, label: 'knee' }]
  const about = findings.capacity ? `The capacity is ${ratesText(findings.capacity)}. ` : ''
  const kneeText = knee_rps === null ? '' : ' Beyond the knee less than 95 % of what was offered got through.'
  return {
    name: 'capacity',
    title: 'Achieved against offered',
    about: `${about}On the line, everything that was offered succeeded.${kneeText}`,
    form: {
      kind: 'xy',
      x: { title: 'offered per second', unit: 'rate', ...roomFor([0, most_rps]) },
      y: { title: 'successes per second', unit: 'rate' },
      series: [
        {
          name: 'all of it',
          points: [
            [0, 0],
            [most_rps, most_rps],
          ],
          as: 'line',
          style: 5,
        },
        ...series,
      ],
      marks: [...rangeMarks(findings), ...knee],
    },
  }
}

/** What stands clear of the frame. @param {number[]} values */
function roomFor(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  return least < most / 2 ? { min: 0, max: rounded(most, 1) } : { min: rounded(least, -1), max: rounded(most, 1) }
}

/** A little more or less, to two digits. @param {number} value @param {1 | -1} direction */
function rounded(value, direction) {
  const unit = 10 ** Math.floor(Math.log10(value) - 0.5)
  const near = (value * (1 + 0.03 * direction)) / unit
  return (direction > 0 ? Math.ceil(near) : Math.floor(near)) * unit
}

/**
 * @param {SweepFindings} findings
 * @param {Records} records
 * @param {(record: Records[0]) => number} xOf
 * @param {Axis} x
 * @param {Mark[]} marks
 * @returns {Picture | null}
 */
function latencyPicture(findings, records, xOf, x, marks) {
  const series = /** @type {const} */ (['p50', 'p99', 'max']).map((name) => ({
    name,
    points: medians(records, xOf, ({ traffic }) => traffic.latency_ms?.[name]),
    as: /** @type {const} */ ('both'),
  }))
  const known = series.filter(({ points }) => points.length > 0)
  if (known.length === 0) return null
  const slo_ms = findings.plan.slo?.p99_ms
  const slo = Number.isFinite(slo_ms)
    ? [{ axis: /** @type {const} */ ('y'), at: slo_ms, label: `SLO: p99 <= ${slo_ms} ms` }]
    : []
  return {
    name: 'latency',
    title: 'Latency against load',
    about: 'Percentiles, each the median of the trials of its load, on a logarithmic scale.',
    form: { kind: 'xy', x, y: { title: 'latency', unit: 'ms', log: true }, series: known, marks: [...marks, ...slo] },
  }
}

/**
 * What is used of what there is, as shares.
 *
 * @type {Record<string, (record: Records[0]) => number | undefined>}
 */
const RESOURCES = {
  "the service's core": ({ probes }) => probes.api?.cpu_core_ratio,
  'its event loop': ({ probes }) => probes.api?.elu_ratio,
  Postgres: ({ probes }) => probes.postgres?.cpu_core_ratio,
  'the generator': ({ probes }) => probes.generator?.cpu_core_ratio,
  'its pool': ({ probes, settings }) => Number(probes.api?.pool_used_mean) / Number(settings?.POOL_MAX),
}

/**
 * @param {Records} records
 * @param {(record: Records[0]) => number} xOf
 * @param {Axis} x
 * @param {Mark[]} marks
 * @returns {Picture | null}
 */
function resourcesPicture(records, xOf, x, marks) {
  const series = Object.entries(RESOURCES).flatMap(([name, value]) => {
    const points = medians(records, xOf, value)
    return points.length === 0 ? [] : [{ name, points, as: /** @type {const} */ ('both') }]
  })
  if (series.length === 0) return null
  return {
    name: 'resources',
    title: 'Where the time went',
    about:
      'CPU as shares of one core, the event loop as a share of the time, connections of the pool as a share of all; medians of the trials of a load.',
    form: { kind: 'xy', x, y: { title: 'in use', unit: 'share' }, series, marks },
  }
}

/** The capacity, where both its ends are known. @param {SweepFindings} findings @returns {Mark[]} */
function rangeMarks({ capacity }) {
  const { low_rps, high_rps } = capacity ?? {}
  if (low_rps && high_rps) return [{ axis: 'x', from: low_rps, to: high_rps, label: 'capacity' }]
  const at = low_rps ?? high_rps
  return at ? [{ axis: 'x', at, label: low_rps ? 'capacity: at least' : 'capacity: below' }] : []
}

/**
 * The highest rate up to which what is offered gets through. Pure.
 *
 * @param {Records} records open loops
 * @returns {number | null} null: at no rate less got through, or at every one
 */
export function kneeOf(records) {
  const kept = medians(
    records,
    ({ load }) => Number(load.rate_rps),
    ({ traffic, load }) => traffic.goodput_rps / Number(load.rate_rps),
  )
  const first = kept.findIndex(([, ratio]) => ratio < KNEE_RATIO)
  return first <= 0 ? null : kept[first - 1][0]
}

/**
 * The median over the trials of each x, rising.
 *
 * @param {Records} records
 * @param {(record: Records[0]) => number} xOf
 * @param {(record: Records[0]) => number | undefined} yOf
 * @returns {Points}
 */
function medians(records, xOf, yOf) {
  /** @type {Map<number, number[]>} */
  const groups = new Map()
  for (const record of records) {
    const y = Number(yOf(record) ?? Number.NaN)
    if (Number.isFinite(y)) groups.set(xOf(record), [...(groups.get(xOf(record)) ?? []), y])
  }
  return [...groups].sort(([a], [b]) => a - b).map(([x, ys]) => [x, middle(ys.sort((a, b) => a - b))])
}

/** @param {number[]} sorted */
function middle(sorted) {
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2
}
