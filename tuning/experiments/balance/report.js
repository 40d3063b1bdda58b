import { answer, code, drawn, heading, list, method, paragraph, table, titled } from '../../../load/report/blocks.js'
import { count, milliseconds, NONE, tenthPercent } from '../../../load/report/format.js'
import { ratioText } from '../../stats/effects.js'
import { GENERATOR_LIMIT, leftOut } from '../../stats/sound.js'
import { spread, spreadOf } from '../../stats/spread.js'
import { haproxyAgainstAdaptive, timesOf, timesText } from './against.js'
import { figuresOf, PERCENTILES } from './figures.js'
import { HAPROXY, haproxyConfig } from './haproxy.js'
import { gainsOf, PUBLISHED, QUANTILES } from './published.js'
import { overTimeBlocks, shareBlocks } from './share-blocks.js'
import { partsOf, strategiesOf } from './steps.js'
import { answerSentences, problemOf } from './verdict.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { BalancePlan } from './plan.js'
 * @import { Quantiles } from './published.js'
 * @import { Simulation } from './simulation.js'
 * @import { Records } from './steps.js'
 */

/** @typedef {ReturnType<typeof analyse>} BalanceFindings */

/** @param {BalancePlan} plan @param {Records} records @param {{ simulation?: Simulation | null }} run */
export function analyse(plan, records, { simulation = null }) {
  const { shares, ...measured } = figuresOf(plan, records)
  const sentences = answerSentences(measured.strategies, measured.crowded, simulation)
  const figures = { ...measured, haproxy: haproxyAgainstAdaptive(plan, records), simulation }
  const kept = { answer: sentences.join(' '), ...figures }
  return { problem: problemOf(plan, records), kept, ...figures, plan, sentences, shares, leftOut: leftOut(records) }
}

/** @param {BalanceFindings} findings @returns {Block[]} */
export function report(findings) {
  const { plan, sentences, simulation, shares, leftOut } = findings
  const [first = 'Adaptive was not compared with round robin.', ...others] = sentences
  return [
    answer(first),
    ...(plan.haproxy_missing ? [paragraph(`HAProxy: ${plan.haproxy_missing}.`)] : []),
    ...others.map((text) => paragraph(text)),
    ...percentilePicture(findings, 'strategies'),
    ...percentilePicture(findings, 'crowded'),
    ...strategyBlocks(findings, 'strategies'),
    ...strategyBlocks(findings, 'crowded'),
    ...shareBlocks(plan, shares),
    ...failingBlocks(findings),
    ...overheadBlocks(findings),
    ...haproxyBlocks(findings),
    ...processBlocks(findings),
    ...simulationBlocks(simulation),
    ...(leftOut.length > 0 ? [list(leftOut)] : []),
    ...overTimeBlocks(plan, shares),
    heading('Published', { detail: true }),
    paragraph(publishedText()),
    ...(plan.haproxy ? configBlocks(plan) : []),
    method(methodOf(plan)),
  ]
}

const UNEVEN = { strategies: 'over uneven endpoints', crowded: 'over the same endpoints at a higher rate' }

/** @param {BalanceFindings} findings @param {keyof typeof UNEVEN} part */
function percentilePicture(findings, part) {
  if (findings[part].length === 0) return []
  const series = findings[part].map(({ strategy, latency_ms }) => {
    return { name: strategy, values: PERCENTILES.map((name) => spreadOf([latency_ms[name]])) }
  })
  return [
    drawn({
      name: `percentiles-${part}`,
      title: `Latency ${UNEVEN[part]}`,
      about: `Percentiles of the successes at ${findings.plan.sizes[part].rate_rps}/s, medians of the blocks.`,
      form: { kind: 'dots', x: { title: 'latency', unit: 'ms', min: 0 }, labels: [...PERCENTILES], series },
    }),
  ]
}

/** @param {BalanceFindings} findings @param {keyof typeof UNEVEN} part */
export function strategyBlocks(findings, part) {
  const rows = findings[part].map(({ strategy, latency_ms, to_reference, saved_ms, error_ratio, trials }) => [
    strategy,
    ...PERCENTILES.map((name) => milliseconds(latency_ms[name])),
    to_reference ? ratioText(to_reference.p50) : '1',
    to_reference ? ratioText(to_reference.p95) : '1',
    to_reference && Number.isFinite(saved_ms) ? `${saved_ms.toFixed(0)} ms` : NONE,
    tenthPercent(error_ratio),
    String(trials),
  ])
  const head = ['strategy', ...PERCENTILES, 'p50 by round robin', 'p95', 'saved per request', 'errors met', 'trials']
  const about = `**Latency ${UNEVEN[part]}**: of the successes, at ${findings.plan.sizes[part].rate_rps}/s.`
  return titled(about, head, rows)
}

/** @param {BalanceFindings} findings */
export function failingBlocks({ plan, failing }) {
  const { leave, back } = timesOf(plan)
  const inWords = (/** @type {(number | null)[]} */ found_s, /** @type {typeof leave} */ time) => {
    const times_s = found_s.map((s) => s ?? time.longest_s)
    return times_s.length === 0 ? 'never left' : timesText(times_s, `${spread(times_s, 1)} s`, time)
  }
  const rows = failing.map(({ strategy, leave_s, back_s, errors_at_endpoint, error_ratio, p50_ms }) => {
    const left = back_s.filter((_, i) => leave_s[i] !== null)
    const errors = [count(Math.round(errors_at_endpoint)), tenthPercent(error_ratio)]
    return [strategy, inWords(leave_s, leave), inWords(left, back), ...errors, milliseconds(p50_ms)]
  })
  const { from_s, to_s } = plan.fails.failing
  const about = `**One of ${plan.endpoints} equal endpoints fails** from second ${from_s} to ${to_s}: it answers 503 at once, also to health checks.`
  const head = ['strategy', 'leaves after', 'comes back after', 'errors it gave', 'errors met by clients', 'p50']
  return titled(about, head, rows)
}

/** @param {BalanceFindings} findings */
export function overheadBlocks({ plan, overhead }) {
  const rows = overhead.map(({ strategy, p50_ms, added_ms, cpu_us }) => {
    const { estimate = 0, low = 0, high = 0, pairs = 0 } = added_ms ?? {}
    const interval = Number.isFinite(high) ? `${low.toFixed(2)}–${high.toFixed(2)}` : 'too few pairs'
    const added = pairs > 0 ? `${estimate.toFixed(2)} ms [${interval}]` : NONE
    return [strategy, milliseconds(p50_ms), added, Number.isFinite(cpu_us) ? `${cpu_us?.toFixed(0)} us` : NONE]
  })
  const about = `**What the balancer itself adds**, in front of one endpoint that answers at once, at ${plan.sizes.overhead.rate_rps}/s (published: about ${PUBLISHED.overhead_ms} ms).`
  return titled(about, ['way', 'p50', 'added to p50', 'CPU per request'], rows)
}

/** @param {BalanceFindings} findings @returns {Block[]} */
function haproxyBlocks({ haproxy: { better, worse, even } }) {
  const compared = better.length + worse.length + even.length
  if (compared === 0) return []
  const lists = { 'Better than adaptive': better, Worse: worse, 'No significant difference': even }
  return [
    paragraph('**Where HAProxy is the better choice**'),
    ...Object.entries(lists).flatMap(([title, lines]) =>
      lines.length > 0 ? [paragraph(`${title}:`), list(lines)] : [],
    ),
    paragraph(
      `Each of these ${compared} comparisons is made at 95 %, and none is corrected for the others: where there is no difference, about one in twenty is listed as better or worse by chance.`,
    ),
    paragraph(
      'Not measured here: HAProxy speaks TLS and HTTP/2, reloads without dropping requests, and checks the health of an endpoint without the help of clients.',
    ),
  ]
}

/** What further API processes bring. @param {BalanceFindings} findings */
export function processBlocks({ processes }) {
  const rows = processes.map(({ strategy, goodput_rps, p50_ms, cores, to_one, is_limited }) => [
    strategy === 'direct' ? '1, without HAProxy' : `${strategy}, behind HAProxy`,
    cores || NONE,
    `${count(Math.round(goodput_rps))}/s`,
    milliseconds(p50_ms),
    (to_one && (is_limited ? GENERATOR_LIMIT : ratioText(to_one))) ?? '1',
  ])
  const about =
    '**What one more core brings**: the API in several processes, closed loop. Postgres, HAProxy and the generator run on the remaining cores; where there are none to spare, a further process takes its core from them.'
  return titled(about, ['API processes', 'on cores no.', 'durable rows', 'p50', 'by one behind HAProxy'], rows)
}

/** What the simulation gained, and what was published. @param {Simulation | null} simulation @returns {Block[]} */
function simulationBlocks(simulation) {
  if (!simulation) return []
  const { worlds, few } = simulation
  const rows = worlds.map(({ world, workers, round_robin, adaptive }) => [
    `${world}, ${workers} in flight`,
    ...pairTexts(round_robin, adaptive),
    `${(round_robin.mean_ms - adaptive.mean_ms).toFixed(0)} ms`,
    `${tenthPercent(round_robin.error_ratio)} -> ${tenthPercent(adaptive.error_ratio)}`,
  ])
  const published = ['published', ...pairTexts(PUBLISHED.round_robin, PUBLISHED.adaptive), NONE, NONE]
  const half = QUANTILES.map((name, i) => {
    const { p25, p75 } = few.half_of_draws[name]
    return `${PERCENTILES[i]} ${p25.toFixed(2)}x to ${p75.toFixed(2)}x`
  })
  return [
    paragraph('**Simulated, next to the published figures**: round robin -> adaptive, and the ratio of the two.'),
    table(['endpoints', ...PERCENTILES, 'saved per request', 'errors'], [published, ...rows]),
    list([...new Set(worlds.map(({ world, about }) => `${world}: ${about}.`))]),
    paragraph(
      `The published round robin rests on ${few.samples} samples. Of ${count(few.draws)} samples of that size, drawn from a distribution through the published quantiles and compared with it, half have ratios of ${half.join(', ')}.`,
    ),
  ]
}

/** By percentile. @param {Quantiles} round_robin_ms @param {Quantiles} adaptive_ms */
function pairTexts(round_robin_ms, adaptive_ms) {
  const gains = gainsOf(round_robin_ms, adaptive_ms)
  return QUANTILES.map((name) => {
    return `${milliseconds(round_robin_ms[name])} -> ${milliseconds(adaptive_ms[name])}, ${gains[name].toFixed(2)}x`
  })
}

function publishedText() {
  const { title, author, setting, parameters, overhead_ms, round_robin, adaptive } = PUBLISHED
  const pairs = pairTexts(round_robin, adaptive).map((text, i) => `${PERCENTILES[i]} ${text}`)
  return `"${title}" (${author}): ${setting}. Round robin -> adaptive: ${pairs.join('; ')}. Priority factor ${parameters.factor}, error factor ${parameters.error_factor}, decay ${parameters.decay}; the balancer adds about ${overhead_ms} ms of its own.`
}

/** @param {BalancePlan} plan @returns {Block[]} */
function configBlocks({ endpoints, haproxy_version }) {
  const servers = Array.from({ length: endpoints }, (_, i) => ({ name: `endpoint-${i + 1}`, port: 8001 + i }))
  const about = `HAProxy ${haproxy_version}. This is haproxy-retry; haproxy-leastconn lacks redispatch and retries, and haproxy-random has \`balance random(2)\` instead. In front of API processes there are no health checks.`
  return [
    heading("HAProxy's configuration", { folded: true, detail: true }),
    paragraph(about),
    code(haproxyConfig({ ...HAPROXY['haproxy-retry'], port: 8000, servers, watched: true })),
  ]
}

/** @param {BalancePlan} plan */
function methodOf(plan) {
  const { sizes, parameters, slots, mix } = plan
  const blocks = partsOf(plan).map((part) => {
    return `${part}: ${sizes[part].blocks} x ${strategiesOf(part, plan).length} trials of ${sizes[part].duration_s} s`
  })
  return [
    `Each block has every strategy once, in a random order (${blocks.join('; ')}). Ratios and differences are taken within a block; their intervals go by ranks, and need six blocks.`,
    'Percentiles are of the successes: an error that comes at once is not a fast answer.',
    `The endpoints are servers in one process; a cached answer takes 50 to 120 ms, a cold one 250 to 600 ms, as published. Each works on ${slots} requests at once, and the others wait. They count their requests in tenths of a second.`,
    'A failing endpoint has been left when, from then on and as long as it fails, it gets less than a fifth of an even share in any half second (at once: it was not in use). It is back when a half second begins in which it gets half of one.',
    `Adaptive: factor ${parameters.factor}, error factor ${parameters.error_factor}, decay ${parameters.decay}, ${parameters.min_samples} samples before it scores; seed ${mix.seed}. As published, it has no health checks and never retries.`,
    'The proxy, HAProxy and the endpoints are processes of their own on loopback. Connections are kept, and HAProxy has one thread.',
  ]
}
