import { proven } from '../../../load/capacity/proving.js'
import { answer, heading, list, method, paragraph } from '../../../load/report/blocks.js'
import { wholePercent } from '../../../load/report/format.js'
import { proofBlocks } from '../../../load/report/proof.js'
import { median } from '../../../load/verdict/ranks.js'
import { CONFIDENCE, leastPairs } from '../../stats/effects.js'
import { isSound, leftOut, whyUnsound } from '../../stats/sound.js'
import { budgetConfidence, budgetsOf, roundsOf } from './budget.js'
import { budgetBlocks, budgetPicture, conclusionOf, RELEVANT_RATIO } from './budget-report.js'
import { forecastBlocks, forecastsOf } from './forecast.js'
import { publishedBlocks, publishedVerdict } from './published.js'
import { statisticsBlocks } from './samples.js'
import { closedOf, ratioBlocks, speedConfidence, workBlocks } from './speeds.js'
import { BY_TURNS, REQUESTS_PER_TURN, STAGES } from './stages.js'
import { CONSUMERS, closedLoopsOf, takenByTurns } from './steps.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { AblatePlan, Records } from './steps.js'
 * @import { NotAppliedCell } from '../../../load/report/record.js'
 */

/** Share of the time that the API may wait for its core before the report warns. */
const CROWDED_RATIO = 0.1

const PROOF =
  'The proof: the whole under the same closed loop, while each suspect is slowed for a second, next to a second in which it is not. Forecast without a stage: (1 - the share of the CPU that it saves, removed alone) to the power of minus the elasticity; its interval is the widest that those of both allow. Agree: the intervals of forecast and measurement overlap. The intervals of the elasticity and of the CPU of Postgres are of 95 % each.'

/** @param {AblatePlan} plan @param {Records} records @param {{ not_applied?: NotAppliedCell[] }} run */
export function analyse(plan, records, { not_applied = [] }) {
  const budgets = budgetsOf(plan, records)
  const closed = closedOf(plan, records)
  const { elasticities } = proven(null, records)
  const conclusions = [...Object.values(budgets).map(conclusionOf), ...publishedVerdict(closed, elasticities)]
  const forecasts = forecastsOf(plan, records, { budget: budgets.cpu, closed, elasticities })
  return {
    problem: problemOf(plan, records, not_applied),
    kept: { budgets, conclusions, ...(elasticities && { elasticities, forecasts }) },
    ...{ plan, records, budgets, conclusions, closed, elasticities, forecasts },
    rounds: roundsOf(records).length,
    warnings: [...crowded(records), ...leftOut(records.filter(({ at }) => ['turns', 'blocks'].includes(at.phase)))],
  }
}

/**
 * The reason why no trustworthy answer exists, or null: without a round, there is no budget.
 * @param {AblatePlan} plan @param {Records} records @param {NotAppliedCell[]} notApplied
 */
export function problemOf(plan, records, notApplied) {
  if (roundsOf(records).length > 0) return null
  const refused = notApplied.find(({ cell }) => cell.variant === BY_TURNS)
  const last = records.findLast(({ at }) => at.phase === 'turns')
  const unsound = last && (isSound(last) ? 'no round was completed' : whyUnsound(last))
  return `no valid round of turns with ${plan.consumers[0]}: ${refused?.because ?? unsound ?? 'no trial'}`
}

/** @param {Records} records */
function crowded(records) {
  const waited_ratio = median(takenByTurns(records).map(({ probes }) => probes.api.run_delay_ratio))
  if (!(waited_ratio > CROWDED_RATIO)) return []
  return [
    `Warning: the API waited for its core ${wholePercent(waited_ratio)} of the time. Requests that pile up meanwhile cost less each: on an idle machine, the whole costs more, and the intervals are narrower.`,
  ]
}

/** @param {ReturnType<typeof analyse>} findings @returns {Block[]} */
export function report(findings) {
  const { plan, budgets, conclusions, closed, warnings } = findings
  const [first, ...others] = conclusions
  const planted = Object.entries(plan.slow_us).map(([stage, us]) => {
    return `Planted on purpose: ${us} us of CPU in ${stage}, a part of its cost above.`
  })
  return [
    answer(first),
    ...others.map(paragraph),
    ...Object.entries(budgets).flatMap(([name, budget]) => budgetPicture(name, budget)),
    ...Object.keys(budgets).flatMap((name) => budgetBlocks(findings, name)),
    ...planted.map(paragraph),
    ...ratioBlocks(closed),
    ...forecastBlocks(findings),
    ...(warnings.length > 0 ? [list(warnings)] : []),
    heading('What is removed with each stage', { detail: true }),
    list(plan.stages.map((stage) => `${stage}: ${STAGES[stage]}`)),
    ...proofBlocks(findings),
    ...statisticsBlocks(closed),
    ...workBlocks(closed),
    ...publishedBlocks(),
    method(methodOf(findings)),
  ]
}

/** @param {ReturnType<typeof analyse>} findings */
function methodOf({ plan, rounds, forecasts }) {
  const [first] = plan.consumers
  const textOf = (/** @type {string} */ name) => `${name} (${CONSUMERS[name]})`
  const closed = closedLoopsOf(plan).map(textOf).join(' and ')
  const throughput = `Throughput, by ${closed}: ${plan.blocks} blocks, each with a trial of ${plan.duration_s} s of each variant.`
  const isPaced = !closedLoopsOf(plan).includes(first)
  const scheduled =
    ' A turn is a fixed amount of work, but an open loop sets its duration: only its CPU and its time in the API tell the variants apart.'
  return [
    'One process of the API; a preload, which takes a one-off token of this run, removes its stages while it runs. A request without each stage shows that the order was obeyed.',
    `The budget, by ${textOf(first)}: ${rounds} rounds, each of all variants in turns of ${REQUESTS_PER_TURN} requests in random order, the whole three times. A turn begins when the requests from before the change have been answered. The garbage of one turn is often collected in another.${isPaced ? scheduled : ''}`,
    ...(closed ? [throughput] : []),
    ...(forecasts.length > 0 ? [PROOF] : []),
    `A cost is a difference within a round: in the budget, with all stages above it removed already; and alone. Worth changing: certainly more than ${RELEVANT_RATIO * 100} % of the whole.`,
    confidenceText(plan),
    "Time in the API is from the head of a request to its response, computed from the requests in flight (Little's law), without the wait for the event loop to take it.",
    'CPU is that of all threads of the process, from the kernel. Rows are counted where no stage that stores them is removed: there each 201 is a row.',
    'The log has a line for each request here (LOG_LEVEL=debug) and, unless INSERT_MODE says otherwise, each request has a statement of its own, so that each stage belongs to one request; by default, the API logs no requests, and requests share statements.',
  ]
}

/** @param {AblatePlan} plan */
function confidenceText(plan) {
  const needed = (/** @type {number} */ confidence, /** @type {string} */ units) => {
    return `${(confidence * 100).toFixed(2)} %, which takes at least ${leastPairs(confidence)} ${units}`
  }
  const throughput = `, one of the throughput ${needed(speedConfidence(plan), 'blocks')}`
  return `Intervals are based on ranks (Hodges and Lehmann, Wilcoxon). A table is read as a whole, so its intervals hold together: with ${wholePercent(CONFIDENCE)} confidence, none of them misses (Bonferroni). For that, each interval of a budget has a confidence of ${needed(budgetConfidence(plan), 'rounds')}${closedLoopsOf(plan).length > 0 ? throughput : ''}. A ratio that noise can explain is no finding ("no effect seen").`
}
