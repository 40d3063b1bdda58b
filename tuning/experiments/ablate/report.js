import { readFileSync } from 'node:fs'
import { answer, drawn, heading, list, method, paragraph, table } from '../../../load/report/blocks.js'
import { count, figure, NONE, tenthPercent, wholePercent } from '../../../load/report/format.js'
import { CONFIDENCE, ratioText } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { GENERATOR_LIMIT, leftOut } from '../../stats/sound.js'
import { figureOf } from '../../stats/spread.js'
import { budgetsOf, roundsOf } from './budget.js'
import { closedOf, speedsOf } from './speeds.js'
import { nameOf, REQUESTS_PER_TURN, STAGES } from './stages.js'
import { CONNECTIONS, CONSUMERS, closedLoopsOf, takenByTurns } from './steps.js'
import { conclusionOf, intervalText, problemOf, publishedVerdict, RELEVANT_RATIO, verdictOf } from './verdict.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Budget } from './budget.js'
 * @import { Closed, SpeedUp } from './speeds.js'
 * @import { AblatePlan, Records } from './steps.js'
 * @import { NotAppliedCell } from '../../../load/report/record.js'
 */

/** Of the time; beyond it, others had the core of the API. */
const CROWDED_RATIO = 0.1
const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/ablate.json', import.meta.url), 'utf8'))

/**
 * @param {AblatePlan} plan
 * @param {Records} records
 * @param {{ not_applied?: NotAppliedCell[] }} run
 *
 * @typedef {ReturnType<typeof analyse>} AblateFindings
 */
export function analyse(plan, records, { not_applied = [] }) {
  const budgets = budgetsOf(plan, records)
  const speeds = speedsOf(plan, records)
  const conclusions = [...Object.values(budgets).map(conclusionOf), ...publishedVerdict(speeds)]
  return {
    problem: problemOf(plan, records, not_applied),
    kept: { budgets, answer: conclusions },
    plan,
    budgets,
    rounds: roundsOf(records).length,
    conclusions,
    speeds,
    closed: closedOf(plan, records),
    warnings: [...crowded(records), ...leftOut(records.filter(({ at }) => at.phase !== 'first'))],
  }
}

/** @param {Records} records @returns {string[]} */
function crowded(records) {
  const waited_ratio = median(takenByTurns(records).map(({ probes }) => probes.api.run_delay_ratio ?? Number.NaN))
  if (!(waited_ratio > CROWDED_RATIO)) return []
  return [
    `Warning: the API waited for its core ${wholePercent(waited_ratio)} of the time. Requests that pile up meanwhile cost less each: on a machine that is left alone, the whole costs more, and the intervals are narrower.`,
  ]
}

/** @param {AblateFindings} findings @returns {Block[]} */
export function report(findings) {
  const { plan, budgets, rounds, conclusions, speeds, closed, warnings } = findings
  const [first, ...others] = conclusions
  const names = Object.keys(budgets)
  const stages = plan.stages.map((stage) => `${stage}, away: ${STAGES[stage]}`)
  const detail = { detail: true }
  return [
    answer(first),
    ...others.map((text) => paragraph(text)),
    ...names.flatMap((name) => budgetPicture(name, budgets[name])),
    ...names.flatMap((name) => budgetBlocks(findings, name)),
    ...planted(plan, budgets.cpu),
    ...speedBlocks(closed, speeds),
    ...(warnings.length > 0 ? [list(warnings)] : []),
    heading('What each stage is', detail),
    list(stages, detail),
    ...(closed.length > 0 ? [heading('Successes per second', detail), ...closed.map(statisticsTable)] : []),
    heading('Published', detail),
    publishedTable(),
    paragraph(publishedText(), detail),
    method(methodOf(plan, rounds)),
  ]
}

/** The budget in one currency. @param {AblateFindings} findings @param {string} name of the currency @returns {Block[]} */
export function budgetBlocks({ plan, budgets }, name) {
  const { title, whole, lines, rest, sum_us } = budgets[name]
  const share = (/** @type {number} */ us) => tenthPercent(us / whole.estimate)
  const rows = [
    ...lines.map(({ stage, cost, alone }) => {
      return [stage, intervalText(cost), share(cost.estimate), intervalText(alone), verdictOf({ cost }, budgets[name])]
    }),
    ['the rest', intervalText(rest), share(rest.estimate), '', ''],
    ['sum: in each round the whole, by construction', figure(sum_us), share(sum_us), '', ''],
    ['whole', intervalText(whole), share(whole.estimate), '', ''],
  ]
  return [
    paragraph(`**${title}**, ${plan.consumers[0]}${loadText(plan, plan.consumers[0])}, us:`),
    table(['stage', 'cost', 'of the whole', 'removed alone', ''], rows, { name: `budget-${name}` }),
    paragraph(gapText(budgets[name])),
  ]
}

/** @param {string} name @param {Budget} budget @returns {Block[]} */
function budgetPicture(name, { title, lines, rest, whole }) {
  if (!Number.isFinite(whole.estimate)) return []
  const costs = [...lines.map(({ cost }) => cost), rest]
  // Noise makes some costs less than nothing.
  const ends = costs.flatMap(({ estimate, low }) => [estimate, low].filter(Number.isFinite))
  const least = Math.min(0, ...ends)
  return [
    drawn({
      name: `budget-${name}`,
      title: `Where a request's budget goes: ${title}`,
      about: `What each stage costs, with its interval, of ${Math.round(whole.estimate)} us in all. With the rest they add up to the whole.`,
      form: {
        kind: 'dots',
        bars: true,
        x: { title: 'us per request', unit: 'us', min: least < 0 ? Math.floor((least * 1.05) / 10) * 10 : 0 },
        labels: [...lines.map(({ stage }) => stage), 'the rest'],
        series: [{ name: 'cost', values: costs.map(figureOf) }],
        reference: 0,
      },
    }),
  ]
}

/** By how much less the stages save alone than together, and the noise. @param {Budget} budget */
function gapText({ gap: { estimate, low, high }, noise }) {
  const isMore = estimate < 0
  const shown = isMore ? { estimate: -estimate, low: -high, high: -low } : { estimate, low, high }
  const within = Number.isFinite(high) && low <= 0 && high >= 0 ? ', within the noise' : ''
  const gap = `Removed alone, the stages save ${intervalText(shown)} us ${isMore ? 'more' : 'less'} than together${within}.`
  if (noise.pairs === 0) return gap
  return `${gap} 95 % of two visits to the whole in a round differ by less than ${tenthPercent(noise.ratio - 1)}.`
}

/** @param {AblatePlan} plan @param {Budget} budget @returns {Block[]} */
function planted({ slow_us }, { planted }) {
  if (!planted) return []
  const asked = Object.entries(slow_us).map(([stage, us]) => `${us} us of CPU in ${stage}`)
  return [paragraph(`Planted on purpose: ${asked.join(', ')}. Found: ${intervalText(planted)} us.`)]
}

/** Closed loops alone: the rate of the others is given. @param {Closed[]} closed @param {SpeedUp[]} speeds @returns {Block[]} */
function speedBlocks(closed, speeds) {
  if (closed.length === 0) return []
  const removed = speeds.filter(({ consumer }) => consumer === closed[0].consumer).map(({ without }) => without)
  const rows = removed.map((without) => {
    const own = speeds.filter((speed) => nameOf(speed.without) === nameOf(without))
    return [
      without.length === 1 ? without[0] : 'all of them',
      ...own.map((speed) => (speed.isLimited && speed.pairs > 0 ? GENERATOR_LIMIT : ratioText(speed))),
    ]
  })
  const whole = ['nothing (successes/s)', ...closed.map(({ whole_rps }) => figure(whole_rps))]
  const head = ['removed', ...closed.map(({ consumer }) => consumer)]
  return [
    paragraph('**What gets through without a stage**, as a ratio:'),
    table(head, [whole, ...rows], { name: 'speeds' }),
  ]
}

/** @param {Closed} closed */
function statisticsTable({ consumer, variants }) {
  const rows = variants.map(({ variant, count, min, max, sum, mean, median: middle, sd, cpu_us }) => {
    return [variant, String(count), ...[min, max, sum, mean, middle, sd, cpu_us].map(figure)]
  })
  const head = [consumer, 'count', 'min', 'max', 'sum', 'mean', 'median', 'sd', 'CPU us per request']
  return table(head, rows, { detail: true })
}

function publishedTable() {
  const rows = PUBLISHED.consumers.map((/** @type {{ name: string, per_s: (number | null)[] }} */ { name, per_s }) => {
    const [whole] = per_s
    return [name, ...per_s.map((rps) => (rps === null ? NONE : `${rps} (${(rps / Number(whole)).toFixed(2)}x)`))]
  })
  return table([PUBLISHED.unit, ...PUBLISHED.variants], rows, { detail: true })
}

function publishedText() {
  const { title, author, setting, samples, conclusion } = PUBLISHED
  const figures = Object.entries(samples).map(([name, value]) => `${name} ${value}`)
  return `"${title}" (${author}): ${setting}. Samples of one run: ${figures.join(', ')}. It concludes: ${conclusion}.`
}

/** @param {AblatePlan} plan @param {number} rounds */
function methodOf(plan, rounds) {
  const closed = closedLoopsOf(plan).map((name) => consumerText(plan, name))
  return [
    'One process of the API; its stages are taken away while it runs, by a preload that takes a one-off token of this run; a request without each stage shows that the order was obeyed.',
    `The budget, ${consumerText(plan, plan.consumers[0])}: ${rounds} rounds, in each all variants by turns of ${REQUESTS_PER_TURN} requests in an order that is drawn, the whole three times. A turn begins when the requests from before the change have been answered. What garbage a turn leaves is often collected in another's.`,
    ...(closed.length > 0
      ? [
          `What gets through: ${closed.join('; ')}. ${plan.blocks} blocks, in each a trial of ${plan.duration_s} s of each variant.`,
        ]
      : []),
    `A cost is a difference within a round: the budget's with all stages above it away already, and alone. Intervals hold ${CONFIDENCE * 100} % and go by ranks (Hodges and Lehmann, Wilcoxon). Worth changing: surely more than ${RELEVANT_RATIO * 100} % of the whole.`,
    "Time in the API is from the head of a request to its answer, by the requests in flight (Little's law): the wait for the event loop to take it is not in it.",
    'CPU is that of all threads of the process, from the kernel. Rows are counted where no stage that stores them is taken away: there each 201 is a row.',
    "The log has a line for each request here (LOG_LEVEL=debug) and, unless INSERT_MODE says otherwise, each request a statement of its own, so that each stage is one request's; as it is shipped, the API logs none, and requests share statements.",
  ]
}

/** @param {AblatePlan} plan @param {string} name of the consumer */
function consumerText(plan, name) {
  return `${name} (${CONSUMERS[name].about}, ${CONNECTIONS} connections${loadText(plan, name)})`
}

/** @param {AblatePlan} plan @param {string} consumer */
function loadText({ rate_rps }, consumer) {
  return CONSUMERS[consumer].loop === 'open' ? ` at ${count(rate_rps)}/s` : ''
}
