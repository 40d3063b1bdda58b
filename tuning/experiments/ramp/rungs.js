import { table } from '../../../load/report/blocks.js'
import { count, figure, mebibytes, milliseconds, NONE, percent, wholePercent } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { giversOf } from './alone.js'
import { intervalText, millionText } from './sentences.js'

/**
 * @import { Records } from './design.js'
 * @import { Climbed, RampFindings } from './findings.js'
 * @typedef {{ head: string, value: (record: any) => number | undefined, text: (value: number) => string }} Column
 */

const megabytesPerSecond = (/** @type {number} */ rate_bytes) => `${(rate_bytes / 1e6).toFixed(1)} MB/s`

/** @type {Column[]} */
const FIGURES = [
  { head: 'requests/s', value: ({ traffic }) => traffic.goodput_rps, text: figure },
  { head: 'mean', value: ({ traffic }) => traffic.latency_ms?.mean, text: milliseconds },
  { head: 'p99', value: ({ traffic }) => traffic.latency_ms?.p99, text: milliseconds },
  { head: 'success', value: ({ traffic }) => traffic.success_ratio, text: percent },
]

/** Columns shown if any trial has their figures. @type {Column[]} */
const RESOURCES = [
  { head: 'API core', value: ({ probes }) => probes.api.cpu_core_ratio, text: wholePercent },
  { head: 'API memory', value: ({ probes }) => probes.api.rss_bytes, text: mebibytes },
  { head: 'Postgres', value: ({ probes }) => probes.postgres.cpu_core_ratio, text: wholePercent },
  { head: 'disk', value: (record) => diskBytes(record) / lengthOf_s(record), text: megabytesPerSecond },
  { head: 'disk busy', value: (record) => kernelOf(record).disk?.busy_ratio, text: wholePercent },
  { head: 'generator', value: ({ probes }) => probes.generator.cpu_core_ratio, text: wholePercent },
]

/**
 * Medians of the trials with the same number of workers, in bold above the ceiling.
 * @param {RampFindings['series']} series @param {string} [name] of the table
 */
export function rungTable(series, name = 'rungs') {
  const columns = [...FIGURES, ...knownResources(series.flatMap(({ trials }) => trials))]
  const rows = series.flatMap((one) =>
    one.rungs.map(({ workers, trials, over }) => {
      const rung = `${one.name}, ${count(workers)}`
      return [over ? `**${rung}**` : rung, String(trials.length), ...cellsOf(columns, trials)]
    }),
  )
  return table(['side, workers', 'trials', ...columns.map(({ head }) => head)], rows, { name })
}

/** The columns of resources of which any of these trials has a figure. @param {Records} all */
function knownResources(all) {
  return RESOURCES.filter(({ value }) => all.some((record) => Number.isFinite(value(record))))
}

/** @param {RampFindings['screens']} screens */
export function screenTable(screens) {
  const rows = screens.map(({ side, entry, trial }) => {
    const workers = trial ? count(trial.load.connections) : NONE
    return [`${side.toUpperCase()}: ${entry}`, workers, ...cellsOf(FIGURES, trial ? [trial] : [])]
  })
  return table(['each request alone', 'workers', ...FIGURES.map(({ head }) => head)], rows)
}

/** Each request of the mix alone at the ceiling, next to the whole mix; with its resources just below the ceiling. @param {RampFindings} findings */
export function eachTable({ plan, mains, work, each }) {
  const resources = knownResources([mains, ...each.map(({ series }) => series)].flat().flatMap(({ below }) => below))
  const hasPrices = Object.keys(plan.prices).length > 0
  const hasB = mains.length > 1
  /** @param {string} entry @param {Climbed} series @param {RampFindings['work']} ratio of B to A */
  const rowOf = (entry, series, ratio) => [
    `${series.side.toUpperCase()}: ${entry}`,
    Number.isFinite(series.workers) ? count(Math.round(series.workers)) : NONE,
    series.blocks > 0 ? `${series.bound.length > 0 ? 'at least ' : ''}${intervalText(series.rps)}` : NONE,
    ...(hasB ? [ratio && ratio.pairs > 0 ? `${intervalText(ratio, 2)}x` : NONE] : []),
    ...(hasPrices ? [millionText(series.per_million)] : []),
    ...cellsOf(resources, series.below),
  ]
  const groups = [{ entry: 'the whole mix', series: mains, work }, ...each]
  const rows = mains.flatMap((_, i) => {
    return groups.map((group) => rowOf(group.entry, group.series[i], i === 1 ? group.work : null))
  })
  const head = [
    ...['each request, to the ceiling', 'workers at the ceiling', 'requests/s at the ceiling'],
    ...(hasB ? ['B to A'] : []),
    ...(hasPrices ? ['per million requests'] : []),
    ...resources.map((resource) => resource.head),
  ]
  return table(head, rows, { name: 'each' })
}

/** How each request was measured. @param {RampFindings} findings */
export function eachMethod({ plan: { mix, ceiling_ms } }) {
  const { entries = [] } = mix
  const takers = entries.filter((entry) => giversOf(entry, entries).length > 0).map(({ name }) => name)
  const given =
    takers.length > 0 ? ` ${takers.join(', ')}: one request in a hundred gives the values that the others take.` : ''
  return `Each request of the mix also climbs on its own, in the same blocks, to the same ceiling (${ceiling_ms} ms); its resources are those of the last rung below the ceiling.${given}`
}

/** Medians of the trials' figures. @param {Column[]} columns @param {Records} trials */
function cellsOf(columns, trials) {
  return columns.map(({ value, text }) => {
    const middle = median(trials.map(value))
    return Number.isNaN(middle) ? NONE : text(middle)
  })
}

/** Bytes read and written; NaN if unknown. @param {Records[number]} record */
export function diskBytes(record) {
  const { read_bytes = Number.NaN, written_bytes = Number.NaN } = kernelOf(record).disk ?? {}
  return read_bytes + written_bytes
}

/** Seconds of a trial: some drivers continue after its end. @param {Records[number]} record */
function lengthOf_s({ load, traffic }) {
  return Math.max(load.duration_s, traffic.completed / traffic.achieved_rps || 0)
}

/** Kinds of a side that the run starts, and whose machine it watches. */
const WATCHED = ['local', 'ssh']

/** Figures of the kernel of a side's machine: none if the side was running already, since it may be on another one. @param {Records[number]} record */
function kernelOf({ target, probes }) {
  return WATCHED.includes(target?.kind) ? probes.kernel : {}
}
