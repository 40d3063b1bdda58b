import { readFileSync } from 'node:fs'
import { decimal, NONE } from '../../../load/report/format.js'
import { settingsLine, whereAndWhen } from '../../../load/run/old.js'
import { median } from '../../stats/ranks.js'
import { GENERATOR_LIMIT, leftOutText } from '../../stats/sound.js'
import { table } from '../../stats/spread.js'
import { budgetOf, CONFIDENCE, currenciesOf, roundsOf, speedUp } from './budget.js'
import { cellOf, cellsOf, REQUESTS_PER_TURN, STAGES, WHOLE } from './stages.js'
import { statisticsOf } from './statistics.js'
import { CONNECTIONS, CONSUMERS, closedLoopsOf, consumed, isByTurns, isOf, takenByTurns } from './steps.js'
import { conclusionsOf, intervalText, RELEVANT_RATIO, verdictOf } from './verdict.js'

/**
 * @import { NotAppliedCell } from '../../../load/run/experiment.js'
 * @import { Noise } from '../../stats/effects.js'
 * @import { Budget } from './budget.js'
 * @import { AblatePlan, Records } from './steps.js'
 */

/** Of the time; beyond it, others had the core of the API. */
const CROWDED_RATIO = 0.1
const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/ablate.json', import.meta.url), 'utf8'))

/** @param {AblatePlan} plan @param {Records} records @returns {Record<string, Budget>} by currency */
export function budgetsOf(plan, records) {
  return Object.fromEntries(currenciesOf(plan).map(([name, currency]) => [name, budgetOf(plan, records, currency)]))
}

/**
 * What was found, for the terminal and the report's top.
 *
 * @param {any} run
 * @param {Records} records
 */
export function ablateText(run, records) {
  const { plan } = run
  const budgets = budgetsOf(plan, records)
  return [
    ...(run.problem ? [`**No trustworthy answer: ${run.problem}.**`] : []),
    ...conclusionsOf(plan, records, budgets),
    ...currenciesOf(plan).flatMap(([name, { title }]) => [
      `**${title}**, ${plan.consumers[0]}${loadText(plan, plan.consumers[0])}, us:`,
      budgetTable(budgets[name]),
    ]),
    ...plantedSentence(plan, budgets),
    ...speedTable(plan, records),
    ...crowdedSentence(takenByTurns(records)),
    ...leftOutText(
      records.filter(
        (record) => isByTurns(record) || plan.consumers.some((/** @type {string} */ one) => isOf(record, one)),
      ),
    ),
    ...(run.not_applied ?? []).map(notAppliedText),
    ...(run.warnings ?? []).map((/** @type {string} */ text) => `- Warning: ${text}.`),
  ].join('\n\n')
}

/**
 * report.md
 *
 * @param {any} run
 * @param {Records} records
 */
export function ablateReport(run, records) {
  const { plan } = run
  const statistics = closedLoopsOf(plan).map((name) => statisticsTable(plan, records, name))
  return `${[
    `# Redline ablate: ${run.run_id}`,
    ablateText(run, records),
    '## What each stage is',
    plan.stages.map((/** @type {string} */ stage) => `- ${stage}, away: ${STAGES[stage]}`).join('\n'),
    ...(statistics.length > 0 ? ['## Successes per second', ...statistics] : []),
    '## Published',
    publishedTable(),
    publishedText(),
    '## How it was measured',
    methodText(run, records),
    '## Where',
    whereAndWhen(run),
  ].join('\n\n')}\n`
}

/** The budget alone, for a page that is not about it. @param {any} run @param {Records} records */
export function budgetText({ plan }, records) {
  const budgets = budgetsOf(plan, records)
  const [[name, { title }]] = currenciesOf(plan)
  const [first] = conclusionsOf(plan, records, budgets)
  return [first, `**${title}**, us:`, budgetTable(budgets[name])].join('\n\n')
}

/** @param {NotAppliedCell} cell */
function notAppliedText({ cell, because }) {
  return `- Warning: ${cell} was not measured: ${because}.`
}

/** @param {Budget} budget */
function budgetTable(budget) {
  const { whole, lines, rest, sum_us, gap, noise } = budget
  const share = (/** @type {number} */ us) => {
    return Number.isFinite(us) ? `${((us / whole.estimate) * 100).toFixed(1)} %` : NONE
  }
  const rows = lines.map((line) => [
    line.stage,
    intervalText(line.cost),
    share(line.cost.estimate),
    intervalText(line.alone),
    verdictOf(line, budget),
  ])
  return [
    table(
      ['stage', 'cost', 'of the whole', 'removed alone', ''],
      [
        ...rows,
        ['the rest', intervalText(rest), share(rest.estimate), '', ''],
        ['sum: in each round the whole, by construction', figure(sum_us), share(sum_us), '', ''],
        ['whole', intervalText(whole), share(whole.estimate), '', ''],
      ],
    ),
    `${gapText(gap)}${noiseText(noise)}`,
  ].join('\n\n')
}

/** @param {Budget['gap']} gap by how much less the stages save alone than together */
function gapText(gap) {
  const more = gap.estimate < 0
  const shown = more ? { ...gap, estimate: -gap.estimate, low: -gap.high, high: -gap.low } : gap
  const within = isWithin(gap) ? ', within the noise' : ''
  return `Removed alone, the stages save ${intervalText(shown)} us ${more ? 'more' : 'less'} than together${within}.`
}

/** @param {Noise} noise */
function noiseText({ ratio, pairs }) {
  if (pairs === 0) return ''
  return ` 95 % of two visits to the whole in a round differ by less than ${((ratio - 1) * 100).toFixed(1)} %.`
}

/** @param {{ low: number, high: number }} figure */
function isWithin({ low, high }) {
  return Number.isFinite(high) && low <= 0 && high >= 0
}

/** @param {AblatePlan} plan @param {Record<string, Budget>} budgets @returns {string[]} */
function plantedSentence({ slow_us }, { cpu: { planted } }) {
  if (!planted) return []
  const asked = Object.entries(slow_us).map(([stage, us]) => `${us} us of CPU in ${stage}`)
  return [`Planted on purpose: ${asked.join(', ')}. Found: ${intervalText(planted)} us.`]
}

/** @param {Records} records @returns {string[]} */
function crowdedSentence(records) {
  const waited_ratio = median(records.map(({ probes }) => probes.api.run_delay_ratio ?? Number.NaN))
  if (!(waited_ratio > CROWDED_RATIO)) return []
  return [
    `- Warning: the API waited for its core ${Math.round(waited_ratio * 100)} % of the time. Requests that pile up meanwhile cost less each: on a machine that is left alone, the whole costs more, and the intervals are narrower.`,
  ]
}

/** Closed loops alone: the rate of the others is given. @param {AblatePlan} plan @param {Records} records @returns {string[]} */
function speedTable({ stages, consumers }, records) {
  const closed = closedLoopsOf({ consumers })
  if (closed.length === 0) return []
  const all = stages.length > 1 ? [stages] : []
  const rows = [...stages.map((stage) => [stage]), ...all].map((without) => [
    without === stages ? 'all of them' : without[0],
    ...closed.map((consumer) => speedText(speedUp(records, consumer, cellOf(without)))),
  ])
  const whole = ['nothing (successes/s)', ...closed.map((name) => figure(rateOf(records, name)))]
  return ['**What gets through without a stage**, as a ratio:', table(['removed', ...closed], [whole, ...rows])]
}

/** @param {Records} records @param {string} consumer */
function rateOf(records, consumer) {
  return median(consumed(records, consumer).flatMap(({ cell, traffic }) => (cell === WHOLE ? traffic.goodput_rps : [])))
}

/** @param {ReturnType<typeof speedUp>} speed */
function speedText({ estimate, low, high, isLimited }) {
  if (Number.isNaN(estimate)) return NONE
  if (isLimited) return GENERATOR_LIMIT
  return `${estimate.toFixed(2)}x ${Number.isFinite(high) ? `[${low.toFixed(2)}–${high.toFixed(2)}]` : '[too few blocks]'}`
}

/** @param {AblatePlan} plan @param {Records} records @param {string} consumer */
function statisticsTable(plan, records, consumer) {
  const rows = cellsOf({ ...plan, slow_us: {} }).flatMap((cell) => {
    const found = statisticsOf(records, consumer, cell)
    if (!found) return []
    const { count, min, max, sum, mean, median: middle, sd } = found
    const trials = consumed(records, consumer).filter((record) => record.cell === cell)
    const cpu_us = median(trials.map(({ probes }) => probes.api.cpu_us_per_request ?? Number.NaN))
    return [[cell, String(count), ...[min, max, sum, mean, middle, sd].map(figure), figure(cpu_us)]]
  })
  const head = [consumer, 'count', 'min', 'max', 'sum', 'mean', 'median', 'sd', 'CPU us per request']
  return table(head, rows)
}

function publishedTable() {
  const rows = PUBLISHED.consumers.map((/** @type {{ name: string, per_s: (number | null)[] }} */ { name, per_s }) => [
    name,
    ...per_s.map((value) => {
      if (value === null) return NONE
      return `${value} (${(value / Number(per_s[0])).toFixed(2)}x)`
    }),
  ])
  return table([PUBLISHED.unit, ...PUBLISHED.variants], rows)
}

function publishedText() {
  const { title, author, setting, samples, conclusion } = PUBLISHED
  const { count, min, max, sum, mean, median: middle, sd } = samples
  return `"${title}" (${author}): ${setting}. Samples of one run: count ${count}, min ${min}, max ${max}, sum ${sum}, mean ${mean}, median ${middle}, sd ${sd}. It concludes: ${conclusion}.`
}

/** @param {any} run @param {Records} records */
function methodText(run, records) {
  const { plan, pinning } = run
  const confidence = `${CONFIDENCE * 100} %`
  const closed = closedLoopsOf(plan)
  return [
    `- One process of the API; its stages are taken away while it runs, by a preload that takes a one-off token of this run; a request without each stage shows that the order was obeyed.`,
    `- The budget, ${consumerText(plan, plan.consumers[0])}: ${roundsOf(records).length} rounds, in each all variants by turns of ${REQUESTS_PER_TURN} requests in an order that is drawn, the whole three times. A turn begins when those who came before the change have been answered. What garbage a turn leaves is often collected in another's.`,
    ...(closed.length > 0
      ? [
          `- What gets through: ${closed.map((name) => consumerText(plan, name)).join('; ')}. ${plan.blocks} blocks, in each a trial of ${plan.duration_s} s of each variant.`,
        ]
      : []),
    `- A cost is a difference within a round: the budget's with all stages above it away already, and alone. Intervals hold ${confidence} and go by ranks (Hodges and Lehmann, Wilcoxon). Worth changing: surely more than ${RELEVANT_RATIO * 100} % of the whole.`,
    "- Time in the API is from the head of a request to its answer, by the requests in flight (Little's law): what it waits for the event loop to take it is not in it.",
    '- CPU is that of all threads of the process, from the kernel. Rows are counted where no stage that stores them is taken away: there each 201 is a row.',
    "- The log has a line for each request here (LOG_LEVEL=debug) and, unless INSERT_MODE says otherwise, each request a statement of its own, so that each stage is one request's; as it is shipped, the API logs none, and requests share statements.",
    ...[settingsLine(records)].filter(Boolean),
    ...(pinning ? [`- ${pinning}`] : []),
    `- Command: \`npm run ablate -- ${run.argv.join(' ')}\`, seed ${plan.mix.seed}.`,
  ].join('\n')
}

/** @param {AblatePlan} plan @param {string} name of the consumer */
function consumerText(plan, name) {
  return `${name} (${CONSUMERS[name].about}, ${CONNECTIONS} connections${loadText(plan, name)})`
}

/** @param {AblatePlan} plan @param {string} consumer */
function loadText({ rate_rps }, consumer) {
  return CONSUMERS[consumer].loop === 'open' ? ` at ${rate_rps.toLocaleString('en-US')}/s` : ''
}

/** @param {number} value */
function figure(value) {
  if (!Number.isFinite(value)) return NONE
  return decimal(value, Math.abs(value) < 100 ? 1 : 0, 0)
}
