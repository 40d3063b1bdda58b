import { isValid } from '../../capacity/ladder.js'
import { SERIES, VERDICTS } from '../../report/colours.js'
import { ratesText } from '../../report/format.js'
import { xyPicture } from '../../report/picture.js'
import { latencyBounds } from '../../report/slo.js'
import { busyShare } from '../../verdict/ledger.js'
import { median } from '../../verdict/ranks.js'
import { rateOf } from './answer.js'

/**
 * @import { Axis, Mark, Picture, Series } from '../../report/picture.js'
 * @import { SweepFindings } from './sweep.js'
 * @import { Latency, TrialRecord } from '../../report/record.js'
 */

/** @typedef {TrialRecord[]} Records @typedef {(record: TrialRecord) => number | null | undefined} Value */

/** A rate gets through if its median trial achieves at least this share of it. */
const THROUGH_RATIO = 0.95

/** The pictures of a sweep: achieved against offered, latency and resources against load. @param {SweepFindings} findings @returns {Picture[]} */
export function sweepPictures(findings) {
  const own = findings.records.filter(({ cell, doses }) => cell === null && !doses)
  const valid = own.filter(isValid)
  const open = valid.filter(({ load }) => load.rate_rps !== null)
  if (open.length > 0) {
    const marks = rangeMarks(findings)
    const x = roomFor('offered per second', open.map(rateOf))
    return [capacityPicture(findings, own, open, marks), ...ofLoads(findings, open, rateOf, x, marks)]
  }
  if (valid.length === 0) return []
  const connections = (/** @type {TrialRecord} */ { load }) => load.connections
  const x = /** @type {Axis} */ ({ title: 'connections', unit: 'number', log: true })
  const points = medians(valid, connections, ({ traffic }) => traffic.goodput_rps)
  const goodput = xyPicture(
    'goodput',
    'Successes per second against connections',
    'A closed loop: each connection sends its next request when its response arrives. More connections get more through, until the service has nothing left to give.',
    {
      x,
      y: { title: 'successes per second', unit: 'rate' },
      series: [{ name: 'successes per second', points, as: 'both' }],
    },
  )
  return [goodput, ...ofLoads(findings, valid, connections, x, [])]
}

/** @param {SweepFindings} findings @param {Records} all @param {Records} open @param {Mark[]} marks */
function capacityPicture({ capacity }, all, open, marks) {
  const shown = all.filter(({ load }) => load.rate_rps !== null)
  const most_rps = Math.max(...shown.map(rateOf))
  const verdicts = Object.entries(VERDICTS).map(([verdict, { name, style }]) => {
    const own = shown.filter(({ outcome }) => outcome.verdict === verdict)
    const points = own.map((record) => /** @type {[number, number]} */ ([rateOf(record), record.traffic.goodput_rps]))
    return /** @type {Series} */ ({ name, points, as: 'dots', style })
  })
  const line = /** @type {[number, number][]} */ ([0, most_rps].map((rate_rps) => [rate_rps, rate_rps]))
  const through_rps = lastThrough_rps(open)
  const about = capacity ? `The capacity is ${ratesText(capacity)}. ` : ''
  const throughText =
    through_rps === null
      ? ''
      : ' Left of the dashed vertical line, at least 95 % of the requests succeeded (the median over the trials at a rate), though perhaps too late for the SLO.'
  return xyPicture(
    'capacity',
    'Achieved against offered',
    `${about}On the diagonal, every request that is offered succeeds.${throughText}`,
    {
      x: roomFor('offered per second', [0, most_rps]),
      y: { title: 'successes per second', unit: 'rate' },
      series: [{ name: 'all succeed', points: line, as: 'line', style: 5 }, ...known(verdicts)],
      marks: through_rps === null ? marks : [...marks, { axis: 'x', at: through_rps, label: '95 % get through' }],
    },
  )
}

/** An axis of rates that leaves room between the values and its ends. @param {string} title @param {number[]} values @returns {Axis} */
function roomFor(title, values) {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  return { title, unit: 'rate', min: least < most / 2 ? 0 : rounded(least, -1), max: rounded(most, 1) }
}

/** Adds or subtracts a little, then rounds to one or two digits. @param {number} value @param {1 | -1} direction */
function rounded(value, direction) {
  const unit = 10 ** Math.floor(Math.log10(value) - 0.5)
  const near = (value * (1 + 0.03 * direction)) / unit
  return (direction > 0 ? Math.ceil(near) : Math.floor(near)) * unit
}

/** Resources in use, as shares of the available total. @type {Record<string, Value>} */
const RESOURCES = {
  'the service (CPU)': ({ probes }) => probes.api?.cpu_core_ratio,
  "the service's event loop": ({ probes }) => probes.api?.elu_ratio,
  "the service's pool": ({ probes, settings }) =>
    Number(probes.api?.pool_used_mean) / Number(settings?.POOL_MAX ?? probes.api?.pool_max),
  'Postgres (CPU)': ({ probes }) => probes.postgres?.cpu_core_ratio,
  'the generator (CPU)': ({ probes }) => probes.generator?.cpu_core_ratio,
}

/** Drawn whether or not the SLO bounds them. @type {Latency[]} */
const LATENCIES = ['p50', 'p99', 'max']

/** Latency and resources against load. @param {SweepFindings} findings @param {Records} records @param {Value} xOf @param {Axis} x @param {Mark[]} marks */
function ofLoads({ plan: { slo } }, records, xOf, x, marks) {
  const seriesOf = (/** @type {Record<string, Value>} */ values, own = records) =>
    known(Object.entries(values).map(([name, yOf]) => ({ name, points: medians(own, xOf, yOf), as: 'both' })))
  const short = records.filter(({ load }) => !load.checkpoint)
  const without =
    short.length < records.length ? ' Sustained trials are left out: a longer trial has more slow moments.' : ''
  const cores = seriesOf(coresOf(records)).sort((a, b) => mostOf(b) - mostOf(a))
  // More than there are styles would look alike.
  const inUse = [...seriesOf(RESOURCES), ...cores].slice(0, SERIES.length)
  const bounds = latencyBounds(slo ?? {})
  const shown = new Set([...LATENCIES, ...bounds.map(([name]) => name)])
  const latencies = Array.from(shown, (name) => [
    name,
    (/** @type {TrialRecord} */ { traffic }) => traffic.latency_ms?.[name],
  ])
  const lines = bounds.map(([name, at]) => /** @type {Mark} */ ({ axis: 'y', at, label: `SLO: ${name} <= ${at} ms` }))
  const latency = xyPicture(
    'latency',
    'Latency against load',
    `Percentiles, each the median of the trials of its load, on a logarithmic scale.${without}`,
    {
      x,
      y: { title: 'latency', unit: 'ms', log: true },
      series: seriesOf(Object.fromEntries(latencies), short),
      marks: [...marks, ...lines],
    },
  )
  // Several threads, or processes, can use more than one core.
  const fits = Math.max(...inUse.map(mostOf)) <= 1 && { max: 1 }
  const resources = xyPicture(
    'resources',
    'How busy each resource was',
    'CPU as shares of one core, the event loop as a share of the time, connections of the pool as a share of all; medians of the trials of a load.',
    { x, y: { title: 'in use', unit: 'share', min: 0, ...fits }, series: inUse, marks },
  )
  return [latency, resources].filter(({ form }) => form.series.length > 0)
}

/** Use of the cores of the service, Postgres and the generator, by all programs together. @param {Records} records @returns {Record<string, Value>} */
function coresOf(records) {
  /** @type {(name: string, cores: string | null | undefined, is: 'kernel' | 'here') => [string, Value]} */
  const useOf = (name, cores, is) => [name, ({ probes }) => busyShare(probes[is] ?? probes.kernel ?? {}, cores)]
  const uses = records.flatMap(({ target, probes: { postgres, generator, here } }) => [
    useOf(coreName(target.cores, here ? " of the service's host" : ''), target.cores, 'kernel'),
    ...[postgres?.cores, generator?.cores].map((cores) => useOf(coreName(cores), cores, 'here')),
  ])
  return Object.fromEntries(uses)
}

/** @param {string | null | undefined} cores such as 1, or 1-3 @param {string} [host] */
function coreName(cores, host = '') {
  return `${/^\d+$/.test(cores ?? '') ? 'core' : 'cores'} ${cores}${host}, all programs`
}

/** @param {Series} series */
function mostOf({ points }) {
  return Math.max(...points.map(([, y]) => y))
}

/** @param {Series[]} series */
function known(series) {
  return series.filter(({ points }) => points.length > 0)
}

/** The capacity as an area, or as a line if only one of its ends is known. @param {SweepFindings} findings @returns {Mark[]} */
function rangeMarks({ capacity }) {
  const { low_rps, high_rps } = capacity ?? {}
  if (low_rps && high_rps) return [{ axis: 'x', from: low_rps, to: high_rps, label: 'capacity' }]
  const at = low_rps ?? high_rps
  return at ? [{ axis: 'x', at, label: low_rps ? 'capacity: at least' : 'capacity: below' }] : []
}

/** The highest rate up to which the offered load gets through; null if it does at every rate, or not even at the lowest. Pure. @param {Records} open loops */
export function lastThrough_rps(open) {
  const kept = medians(open, rateOf, ({ traffic, load }) => traffic.goodput_rps / Number(load.rate_rps))
  const first = kept.findIndex(([, ratio]) => ratio < THROUGH_RATIO)
  return first <= 0 ? null : kept[first - 1][0]
}

/** The median over the trials of each x, by rising x. @param {Records} records @param {Value} xOf @param {Value} yOf @returns {Series['points']} */
function medians(records, xOf, yOf) {
  const seen = records.filter((record) => Number.isFinite(yOf(record)))
  const loads = [...new Set(seen.map((record) => Number(xOf(record))))].sort((a, b) => a - b)
  return loads.map((x) => [x, median(seen.flatMap((record) => (xOf(record) === x ? Number(yOf(record)) : [])))])
}
