import { whereAndWhen } from '../../load/report/report.js'
import { count, milliseconds, NONE } from '../../load/report/table.js'
import { ratioText } from '../effects.js'
import { spread, table } from '../spread.js'
import { failingFigures, overheadFigures, PERCENTILES, processFigures, strategyFigures } from './figures.js'
import { PUBLISHED } from './gains.js'
import { haproxyConfig } from './haproxy.js'
import { overTimeTables, shareTable } from './share-tables.js'
import { publishedLine, simulationTable, worldLines } from './simulation-tables.js'
import { strategiesOf } from './steps.js'
import { answerSentences, haproxyAgainstAdaptive, percent } from './verdict.js'

/** @typedef {import('./steps.js').BalancePlan} BalancePlan @typedef {import('./steps.js').Records} Records */

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
    method(plan),
    ...(plan.haproxy ? ['## What HAProxy ran with', configText(plan)] : []),
    '## Where',
    whereAndWhen(run),
    ...(plan.haproxy_version ? [`- HAProxy ${plan.haproxy_version}`] : []),
  ]
  return `${parts.join('\n\n')}\n`
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
      to_reference ? `${saved_ms.toFixed(0)} ms` : NONE,
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
      timesText(leave_s, 'stays'),
      timesText(back_s, leave_s.every((s) => s === null) ? 'never left' : 'not within the trial'),
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

/** @param {(number | null)[]} times_s @param {string} never */
function timesText(times_s, never) {
  const known = times_s.filter((s) => s !== null)
  if (known.length === 0) return never
  return `${spread(known, 1)} s${known.length < times_s.length ? ` (${known.length} of ${times_s.length} trials)` : ''}`
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
      added_ms ? `${added_ms.estimate.toFixed(2)} ms ${interval}` : NONE,
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
  return ['**Where HAProxy is the better choice**', ...lists, STANDING].join('\n\n')
}

/** What no figure of a run shows, or every one does. */
const STANDING =
  'Whatever the figures: HAProxy asks an endpoint itself whether it is well, asks another one again for the client, is reloaded without a loss, speaks TLS and HTTP/2, and uses every core; its leastconn favours a fast endpoint as long as requests overlap, and does not crowd it. It is what to run. What it does not see: an endpoint that errs now and then, whose quick errors free its connections and draw more requests (retries hide that from clients whose requests may be sent twice), and, with one request at a time, which endpoint is fast.'

/** @param {BalancePlan} plan @param {Records} records */
function processTable(plan, records) {
  const rows = processFigures(plan, records).map(({ strategy, goodput_rps, p50_ms, cores, to_one }) => [
    strategy === 'direct' ? '1, without HAProxy' : `${strategy}, behind HAProxy`,
    cores || NONE,
    `${count(Math.round(goodput_rps))}/s`,
    milliseconds(p50_ms),
    to_one ? ratioText(to_one) : '1',
  ])
  if (rows.length === 0) return ''
  const head = ['API processes', 'their cores', 'durable rows', 'p50', 'by one behind HAProxy']
  const about =
    '**What one core more brings**: the API in so many processes, closed loop. Postgres, HAProxy and the generator run on what is left, or share: where the machine has no core to spare, a further process has to take it from them.'
  return `${about}\n\n${table(head, rows)}`
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
