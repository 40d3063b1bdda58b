import { readFileSync } from 'node:fs'
import { answer, drawn, heading, list, method, paragraph, table } from '../../../load/report/blocks.js'
import { count, figure, milliseconds, NONE, percent, wholePercent } from '../../../load/report/format.js'
import { perHour, replacement } from './cost.js'
import { rampPictures } from './pictures.js'
import { answerSentences, furtherSentences, intervalText } from './sentences.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { RampPlan } from './design.js'
 * @import { RampFindings } from './findings.js'
 * @import { Resource } from './rungs.js'
 */

export const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/ramp.json', import.meta.url), 'utf8'))

const DETAIL = { detail: true }

/** @param {RampFindings} findings @returns {Block[]} */
export function rampReport(findings) {
  const { plan, drivers, screens, without } = findings
  const further = furtherSentences(findings)
  return [
    answer(answerSentences(findings).join(' ')),
    ...(further.length > 0 ? [list(further)] : []),
    ...rampPictures(findings).map(drawn),
    ...(Object.keys(plan.prices).length > 0 ? [costTable(findings)] : []),
    ...(screens.length > 0 ? [screenTable(screens)] : []),
    rungTable(findings),
    ...(without ? [withoutBlock(plan, without)] : []),
    heading('Published', DETAIL),
    publishedTable(findings),
    list(publishedLines(), DETAIL),
    method(methodOf(plan, drivers)),
  ]
}

/** @param {RampPlan} plan @param {Record<string, string>} drivers with their versions */
function methodOf({ ceiling_ms, blocks, duration_s, warmup_s }, drivers) {
  const names = Object.entries(drivers).map(([name, version]) => `${name} (${version})`)
  const ceiling_s = ceiling_ms / 1000
  // In a queue that fills, the first answer of a worker takes half as long on average.
  const tooLow = `${((50 * ceiling_s) / (duration_s + ceiling_s)).toFixed(1)} %`
  return [
    `Closed loop, ${names.join(', ')}: each worker sends when its answer has come. More workers until the mean latency is above ${milliseconds(ceiling_ms)}, then between the last below it and the first above it; the rate at the ceiling lies between those two, on logarithmic scales.`,
    `${blocks} blocks, each with every series in random order, ${duration_s} s a rung after ${warmup_s} s of warm-up; after the first block a climb begins just below the ceiling. Ratios are taken within a block; intervals go by ranks, and need six blocks.`,
    `All workers begin at once, so that their first answers come sooner than later ones: the mean of a rung at the ceiling is up to ${tooLow} too low, and the workers as many too high; the rate is not affected.`,
    'Rungs: medians of the blocks. Waiting: share of the time in which workers waited for an answer (workers = rate x latency); the rest is the generator’s own. Disks (of a local API): all of this machine together; busy: the busiest.',
  ]
}

/** @param {RampFindings} findings */
function rungTable({ series, resources }) {
  const rows = series.flatMap(({ name, rungs }) =>
    rungs.map((rung) => [
      `${name}, ${count(rung.workers)}`,
      String(rung.trials),
      figure(rung.rps),
      rung.over ? `**${milliseconds(rung.mean_ms)}**` : milliseconds(rung.mean_ms),
      milliseconds(rung.p99_ms),
      percent(rung.success_ratio),
      wholePercent(rung.waiting_ratio),
      ...rung.resources.map((value, i) => resourceText(resources[i].unit, value)),
    ]),
  )
  const head = ['side, workers', 'trials', 'requests/s', 'mean', 'p99', 'success', 'waiting']
  return table([...head, ...resources.map(({ name }) => name)], rows)
}

/** @param {Resource['unit']} unit @param {number} value */
function resourceText(unit, value) {
  if (Number.isNaN(value)) return NONE
  if (unit === 'bytes') return `${count(Math.round(value / 2 ** 20))} MiB`
  return unit === 'bytes_per_s' ? `${(value / 1e6).toFixed(1)} MB/s` : wholePercent(value)
}

/** @param {RampFindings} findings */
function costTable({ plan, series, cost }) {
  const mains = series.filter(({ isMain }) => isMain)
  const rows = mains.flatMap(({ found: { side, blocks, rps }, label }) => {
    const [price, million] = [plan.prices[side], cost[side]]
    if (!price) return []
    // Three digits that count.
    const digits = million ? Math.max(0, 2 - Math.floor(Math.log10(million.estimate))) : 0
    const row = [
      `${side.toUpperCase()}: ${label}`,
      String(price.per_hour),
      price.storage_gb > 0 ? `${count(price.storage_gb)} GB x ${price.per_gb_month}` : NONE,
      perHour(price).toFixed(4),
      blocks > 0 ? intervalText(rps) : NONE,
      million ? intervalText(million, digits) : NONE,
    ]
    return [row]
  })
  const head = ['cost', 'per hour', 'storage per month', 'in all per hour', 'requests/s at the ceiling']
  return table([...head, 'per million requests'], rows)
}

/** @param {RampFindings['screens']} screens */
function screenTable(screens) {
  const rows = screens.map(({ side, entry, trial }) => {
    const name = `${side.toUpperCase()}: ${entry}`
    if (!trial) return [name, ...Array(5).fill(NONE)]
    const { goodput_rps, latency_ms, success_ratio } = trial.traffic
    const latencies = [latency_ms?.mean, latency_ms?.p99].map(milliseconds)
    return [name, count(trial.load.connections), figure(goodput_rps), ...latencies, percent(success_ratio)]
  })
  return table(['each request alone', 'workers', 'requests/s', 'mean', 'p99', 'success'], rows)
}

/** @param {RampPlan} plan @param {NonNullable<RampFindings['without']>} without */
function withoutBlock({ drivers }, { left_out, told, rows }) {
  if (rows.length === 0) {
    return paragraph(
      told
        ? `What leaving out ${left_out} did to the others is not known: no number of workers has a valid trial both with it and without it.`
        : `${drivers[0]} does not tell requests apart: what it did to each, autocannon tells.`,
    )
  }
  const left = `without ${left_out}`
  const cells = rows.map(({ side, workers, entry, all, rest }) => [
    `${side.toUpperCase()}, ${count(workers)}: ${entry}`,
    ...[figure(all.rps), figure(rest.rps), times(rest.rps / all.rps)],
    ...[milliseconds(all.mean_ms), milliseconds(rest.mean_ms), times(rest.mean_ms / all.mean_ms)],
  ])
  return table(['side, workers, request', 'requests/s', left, 'ratio', 'mean', left, 'ratio'], cells)
}

/** The published figures and ours. Rates are those of other machines; ratios can be compared. @param {RampFindings} findings */
function publishedTable({ plan, series, work }) {
  const { workers, b_to_a, ceiling_ms } = PUBLISHED
  const [a, b] = series.filter(({ isMain }) => isMain)
  const number = (value = Number.NaN) => (Number.isNaN(value) ? NONE : count(Math.round(value)))
  const ratio = work && work.pairs > 0 ? `${intervalText({ ...work, estimate: work.ratio }, 2)}x` : NONE
  const rows = [
    ['workers at the ceiling, A', count(workers.a), number(a.found.workers)],
    ['workers at the ceiling, B', count(workers.b), number(b?.found.workers)],
    ['workers, B to A', times(workers.b / workers.a), times(b?.found.workers / a.found.workers)],
    ['requests/s, B to A', `${b_to_a.rps_ratio.low} to ${b_to_a.rps_ratio.high}x`, ratio],
    [
      'disk, B to A (here: a request)',
      times(b_to_a.disk_ratio),
      times(b?.at_ceiling.disk_bytes / a.at_ceiling.disk_bytes),
    ],
    ['CPU, B to A', times(b_to_a.cpu_ratio), times(b?.at_ceiling.cpu_core_ratio / a.at_ceiling.cpu_core_ratio)],
  ]
  const head = ['', `published, ${milliseconds(ceiling_ms)}`, `here, ${milliseconds(plan.ceiling_ms)}`]
  return table(head, rows, DETAIL)
}

/** What else the publication says, and its arithmetic once more. */
function publishedLines() {
  const { b_to_a, screen, sweet_spot, conclusion, title, author, setting, cost } = PUBLISHED
  const { low, high } = b_to_a.rps_ratio
  const groups = screen.groups_rps.map(count).join('/s and ')
  const spots = sweet_spot.map((/** @type {any} */ { threads, connections, rps, p99_below_ms }) => {
    return `${threads} threads with ${connections} connections: ${count(rps)}/s, p99 below ${p99_below_ms} ms`
  })
  const { machines, withStorage, withRoots } = publishedCost()
  const [month, stored, rooted] = [machines, withStorage, withRoots].map((one) => one.saved_per_month.toFixed(0))
  const saved = `${+(machines.saved_ratio * 100).toFixed(2)} %`
  const surcharge = `${(machines.surcharge_ratio * 100).toFixed(0)} % dearer`
  return [
    `"${title}" (${author}): ${setting}.`,
    `wrk's own limit first: ${spots.join('; ')}. Each method alone, ${screen.threads} thread and ${screen.connections} connections: two groups, about ${groups}/s.`,
    `It concludes that ${conclusion}. By its own figures one B does the work of ${low} to ${high} A: two machines in whole ones, less in a fleet.`,
    `Its cost again: two ${cost.a.machine} for one ${cost.b.machine} saves ${machines.saved_per_hour.toFixed(3)} USD/h; a month ${month} (published: ${cost.saved_per_month}), ${stored} with the storage (${cost.saved_with_storage_per_month}), ${rooted} with roots only (${cost.saved_with_roots_per_month}). That is ${saved} of what the two cost; the headline of ${wholePercent(cost.headline_ratio)} is the same sum as a share of the one (${surcharge}).`,
  ]
}

/** The published cost, from its inputs. */
export function publishedCost() {
  const { cost } = PUBLISHED
  const machine = (/** @type {{ per_hour: number }} */ { per_hour }, storage_gb = 0) => {
    return { per_hour, storage_gb, per_gb_month: cost.per_gb_month }
  }
  const number = cost.a_for_one_b
  return {
    machines: replacement(machine(cost.a), machine(cost.b), number),
    withStorage: replacement(machine(cost.a, cost.storage_gb / number), machine(cost.b), number),
    withRoots: replacement(machine(cost.a, cost.root_gb), machine(cost.b), number),
  }
}

/** @param {number} ratio */
function times(ratio) {
  return Number.isFinite(ratio) ? `${ratio.toFixed(2)}x` : NONE
}
