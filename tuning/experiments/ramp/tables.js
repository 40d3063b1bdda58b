import { count, milliseconds, NONE, percent } from '../../../load/report/format.js'
import { hostLines, whereAndWhen } from '../../../load/run/old.js'
import { labelOf } from '../../knobs/sides.js'
import { median } from '../../stats/ranks.js'
import { table } from '../../stats/spread.js'
import { agreementSentence, agreementsOf, waitingShare } from './agreement.js'
import { perHour } from './cost.js'
import { findingsOf, mainOf } from './findings.js'
import { screenPart, withoutPart } from './mix-tables.js'
import { publishedPart } from './published.js'
import { digitsFor, figure, intervalText, nameOf, sentencesOf } from './sentences.js'
import { isHere, rungsOf, seriesOf, trialsOf } from './steps.js'

/**
 * @import { Price } from './cost.js'
 * @import { Findings } from './findings.js'
 * @import { Name, RampPlan, Records } from './steps.js'
 */

/**
 * What was found, for the terminal and the report's top.
 *
 * @param {any} run
 * @param {Records} records
 */
export function rampText(run, records) {
  const { plan } = run
  const findings = findingsOf(plan, records)
  const agreements = agreementsOf(plan, records, findings).map(agreementSentence)
  const warnings = (run.warnings ?? []).map((/** @type {string} */ text) => `Warning: ${text}.`)
  const missing = (run.missing ?? []).map(
    (/** @type {string} */ text) => `Went on without one of its drivers: ${text}.`,
  )
  return [
    ...(run.problem ? [`**No trustworthy answer: ${run.problem}.**`] : []),
    [...sentencesOf(plan, findings), ...agreements, ...missing, ...warnings].map((text) => `- ${text}`).join('\n'),
    ...costPart(plan, findings),
    ...screenPart(plan, records),
    rungTable(plan, records),
    ...withoutPart(plan, records),
  ].join('\n\n')
}

/**
 * report.md
 *
 * @param {any} run
 * @param {Records} records
 */
export function rampReport(run, records) {
  const { plan } = run
  const findings = findingsOf(plan, records)
  const drivers = Object.entries(run.drivers ?? {}).map(([name, version]) => `${name} (${version})`)
  return `${[
    `# Redline ramp: ${run.run_id}`,
    rampText(run, records),
    '## Published',
    publishedPart(plan, records, findings),
    '## How it was measured',
    [
      `- Closed loop, ${drivers.join(', ')}: each worker sends when its answer has come. More workers until the mean latency is above ${milliseconds(plan.ceiling_ms)}, then between the last below it and the first above it; the rate at the ceiling lies between those two, on logarithmic scales.`,
      `- ${plan.blocks} blocks, in each every series in an order that is drawn, ${plan.duration_s} s a rung after ${plan.warmup_s} s of warm-up; after the first block a climb begins just below the ceiling. Ratios are taken within a block; intervals go by ranks, and need six blocks.`,
      `- All workers begin at once, so that their first answers come sooner than later ones: the mean of a rung at the ceiling is up to ${tooLow(plan)} too low, and the workers as many too high; the rate is not moved by it.`,
      '- Rungs: medians of the blocks. Waiting: share of the time in which workers waited for an answer (workers = rate x latency); what is missing is the generator’s own. Disks (of a local API): all of this machine together; busy: the busiest.',
      ...(run.pinning ? [`- ${run.pinning}`] : []),
      ...hostLines(run, records),
      `- Command: \`npm run ramp -- ${run.argv.join(' ')}\`, seed ${plan.mix.seed}.`,
    ].join('\n'),
    '## Where',
    whereAndWhen(run),
  ].join('\n\n')}\n`
}

/** In a queue that fills, the first answer of a worker takes half as long on the average. @param {RampPlan} plan */
function tooLow({ ceiling_ms, duration_s }) {
  const ceiling_s = ceiling_ms / 1000
  return `${((50 * ceiling_s) / (duration_s + ceiling_s)).toFixed(1)} %`
}

/** @param {RampPlan} plan @param {Records} records */
function rungTable(plan, records) {
  const resources = RESOURCES.filter(([, value]) => records.some((record) => Number.isFinite(value(record))))
  const rows = seriesOf(plan).flatMap((series) => {
    const trials = trialsOf(records, series.key)
    const workers = [...new Set(trials.map(({ load }) => load.connections))].sort((a, b) => a - b)
    return workers.map((number) => {
      const own = trials.filter(({ load }) => load.connections === number)
      return [`${nameOf(plan, series)}, ${count(number)}`, ...rungCells(plan, own, resources)]
    })
  })
  const head = [
    'side, workers',
    'trials',
    'requests/s',
    'mean',
    'p99',
    'success',
    'waiting',
    ...resources.map(([name]) => name),
  ]
  return table(head, rows)
}

/** @param {RampPlan} plan @param {Records} own trials with the same number of workers @param {typeof RESOURCES} resources */
function rungCells(plan, own, resources) {
  const of = (/** @type {(record: Records[number]) => number | undefined} */ value) => {
    return median(own.map((record) => value(record) ?? Number.NaN))
  }
  const mean_ms = of(({ traffic }) => traffic.latency_ms?.mean)
  const over = rungsOf(plan, own).filter((rung) => rung.over).length * 2 > own.length
  return [
    String(own.length),
    figure(of(({ traffic }) => traffic.goodput_rps)),
    over ? `**${milliseconds(mean_ms)}**` : milliseconds(mean_ms),
    milliseconds(of(({ traffic }) => traffic.latency_ms?.p99)),
    percent(of(({ traffic }) => traffic.success_ratio)),
    share(of(waitingShare)),
    ...resources.map(([, value, text]) => text(of(value))),
  ]
}

/** Resources beside each rung: what they are called, where they stand in a record, how they are written. */
const RESOURCES = /** @type {[string, (record: any) => number | undefined, (value: number) => string][]} */ ([
  ['API core', ({ probes }) => probes.api.cpu_core_ratio, share],
  ['API memory', ({ probes }) => probes.api.rss_bytes, mebibytes],
  ['Postgres', ({ probes }) => probes.postgres.cpu_core_ratio, share],
  ['disk read', here(perSecond('read_bytes')), (value) => rate(value)],
  ['disk written', here(perSecond('written_bytes')), (value) => rate(value)],
  ['disk busy', here(({ probes }) => probes.kernel.disk?.busy_ratio), share],
  ['free memory', here(({ probes }) => probes.kernel.memory_available_bytes), mebibytes],
  ['generator', ({ probes }) => probes.generator.cpu_core_ratio, share],
])

/** @param {RampPlan} plan @param {Findings} findings */
function costPart(plan, { series, cost }) {
  const priced = /** @type {Name[]} */ (Object.keys(plan.prices))
  if (priced.length === 0) return []
  const rows = priced.map((side) => {
    const [price, million] = [/** @type {Price} */ (plan.prices[side]), cost[side]]
    const found = mainOf(series, side, plan.drivers[0])
    return [
      `${side.toUpperCase()}: ${labelOf(/** @type {any} */ (plan.sides[side]))}`,
      String(price.per_hour),
      price.storage_gb > 0 ? `${count(price.storage_gb)} GB x ${price.per_gb_month}` : NONE,
      perHour(price).toFixed(4),
      found && found.blocks > 0 ? intervalText(found.rps) : NONE,
      million ? intervalText(million, digitsFor(million.estimate)) : NONE,
    ]
  })
  return [
    table(
      ['cost', 'per hour', 'storage per month', 'in all per hour', 'requests/s at the ceiling', 'per million requests'],
      rows,
    ),
  ]
}

/** @param {(record: any) => number | undefined} value @returns {(record: any) => number | undefined} none of a side that is elsewhere */
function here(value) {
  return (record) => (isHere(record) ? value(record) : undefined)
}

/** @param {'read_bytes' | 'written_bytes'} name */
function perSecond(name) {
  return (/** @type {any} */ { probes, traffic, load }) => {
    const seconds = Math.max(load.duration_s, traffic.completed / traffic.achieved_rps || 0)
    return probes.kernel.disk && probes.kernel.disk[name] / seconds
  }
}

/** @param {number} bytes_per_second */
function rate(bytes_per_second) {
  return Number.isNaN(bytes_per_second) ? NONE : `${(bytes_per_second / 1e6).toFixed(1)} MB/s`
}

/** @param {number} bytes */
function mebibytes(bytes) {
  return Number.isNaN(bytes) ? NONE : `${count(Math.round(bytes / 2 ** 20))} MiB`
}

/** @param {number} ratio */
function share(ratio) {
  return Number.isNaN(ratio) ? NONE : `${Math.round(ratio * 100)} %`
}
