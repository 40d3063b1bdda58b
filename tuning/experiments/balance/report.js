import { answer, drawn, heading, list, method, paragraph, titled } from '../../../load/report/blocks.js'
import { count, milliseconds, NONE, tenthPercent, wholePercent } from '../../../load/report/format.js'
import { ratioText } from '../../stats/effects.js'
import { leftOut } from '../../stats/sound.js'
import { columnsOf, spread, spreadOf } from '../../stats/tables.js'
import { figuresOf, PERCENTILES } from './figures.js'
import { claimsOf, gainsOf, PUBLISHED, QUANTILES } from './published.js'
import { HAPROXY, partsOf, REFERENCE, strategiesOf, UNEVEN } from './steps.js'
import { answerSentences, problemOf } from './verdict.js'

/**
 * @import { Column } from '../../stats/tables.js'
 * @import { BalancePlan } from './balance.js'
 * @import { Quantiles } from './published.js'
 * @import { Simulation } from './simulation.js'
 * @import { Records } from './steps.js'
 * @import { Uneven } from './verdict.js'
 */

/** @typedef {ReturnType<typeof analyse>} BalanceFindings */

/** @param {BalancePlan} plan @param {Records} records @param {{ simulation?: Simulation | null }} run */
export function analyse(plan, records, { simulation = null }) {
  const { shares, ...measured } = figuresOf(plan, records)
  const sentences = answerSentences(measured.strategies, measured.crowded, simulation)
  const figures = { ...measured, simulation }
  const kept = { conclusion: sentences.join(' '), ...figures }
  return { problem: problemOf(plan, records), kept, ...figures, plan, sentences, shares, leftOut: leftOut(records) }
}

/** @param {BalanceFindings} findings */
export function report(findings) {
  const { plan, sentences, simulation, leftOut } = findings
  const [first = 'Adaptive was not compared with round robin.', ...others] = sentences
  const { factor, error_factor, decay } = PUBLISHED.parameters
  return [
    answer(first),
    ...(plan.haproxy_missing ? [paragraph(`HAProxy: ${plan.haproxy_missing}.`)] : []),
    ...others.map(paragraph),
    ...percentilePicture(findings, 'strategies'),
    ...percentilePicture(findings, 'crowded'),
    ...strategyBlocks(findings, 'strategies'),
    ...strategyBlocks(findings, 'crowded'),
    ...shareBlocks(findings),
    ...failingBlocks(findings),
    ...overheadBlocks(findings),
    ...haproxyBlocks(findings),
    ...simulationBlocks(simulation),
    ...claimsBlocks(findings),
    ...(leftOut.length > 0 ? [list(leftOut)] : []),
    heading('Published', { detail: true }),
    paragraph(
      `"${PUBLISHED.title}" (${PUBLISHED.author}): ${PUBLISHED.setting}. Priority factor ${factor}, error factor ${error_factor}, decay ${decay}; the balancer adds about ${PUBLISHED.overhead_ms} ms of its own.`,
    ),
    method(methodOf(plan)),
  ]
}

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
  const percentiles = PERCENTILES.map((name) => {
    return /** @type {Column<Uneven[number]>} */ ([name, ({ latency_ms }) => milliseconds(latency_ms[name])])
  })
  const [head, rows] = columnsOf(findings[part], [
    ['strategy', ({ strategy }) => strategy],
    ...percentiles,
    ["p50 / round robin's", ({ to_reference }) => (to_reference ? ratioText(to_reference.p50) : '1')],
    ["p95 / round robin's", ({ to_reference }) => (to_reference ? ratioText(to_reference.p95) : '1')],
    ['mean saved per request', savedText],
    ['errors met', ({ error_ratio }) => tenthPercent(error_ratio)],
    ['trials', ({ trials }) => String(trials)],
  ])
  const about = `**Latency ${UNEVEN[part]}**, successes only, at ${findings.plan.sizes[part].rate_rps}/s.`
  return titled(about, head, rows)
}

/** @param {Uneven[number]} figures */
function savedText({ to_reference, saved_ms }) {
  return to_reference && Number.isFinite(saved_ms) ? `${saved_ms.toFixed(0)} ms` : NONE
}

/** @param {BalanceFindings} findings */
function shareBlocks({ shares: all }) {
  const rows = Object.keys(all[0]?.shares ?? {}).map((name) => {
    return [name, ...all.map(({ shares }) => wholePercent(shares[name]))]
  })
  return titled('**Share of the requests per endpoint**', ['endpoint', ...all.map(({ strategy }) => strategy)], rows)
}

/** @param {BalanceFindings} findings */
export function failingBlocks({ plan, failing }) {
  const { from_s, to_s } = plan.fails.failing
  const after_s = plan.sizes.failing.duration_s - to_s
  // An endpoint that was never dropped cannot come back into use.
  const all = failing.map((one) => ({ ...one, back_s: one.back_s.filter((_, i) => one.leave_s[i] !== null) }))
  const [head, rows] = columnsOf(all, [
    ['strategy', ({ strategy }) => strategy],
    ['dropped after the failure began', ({ leave_s }) => timesText(leave_s, to_s - from_s)],
    ['used again after it ended', ({ back_s }) => timesText(back_s, after_s)],
    ['errors from the endpoint', ({ errors_at_endpoint }) => count(Math.round(errors_at_endpoint))],
    ['errors met by clients', ({ error_ratio }) => tenthPercent(error_ratio)],
    ['p50', ({ p50_ms }) => milliseconds(p50_ms)],
  ])
  const about = `**One of ${plan.endpoints} equal endpoints fails** from second ${from_s} to ${to_s}: it answers 503 at once, also to health checks.`
  return titled(about, head, rows)
}

/** @param {(number | null)[]} found_s null: longer than the trial shows @param {number} longest_s longest time that it shows */
function timesText(found_s, longest_s) {
  if (found_s.length === 0) return 'never dropped'
  const times_s = found_s.map((s) => s ?? longest_s)
  const text = `${spread(times_s, 1)} s`
  const longer = times_s.filter((s) => s >= longest_s).length
  if (longer === 0) return text
  const beyond = `more than ${longest_s.toFixed(1)} s in ${longer} of ${times_s.length} trials`
  return 2 * longer < times_s.length ? `${text}; ${beyond}` : beyond
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

/** Ratios to adaptive in the same block. @param {BalanceFindings} findings */
function haproxyBlocks({ strategies, crowded }) {
  const rows = [strategies, crowded].flatMap((figures, i) => {
    const others = figures.filter(({ strategy }) => strategy in HAPROXY)
    return others.map(({ strategy, to_adaptive }) => [
      `${strategy}, ${Object.values(UNEVEN)[i]}`,
      ...PERCENTILES.map((name) => (to_adaptive ? ratioText(to_adaptive[name]) : NONE)),
    ])
  })
  const about = '**HAProxy by adaptive**, latency of the successes; below 1, HAProxy is faster.'
  return titled(about, ['strategy', ...PERCENTILES], rows)
}

/** The gains in the simulation, next to the published ones. @param {Simulation | null} simulation */
function simulationBlocks(simulation) {
  if (!simulation) return []
  const { worlds } = simulation
  const rows = worlds.map(({ world, workers, round_robin, adaptive }) => [
    `${world}, ${workers} in flight`,
    ...pairTexts(round_robin, adaptive),
    `${(round_robin.mean_ms - adaptive.mean_ms).toFixed(0)} ms`,
    `${tenthPercent(round_robin.error_ratio)} -> ${tenthPercent(adaptive.error_ratio)}`,
  ])
  const published = ['published', ...pairTexts(PUBLISHED.round_robin, PUBLISHED.adaptive), NONE, NONE]
  const about = '**Simulated, next to the published figures**: round robin -> adaptive, and the ratio of the two.'
  return [
    ...titled(about, ['endpoints', ...PERCENTILES, 'saved per request', 'errors'], [published, ...rows]),
    list([...new Set(worlds.map(({ world, about }) => `${world}: ${about}.`))]),
  ]
}

/**
 * The published claims, and the same computed from the published percentiles, from the simulation and from the trials.
 * @param {Pick<BalanceFindings, 'plan' | 'strategies' | 'simulation'>} findings
 */
export function claimsBlocks({ plan, strategies, simulation }) {
  const { claims, round_robin, adaptive, round_robin_samples } = PUBLISHED
  const [ours, others] = ['adaptive', REFERENCE].map((name) => strategies.find(({ strategy }) => strategy === name))
  const own = simulation?.worlds.filter(({ workers }) => workers === simulation.worlds[0].workers) ?? []
  const columns = [
    ...own.map((one) => ({
      name: `simulated: ${one.world}`,
      ...claimsOf(one.round_robin, one.adaptive),
      digest: errorText(one.adaptive.digest_error_ratio),
    })),
    ...(ours && others ? [{ name: 'measured: uneven', ...claimsOf(others, ours), digest: NONE }] : []),
  ]
  if (columns.length === 0) return []
  const [from, to] = [round_robin, adaptive].map(({ p50_ms }) => ({ mean_ms: p50_ms, error_ratio: Number.NaN }))
  const median_error_ratio = simulation?.few.median_error_ratio ?? Number.NaN
  const isOfSamples =
    own.length > 0 && own.every(({ adaptive }) => Number(adaptive.digest_error_ratio) < median_error_ratio)
  const byFigures = { ...claimsOf(from, to), digest: NONE }
  const all = [byFigures, ...columns]
  const { least, most } = claims.requests_ratio
  const rows = [
    ['a request takes less by', ...[claims.gain_ratio, ...all.map(({ gain_ratio }) => gain_ratio)].map(tenthPercent)],
    ...claims.saved.map(
      (/** @type {{ requests: number, hours: number }} */ { requests, hours }, /** @type {number} */ i) => [
        `time saved in ${count(requests)} requests`,
        ...[hours, ...all.map(({ saved_h }) => saved_h[i])].map((time_h) => `${time_h.toFixed(1)} h`),
      ],
    ),
    [
      'requests saved',
      `${wholePercent(least)} to ${wholePercent(most)}`,
      ...all.map(({ requests_ratio }) => tenthPercent(requests_ratio)),
    ],
    ['error of the T-Digest', wholePercent(claims.error_ratio), ...all.map(({ digest }) => digest)],
    [
      `error of a median of ${round_robin_samples} samples`,
      wholePercent(claims.error_ratio),
      tenthPercent(median_error_ratio),
      ...columns.map(() => NONE),
    ],
  ]
  const about = `**The published claims**, and the same computed from the published percentiles, from the means of the simulation${own[0] ? ` with ${own[0].workers} in flight` : ''}, and from the means of the trials over uneven endpoints.`
  return [
    ...titled(about, ['claim', 'published', 'by its figures', ...columns.map(({ name }) => name)], rows),
    list([
      'Time saved is the sum over all requests; requests in flight together save it together.',
      'Requests saved: the publication estimates them without a control group. Here, clients repeat each request until it succeeds, so adaptive saves requests only by meeting fewer errors. Where no endpoint fails, it saves none.',
      `The publication estimates that the error of a T-Digest, whose medians are less accurate with few samples, is within ${wholePercent(claims.error_ratio)}.${own.length > 0 ? ` Computed here: the larger of the errors of the digest's median and 95th percentile against the exact ones, after ${count(plan.samples)} samples; and the error of the median that 95 % of random samples of ${round_robin_samples} from the published round robin do not exceed.` : ''}${isOfSamples ? ' So the small sample is what makes such a median uncertain, not the digest.' : ''}`,
    ]),
  ]
}

/** @param {number | undefined} ratio */
function errorText(ratio) {
  return ratio === undefined ? NONE : `${Number((100 * ratio).toPrecision(1))} %`
}

/** Both latencies and their ratio, by percentile. @param {Quantiles} round_robin_ms @param {Quantiles} adaptive_ms */
function pairTexts(round_robin_ms, adaptive_ms) {
  const gains = gainsOf(round_robin_ms, adaptive_ms)
  return QUANTILES.map((name) => {
    return `${milliseconds(round_robin_ms[name])} -> ${milliseconds(adaptive_ms[name])}, ${gains[name].toFixed(2)}x`
  })
}

/** @param {BalancePlan} plan */
function methodOf(plan) {
  const { sizes, parameters, slots, mix, haproxy_version } = plan
  const blocks = partsOf(plan).map((part) => {
    return `${part}: ${sizes[part].blocks} x ${strategiesOf(part, plan).length} trials of ${sizes[part].duration_s} s`
  })
  const watched = `HAProxy ${haproxy_version} watches its servers by health checks and by their answers to clients; haproxy-retry also repeats what failed on another one. It also speaks TLS and HTTP/2 and reloads without dropping requests, which is not measured here.`
  return [
    `Each block has every strategy once, in a random order (${blocks.join('; ')}). Ratios and differences are taken within a block; their intervals are computed from ranks, and need six blocks.`,
    'Percentiles are of the successes: an error that comes at once is not a fast answer.',
    `The endpoints are servers in one process; a cached answer takes 50 to 120 ms, a cold one 250 to 600 ms, as published. Each works on ${slots} requests at once, and the others wait. They count their requests in tenths of a second.`,
    'A failing endpoint counts as dropped from the moment after which it gets less than a fifth of an even share in every half second until it recovers (after 0.0 s: it was not in use). It is used again when a half second begins in which it gets half of an even share.',
    `Adaptive: factor ${parameters.factor}, error factor ${parameters.error_factor}, decay ${parameters.decay}, ${parameters.min_samples} samples before it scores; seed ${mix.seed}. As published, it has no health checks and never retries.`,
    'The proxy, HAProxy and the endpoints are processes of their own on loopback. Connections are kept, and HAProxy has one thread.',
    ...(haproxy_version ? [watched] : []),
  ]
}
