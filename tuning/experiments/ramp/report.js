import { answer, drawn, heading, list, method, paragraph, table } from '../../../load/report/blocks.js'
import { count, figure, milliseconds, NONE } from '../../../load/report/format.js'
import { xyPicture } from '../../../load/report/picture.js'
import { median } from '../../../load/verdict/ranks.js'
import { perHour } from './cost.js'
import { publishedBlocks, times } from './published.js'
import { eachMethod, eachTable, rungTable, screenTable } from './rungs.js'
import { answerSentences, furtherSentences, intervalText, millionText } from './sentences.js'

/**
 * @import { Mark, Series } from '../../../load/report/picture.js'
 * @import { Climbed, RampFindings } from './findings.js'
 */

/** @param {RampFindings} findings */
export function rampReport(findings) {
  const { plan, screens, series, each } = findings
  const further = furtherSentences(findings)
  const alone = each.flatMap((one) => one.series)
  return [
    answer(answerSentences(findings).join(' ')),
    ...(further.length > 0 ? [list(further)] : []),
    ...latencyPicture(findings),
    ...(Object.keys(plan.prices).length > 0 ? [costTable(findings)] : []),
    ...(screens.length > 0 ? [screenTable(screens)] : []),
    ...(each.length > 0 ? [eachTable(findings)] : []),
    rungTable(series.filter(({ entry }) => entry === null)),
    ...(plan.without ? [withoutBlock(findings)] : []),
    ...(each.length > 0 ? [heading('Each request alone', { detail: true }), rungTable(alone, 'each-rungs')] : []),
    ...publishedBlocks(findings),
    method(methodOf(findings)),
  ]
}

/** @param {RampFindings} findings */
function methodOf(findings) {
  const { plan, drivers, each } = findings
  const { ceiling_ms, blocks, duration_s, warmup_s, cold_warmup_s } = plan
  const cold = cold_warmup_s ? `, or ${cold_warmup_s} s if the run has just started the side` : ''
  const names = Object.entries(drivers).map(([name, version]) => `${name} (${version})`)
  const ceiling_s = ceiling_ms / 1000
  // While the queue fills, the first answer to a worker takes half as long on average.
  const tooLow = `${((50 * ceiling_s) / (duration_s + ceiling_s)).toFixed(1)} %`
  return [
    `Closed loop, ${names.join(', ')}: each worker sends its next request when its answer has arrived. Workers are added until the mean latency is above ${milliseconds(ceiling_ms)}, and then tried between the last rung below it and the first above it; the rate at the ceiling is interpolated between those two, on logarithmic scales.`,
    `${blocks} blocks, each with every series in random order; a rung lasts ${duration_s} s after ${warmup_s} s of warm-up${cold}. After the first block, a climb begins just below the ceiling. Ratios are taken within a block; intervals are based on ranks and need six blocks.`,
    `All workers begin at once, so their first answers arrive sooner than later ones: the mean latency of a rung at the ceiling is up to ${tooLow} too low, and the number of workers as much too high; the rate is not affected.`,
    'Rungs: medians of the blocks. Disks (of a side that this run started): the sum of all disks of its machine; busy: the busiest one.',
    ...(each.length > 0 ? [eachMethod(findings)] : []),
  ]
}

/** Plots the latency alone: in a closed loop, the rate is workers divided by latency. @param {RampFindings} findings */
function latencyPicture({ plan: { ceiling_ms }, series: all, mains }) {
  const climbed = all.filter(({ rungs, entry }) => rungs.length > 0 && entry === null)
  if (climbed.length === 0) return []
  const series = climbed.map(({ name, rungs }) => {
    return /** @type {Series} */ ({ name, points: rungs.map(({ workers, mean_ms }) => [workers, mean_ms]), as: 'both' })
  })
  const met = mains.filter(({ workers }) => Number.isFinite(workers))
  const verticals = met.map(({ workers, side }) => {
    return /** @type {Mark} */ ({ axis: 'x', at: Math.round(workers), label: side.toUpperCase() })
  })
  const about =
    'Mean latency of each rung, medians of the blocks. The vertical line shows the number of workers at which it meets the ceiling.'
  const picture = xyPicture('latency', 'Latency against workers', about, {
    x: { title: 'workers', unit: 'number', log: true },
    y: { title: 'mean latency', unit: 'ms', log: true },
    series,
    marks: [{ axis: 'y', at: ceiling_ms, label: `ceiling: ${ceiling_ms} ms` }, ...verticals],
  })
  return [drawn(picture)]
}

/** @param {RampFindings} findings */
function costTable({ plan, mains }) {
  const rows = mains.flatMap(({ side, blocks, rps, label, per_million }) => {
    const price = plan.prices[side]
    if (!price) return []
    const rate = blocks > 0 ? intervalText(rps) : NONE
    return [[`${side.toUpperCase()}: ${label}`, perHour(price).toFixed(4), rate, millionText(per_million)]]
  })
  return table(['cost', 'per hour, with storage', 'requests/s at the ceiling', 'per million requests'], rows)
}

/**
 * Effect of leaving out entries on the other entries, at the highest number of workers below the ceiling that has trials both
 * with and without them.
 * @param {RampFindings} findings
 */
function withoutBlock({ plan: { left_out, mix }, series, mains }) {
  const rows = mains.flatMap((all) => {
    const rest = series.find(({ side, driver, variant }) => {
      return side === all.side && driver === all.driver && variant === 'without'
    })
    const shared = all.rungs.flatMap((rung) => {
      const other = rest?.rungs.find(({ workers }) => workers === rung.workers)
      return other ? [{ ...rung, both: [rung.trials, other.trials] }] : []
    })
    const rung = shared.findLast(({ over }) => !over) ?? shared.at(-1)
    if (!rung) return []
    return (mix.entries ?? []).flatMap(({ name }) => {
      const [with_all, left] = rung.both.map((trials) => entryFigures(trials, name))
      if (Number.isNaN(with_all.rps)) return []
      const rates = [figure(with_all.rps), figure(left.rps), times(left.rps / with_all.rps)]
      const means = [...[with_all.mean_ms, left.mean_ms].map(milliseconds), times(left.mean_ms / with_all.mean_ms)]
      return [[`${all.side.toUpperCase()}, ${count(rung.workers)}: ${name}`, ...rates, ...means]]
    })
  })
  const left = `without ${left_out}`
  if (rows.length > 0)
    return table(['side, workers, request', 'requests/s', left, 'ratio', 'mean', left, 'ratio'], rows)
  return paragraph(
    `What leaving out ${left_out} did to the others is not known: no number of workers has a valid trial both with it and without it, or the driver does not tell requests apart (autocannon does).`,
  )
}

/** Medians of one entry of the mix. @param {Climbed['trials']} trials @param {string} name of the entry */
function entryFigures(trials, name) {
  const own = trials.flatMap(({ traffic }) => {
    const entry = traffic.by_entry?.[name]
    return entry ? [{ ...entry, rps: (entry.ok * traffic.goodput_rps) / Math.max(1, traffic.ok) }] : []
  })
  return { rps: median(own.map(({ rps }) => rps)), mean_ms: median(own.map(({ latency_ms }) => latency_ms?.mean)) }
}
