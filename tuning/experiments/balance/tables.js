import { count, milliseconds, NONE } from '../../../load/report/format.js'
import { whereAndWhen } from '../../../load/run/old.js'
import { ratioText } from '../../stats/effects.js'
import { GENERATOR_LIMIT, leftOutText } from '../../stats/sound.js'
import { spread, table } from '../../stats/spread.js'
import { failingFigures, overheadFigures, PERCENTILES, processFigures, strategyFigures } from './figures.js'
import { PUBLISHED } from './gains.js'
import { haproxyConfig } from './haproxy.js'
import { overTimeTables, shareTable } from './share-tables.js'
import { publishedLine, simulationTable, worldLines } from './simulation-tables.js'
import { strategiesOf } from './steps.js'
import { answerSentences, haproxyAgainstAdaptive, isMostly, longestAway_s, longestStay_s, percent } from './verdict.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { BalancePlan, Records } from './steps.js'
 */

/**
 * What was found, for the terminal and the report's top.
 *
 * @param {any} run
 * @param {Records} records
 */
export function balanceText(run, records) {
  const { plan } = run
  const parts = [
    ...(plan.haproxy_missing ? [`HAProxy: ${plan.haproxy_missing}.`] : []),
    ...(run.problem ? [`**No trustworthy answer: ${run.problem}.**`] : []),
    ...answerSentences(
      strategyFigures(plan, records),
      strategyFigures(plan, records, 'crowded'),
      run.simulation ?? null,
    ),
    strategyTable(plan, records, 'strategies'),
    strategyTable(plan, records, 'crowded'),
    shareTable(plan, records),
    failingTable(plan, records),
    overheadTable(plan, records),
    haproxyText(plan, records),
    processTable(plan, records),
    simulationTable(run.simulation ?? null),
    ...leftOutText(records),
    ...(run.warnings ?? []).map((/** @type {string} */ text) => `- Warning: ${text}.`),
  ]
  return parts.filter(Boolean).join('\n\n')
}

/**
 * report.md
 *
 * @param {any} run
 * @param {Records} records
 */
export function balanceReport(run, records) {
  const { plan } = run
  const parts = [
    `# Redline balance: ${run.run_id}`,
    balanceText(run, records),
    ...overTimeTables(plan, records),
    ...(run.simulation ? ['## Endpoints of the simulation', worldLines(run.simulation)] : []),
    '## Published',
    publishedLine(),
    '## How it was measured',
    [method(plan), ...(run.pinning ? [`- ${run.pinning}`] : [])].join('\n'),
    ...(plan.haproxy ? ['## What HAProxy ran with', configText(plan)] : []),
    '## Where',
    whereAndWhen(run),
    ...(plan.haproxy_version ? [`- HAProxy ${plan.haproxy_version}`] : []),
  ]
  return `${parts.join('\n\n')}\n`
}

/** What matters most, for a page that is about other things as well. @param {any} run @param {Records} records */
export function strategiesText({ plan, simulation = null }, records) {
  const figures = strategyFigures(plan, records)
  const crowded = strategyFigures(plan, records, 'crowded')
  const tables = [strategyTable(plan, records, 'strategies'), failingTable(plan, records), overheadTable(plan, records)]
  return [...answerSentences(figures, crowded, simulation), ...tables].filter(Boolean).join('\n\n')
}

/** @param {BalancePlan} plan @param {Records} records @param {'strategies' | 'crowded'} part */
function strategyTable(plan, records, part) {
  const rows = strategyFigures(plan, records, part).map((figures) => {
    const { strategy, latency_ms, to_reference, saved_ms, error_ratio, trials } = figures
    return [
      strategy,
      ...PERCENTILES.map((name) => milliseconds(latency_ms[name])),
      to_reference ? ratioText(to_reference.p50) : '1',
      to_reference ? ratioText(to_reference.p95) : '1',
      to_reference && Number.isFinite(saved_ms) ? `${saved_ms.toFixed(0)} ms` : NONE,
      percent(error_ratio),
      String(trials),
    ]
  })
  if (rows.length === 0) return ''
  const head = ['strategy', ...PERCENTILES, 'p50 by round robin', 'p95', 'saved per request', 'errors met', 'trials']
  const title = part === 'strategies' ? 'Over uneven endpoints' : 'The same endpoints, crowded'
  return `**${title}**: latency of the successes at ${plan.sizes[part].rate_rps}/s.\n\n${table(head, rows)}`
}

/** @param {BalancePlan} plan @param {Records} records */
function failingTable(plan, records) {
  const rows = failingFigures(plan, records).map(
    ({ strategy, leave_s, back_s, errors_at_endpoint, error_ratio, p50_ms }) => [
      strategy,
      timesText(leave_s, longestStay_s(plan), 'stays'),
      timesText(
        back_s.filter((_, i) => leave_s[i] !== null),
        longestAway_s(plan),
        'stays away',
      ),
      count(Math.round(errors_at_endpoint)),
      percent(error_ratio),
      milliseconds(p50_ms),
    ],
  )
  if (rows.length === 0) return ''
  const { from_s, to_s } = plan.fails.failing
  const about = `**One of ${plan.endpoints} equal endpoints fails** from second ${from_s} to ${to_s}: it answers 503, at once, and so does its health check.`
  const head = ['strategy', 'leaves after', 'comes back after', 'errors it gave', 'errors met by clients', 'p50']
  return `${about}\n\n${table(head, rows)}`
}

/** @param {(number | null)[]} times_s null: longer than could be seen @param {number} longest_s @param {string} never */
function timesText(times_s, longest_s, never) {
  if (times_s.length === 0) return 'never left'
  const longer = times_s.filter((s) => s === null).length
  const seen_s = times_s.map((s) => s ?? longest_s)
  const rest = `> ${longest_s.toFixed(1)} s`
  const share = `${longer} of ${times_s.length} trials`
  if (isMostly(seen_s, longest_s)) return `${never} (${rest}${longer < times_s.length ? ` in ${share}` : ''})`
  return `${spread(seen_s, 1)} s${longer > 0 ? ` (${rest} in ${share})` : ''}`
}

/** @param {BalancePlan} plan @param {Records} records */
function overheadTable(plan, records) {
  const rows = overheadFigures(plan, records).map(({ strategy, p50_ms, added_ms, cpu_us }) => {
    const interval =
      added_ms && Number.isFinite(added_ms.high)
        ? `[${added_ms.low.toFixed(2)}–${added_ms.high.toFixed(2)}]`
        : '[too few pairs]'
    return [
      strategy,
      milliseconds(p50_ms),
      added_ms && added_ms.pairs > 0 ? `${added_ms.estimate.toFixed(2)} ms ${interval}` : NONE,
      cpu_us === null || Number.isNaN(cpu_us) ? NONE : `${cpu_us.toFixed(0)} us`,
    ]
  })
  if (rows.length === 0) return ''
  const about = `**What the balancer itself adds**, before one endpoint that answers at once, at ${plan.sizes.overhead.rate_rps}/s (published: about ${PUBLISHED.overhead_ms} ms).`
  return `${about}\n\n${table(['way', 'p50', 'added to p50', 'CPU per request'], rows)}`
}

/** @param {BalancePlan} plan @param {Records} records */
function haproxyText(plan, records) {
  if (!plan.haproxy) return ''
  const { better, worse, even } = haproxyAgainstAdaptive(plan, records)
  const lists = [
    ['Better than adaptive', better],
    ['Worse', worse],
    ['No difference that the blocks can tell', even],
  ].flatMap(([title, lines]) =>
    lines.length > 0 ? [`${title}:\n${/** @type {string[]} */ (lines).map((line) => `- ${line}`).join('\n')}`] : [],
  )
  if (lists.length === 0) return ''
  const compared = better.length + worse.length + even.length
  const chance = `Of these ${compared} comparisons each is made at 95 %, and none is corrected for the others: where there is no difference at all, about one in twenty is listed as better or worse by chance.`
  return ['**Where HAProxy is the better choice**', ...lists, chance, NOT_MEASURED].join('\n\n')
}

const NOT_MEASURED =
  'Not measured here: HAProxy speaks TLS and HTTP/2, is reloaded without a loss, and checks the health of an endpoint without a client that asks.'

/** What a further core brings. @param {BalancePlan} plan @param {Records} records */
export function processTable(plan, records) {
  const rows = processFigures(plan, records).map(({ strategy, goodput_rps, p50_ms, cores, to_one, is_limited }) => [
    strategy === 'direct' ? '1, without HAProxy' : `${strategy}, behind HAProxy`,
    cores || NONE,
    `${count(Math.round(goodput_rps))}/s`,
    milliseconds(p50_ms),
    toOneText(to_one, is_limited),
  ])
  if (rows.length === 0) return ''
  const head = ['API processes', 'on cores no.', 'durable rows', 'p50', 'by one behind HAProxy']
  const about =
    '**What one core more brings**: the API in so many processes, closed loop. Postgres, HAProxy and the generator run on what is left, or share: where the machine has no core to spare, a further process has to take it from them.'
  return `${about}\n\n${table(head, rows)}`
}

/** @param {Effect | null} to_one @param {boolean} isLimited */
function toOneText(to_one, isLimited) {
  if (to_one === null) return '1'
  return isLimited ? GENERATOR_LIMIT : ratioText(to_one)
}

/** @param {BalancePlan} plan */
function method(plan) {
  const { sizes, parameters, slots, mix } = plan
  const blocks = plan.parts
    .filter((part) => part !== 'simulation')
    .map(
      (part) =>
        `${part}: ${sizes[part].blocks} x ${strategiesOf(part, plan).length} trials of ${sizes[part].duration_s} s`,
    )
  return [
    `- Blocks, in each every strategy once in an order that is drawn (${blocks.join('; ')}). Ratios and differences are taken within a block; their intervals go by ranks, and need six blocks.`,
    '- Open loop: requests leave on a schedule, whatever the answers do. Percentiles are of the successes: an error that comes at once is no fast answer.',
    `- Endpoints are servers in one process; a cached answer takes 50 to 120 ms, a cold one 250 to 600 ms, as published. Each works on ${slots} requests at once, the others wait. They count who came, every tenth of a second.`,
    '- Left: from then on, as long as it fails, an endpoint gets less than a fifth of an even share in any half second (at once: it was not in use); back: in the half second that begins then it gets half of one.',
    `- Adaptive: factor ${parameters.factor}, error factor ${parameters.error_factor}, decay ${parameters.decay}, ${parameters.min_samples} samples before it scores; seed ${mix.seed}. It has no health checks and asks nobody twice, as published.`,
    '- Proxy, HAProxy and endpoints are processes of their own on loopback, connections are kept, HAProxy has one thread.',
  ].join('\n')
}

/** @param {BalancePlan} plan */
function configText({ endpoints }) {
  const servers = Array.from({ length: endpoints }, (_, i) => ({ name: `endpoint-${i + 1}`, port: 8001 + i }))
  const options = { port: 8000, servers, health: '/health', balance: 'leastconn', retries: true }
  return [
    `This is haproxy-retry; haproxy-leastconn is without redispatch and retries, haproxy-random the same with \`balance random(2)\`. Before API processes servers are not watched.`,
    `\`\`\`\n${haproxyConfig(options)}\`\`\``,
  ].join('\n\n')
}
