import { readFileSync } from 'node:fs'
import { DRIVERS } from '../../../load/generators/drivers/index.js'
import { answer, drawn, heading, list, method, paragraph, table } from '../../../load/report/blocks.js'
import { count, figure, NONE, tenthPercent, wholePercent } from '../../../load/report/format.js'
import { CONFIDENCE, ratioText } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { GENERATOR_LIMIT, leftOut } from '../../stats/sound.js'
import { figureOf } from '../../stats/spread.js'
import { budgetsOf, roundsOf } from './budget.js'
import { closedOf } from './speeds.js'
import { REQUESTS_PER_TURN, STAGES } from './stages.js'
import { CONSUMERS, closedLoopsOf, takenByTurns } from './steps.js'
import { conclusionOf, intervalText, problemOf, publishedVerdict, RELEVANT_RATIO, verdictOf } from './verdict.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Budget } from './budget.js'
 * @import { Closed } from './speeds.js'
 * @import { AblatePlan, Records } from './steps.js'
 * @import { NotAppliedCell } from '../../../load/report/record.js'
 */

/** Share of the time that the API may wait for its core before the report warns. */
const CROWDED_RATIO = 0.1
const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/ablate.json', import.meta.url), 'utf8'))
const DETAIL = { detail: true }

/**
 * @param {AblatePlan} plan
 * @param {Records} records
 * @param {{ not_applied?: NotAppliedCell[] }} run
 *
 * @typedef {ReturnType<typeof analyse>} AblateFindings
 */
export function analyse(plan, records, { not_applied = [] }) {
  const budgets = budgetsOf(plan, records)
  const closed = closedOf(plan, records)
  const conclusions = [...Object.values(budgets).map(conclusionOf), ...publishedVerdict(closed)]
  return {
    problem: problemOf(plan, records, not_applied),
    kept: { budgets, answer: conclusions },
    plan,
    budgets,
    rounds: roundsOf(records).length,
    conclusions,
    closed,
    warnings: [...crowded(records), ...leftOut(records.filter(({ at }) => at.phase !== 'first'))],
  }
}

/** @param {Records} records */
function crowded(records) {
  const waited_ratio = median(takenByTurns(records).map(({ probes }) => probes.api.run_delay_ratio))
  if (!(waited_ratio > CROWDED_RATIO)) return []
  return [
    `Warning: the API waited for its core ${wholePercent(waited_ratio)} of the time. Requests that pile up meanwhile cost less each: on an idle machine, the whole costs more, and the intervals are narrower.`,
  ]
}

/** @param {AblateFindings} findings @returns {Block[]} */
export function report(findings) {
  const { plan, budgets, rounds, conclusions, closed, warnings } = findings
  const [first, ...others] = conclusions
  return [
    answer(first),
    ...others.map((text) => paragraph(text)),
    ...Object.entries(budgets).flatMap(([name, budget]) => budgetPicture(name, budget)),
    ...Object.keys(budgets).flatMap((name) => budgetBlocks(findings, name)),
    ...plantedBlocks(plan, budgets.cpu),
    ...(closed.length > 0 ? speedBlocks(closed) : []),
    ...(warnings.length > 0 ? [list(warnings)] : []),
    heading('What is removed with each stage', DETAIL),
    list(
      plan.stages.map((stage) => `${stage}: ${STAGES[stage]}`),
      DETAIL,
    ),
    ...(closed.length > 0 ? [heading('Successes per second', DETAIL), ...closed.map(statisticsTable)] : []),
    heading('Published', DETAIL),
    ...publishedBlocks(),
    method(methodOf(plan, rounds)),
  ]
}

/** The budget in one currency. @param {AblateFindings} findings @param {string} name of the currency @returns {Block[]} */
export function budgetBlocks({ plan, budgets }, name) {
  const budget = budgets[name]
  const { title, whole, lines, rest, sum_us } = budget
  const share = (/** @type {number} */ us) => tenthPercent(us / whole.estimate)
  const rows = [
    ...lines.map(({ stage, cost, alone }) => {
      return [stage, intervalText(cost), share(cost.estimate), intervalText(alone), verdictOf({ cost }, budget)]
    }),
    ['the rest', intervalText(rest), share(rest.estimate), '', ''],
    ['sum (the whole in each round, by construction)', figure(sum_us), share(sum_us), '', ''],
    ['whole', intervalText(whole), share(whole.estimate), '', ''],
  ]
  const [consumer] = plan.consumers
  return [
    paragraph(`**${title}**, ${consumer}${loadText(plan, consumer)}, us:`),
    table(['stage', 'cost', 'of the whole', 'removed alone', ''], rows, { name: `budget-${name}` }),
    paragraph(gapText(budget)),
  ]
}

/** @param {string} name @param {Budget} budget */
function budgetPicture(name, { title, lines, rest, whole }) {
  if (!Number.isFinite(whole.estimate)) return []
  const costs = [...lines.map(({ cost }) => cost), rest]
  // Noise makes some costs negative.
  const least = Math.min(0, ...costs.flatMap(({ estimate, low }) => [estimate, low].filter(Number.isFinite)))
  return [
    drawn({
      name: `budget-${name}`,
      title: `Where a request's budget goes: ${title}`,
      about: `The cost of each stage, with its interval, of ${Math.round(whole.estimate)} us in all. With the rest they add up to the whole.`,
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

/** How much less the stages save alone than together, and the noise. @param {Budget} budget */
function gapText({ gap: { estimate, low, high }, noise }) {
  const isMore = estimate < 0
  const shown = isMore ? { estimate: -estimate, low: -high, high: -low } : { estimate, low, high }
  const within = Number.isFinite(high) && low <= 0 && high >= 0 ? ', within the noise' : ''
  const gap = `Removed alone, the stages save ${intervalText(shown)} us ${isMore ? 'more' : 'less'} than together${within}.`
  if (noise.pairs === 0) return gap
  return `${gap} 95 % of pairs of visits to the whole in a round differ by less than ${tenthPercent(noise.ratio - 1)}.`
}

/** @param {AblatePlan} plan @param {Budget} budget */
function plantedBlocks({ slow_us }, { planted }) {
  if (!planted) return []
  const asked = Object.entries(slow_us).map(([stage, us]) => `${us} us of CPU in ${stage}`)
  return [paragraph(`Planted on purpose: ${asked.join(', ')}. Found: ${intervalText(planted)} us.`)]
}

/** Of closed loops alone, since an open loop's rate is given. @param {Closed[]} closed */
function speedBlocks(closed) {
  const whole = ['nothing (successes/s)', ...closed.map(({ whole_rps }) => figure(whole_rps))]
  const rows = closed[0].speeds.map(({ without }, i) => [
    without.length === 1 ? without[0] : 'all of them',
    ...closed.map(({ speeds: { [i]: speed } }) => {
      return speed.isLimited && speed.pairs > 0 ? GENERATOR_LIMIT : ratioText(speed)
    }),
  ])
  const head = ['removed', ...closed.map(({ consumer }) => consumer)]
  return [
    paragraph('**Throughput without a stage**, as a ratio to the whole:'),
    table(head, [whole, ...rows], { name: 'speeds' }),
  ]
}

/** @param {Closed} closed */
function statisticsTable({ consumer, variants }) {
  const rows = variants.map(({ variant, count, ...figures }) => {
    return [variant, String(count), ...Object.values(figures).map(figure)]
  })
  const head = [consumer, 'count', 'min', 'max', 'sum', 'mean', 'median', 'sd', 'CPU us per request']
  return table(head, rows, DETAIL)
}

function publishedBlocks() {
  const { title, author, setting, unit, variants, consumers, samples, conclusion } = PUBLISHED
  const rows = consumers.map((/** @type {{ name: string, per_s: (number | null)[] }} */ { name, per_s }) => {
    const [whole] = per_s
    return [name, ...per_s.map((rps) => (rps === null ? NONE : `${rps} (${(rps / Number(whole)).toFixed(2)}x)`))]
  })
  const figures = Object.entries(samples).map(([name, value]) => `${name} ${value}`)
  const text = `"${title}" (${author}): ${setting}. Samples of one run: ${figures.join(', ')}. It concludes: ${conclusion}.`
  return [table([unit, ...variants], rows, DETAIL), paragraph(text, DETAIL)]
}

/** @param {AblatePlan} plan @param {number} rounds */
function methodOf(plan, rounds) {
  const textOf = (/** @type {string} */ name) => `${name} (${CONSUMERS[name]})`
  const closed = closedLoopsOf(plan).map(textOf)
  return [
    'One process of the API; a preload, which takes a one-off token of this run, removes its stages while it runs. A request without each stage shows that the order was obeyed.',
    `The budget, by ${textOf(plan.consumers[0])}: ${rounds} rounds, each of all variants in turns of ${REQUESTS_PER_TURN} requests in random order, the whole three times. A turn begins when the requests from before the change have been answered. The garbage of one turn is often collected in another.`,
    ...(closed.length > 0
      ? [
          `Throughput, by ${closed.join(' and ')}: ${plan.blocks} blocks, each with a trial of ${plan.duration_s} s of each variant.`,
        ]
      : []),
    `A cost is a difference within a round: in the budget, with all stages above it removed already; and alone. Intervals are of ${CONFIDENCE * 100} % confidence, by ranks (Hodges and Lehmann, Wilcoxon). Worth changing: certainly more than ${RELEVANT_RATIO * 100} % of the whole.`,
    "Time in the API is from the head of a request to its response, computed from the requests in flight (Little's law), without the wait for the event loop to take it.",
    'CPU is that of all threads of the process, from the kernel. Rows are counted where no stage that stores them is removed: there each 201 is a row.',
    'The log has a line for each request here (LOG_LEVEL=debug) and, unless INSERT_MODE says otherwise, each request has a statement of its own, so that each stage belongs to one request; by default, the API logs no requests, and requests share statements.',
  ]
}

/** @param {AblatePlan} plan @param {string} consumer */
function loadText({ rate_rps }, consumer) {
  return DRIVERS[consumer].loop === 'open' ? ` at ${count(rate_rps)}/s` : ''
}
