import { count, decimal, milliseconds, NONE, percent, ratesText } from '../../../load/report/format.js'
import { settingsLine, whereAndWhen } from '../../../load/run/old.js'
import { KNOBS } from '../../knobs/knobs.js'
import { capacityOf } from '../../stats/capacity-of.js'
import { levelsOf } from '../../stats/design.js'
import { CONFIDENCE, interactions, mainEffects, noiseOf, ratioOf, ratioText } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { table } from '../../stats/spread.js'
import { blockTrials, observationsOf, RESPONSES } from './observations.js'
import { recommendationOf } from './recommend.js'
import { anchorCapacity, finalistsOf, OFFERED } from './steps.js'

/**
 * @import { Effect, Noise } from '../../stats/effects.js'
 * @import { Response } from './observations.js'
 * @import { Records, TunePlan } from './steps.js'
 */

const STRONGEST = 5

/** Of what was offered: the rest is the end of the trial. */
const ALL_RATIO = 0.98

/**
 * report.md of a matrix.
 *
 * @param {any} run @param {Records} records
 * @returns {string}
 */
export function tuneReport(run, records) {
  return `${[
    `# Redline tune: ${run.run_id}`,
    tuneText(run, records),
    '## How it was measured',
    [
      `- ${run.plan.blocks} blocks, each with every cell once in an order of its own and the anchor (${run.plan.anchor}) three times; each visit starts the service anew, reads its knobs back, and puts three rates on it: ${sharesText(run.plan, records)}.`,
      `- Ratios are taken within a block, all other knobs alike. The typical ratio and its ${CONFIDENCE * 100} % interval go by ranks (Hodges-Lehmann, Wilcoxon's signed ranks), which takes six pairs at the least; of twenty intervals around no effect, one misses 1.`,
      '- Tied: the interval holds 1, or the noise floor (two visits to the anchor in the same block, as many pairs) covers the ratio.',
      `- No cell can get more through than is offered: a goodput of ${OFFERED.above}x the anchor's capacity is a lower bound. The capacity of the finalists is searched for.`,
      `- Trials of ${run.plan.duration_s} s; invalid ones are repeated, never counted. The stored rows are counted after each.`,
      ...(run.pinning ? [`- ${run.pinning}`] : []),
      ...[settingsLine(records)].filter(Boolean),
    ].join('\n'),
    '## Where',
    whereAndWhen(run),
  ].join('\n\n')}\n`
}

/**
 * What was found, for the terminal and the report's top.
 *
 * @param {any} run @param {Records} records
 * @returns {string}
 */
export function tuneText(run, records) {
  const { plan } = run
  const problem = run.problem ? [`**No trustworthy answer: ${run.problem}.**`] : []
  if (anchorCapacity(plan, records) === null) return problem.join('\n')
  const effects = Object.values(RESPONSES).map((response) => effectsText(response, plan, records))
  return [
    ...problem,
    recommendationText(run, records),
    '## Cells',
    noiseText(noiseOf(observationsOf(RESPONSES.goodput, records)), 'goodput'),
    cellsTable(run, records),
    ...effects,
    ...warningsText(run),
  ].join('\n\n')
}

/** @param {any} run @param {Records} records */
export function recommendationText({ plan }, records) {
  const { choices } = recommendationOf(plan, records)
  const rows = choices.map(({ name, level, by, effect }) => [
    name,
    level,
    by === null ? (KNOBS[name].advised ? 'no level was better' : 'not chosen by speed') : RESPONSES[by].title,
    effect ? `${by === 'goodput' && tookAll(name, level, records) ? 'at least ' : ''}${ratioText(effect)}` : NONE,
  ])
  const finalists = finalistsOf(plan, records)
  const finals = finalists.map((cell) => `- ${cell}: ${capacityText('final', cell, plan, records)}`)
  const [best, anchor] = finalists.map((cell) => capacityOf('final', cell, plan, records).capacity)
  const gain = finals.length > 0 ? ['Searched for once more, one after the other:', finals.join('\n')] : []
  const together = best && anchor ? gainText(best, anchor) : []
  return ['## Recommended', table(['knob', 'level', 'because of', 'expected'], rows), ...gain, ...together].join('\n\n')
}

/** Whether a level got through whatever was offered: then its gain is only known to be as much. @param {string} name @param {string} level @param {Records} records */
function tookAll(name, level, records) {
  const own = blockTrials(records, 'above').filter(({ cell }) => levelsOf(String(cell))[name] === level)
  return median(own.map(({ traffic, load }) => traffic.goodput_rps / Number(load.rate_rps))) >= ALL_RATIO
}

/**
 * What two capacities are to each other, from the ends of their intervals.
 *
 * @param {{ low_rps: number | null, high_rps: number | null }} best
 * @param {{ low_rps: number | null, high_rps: number | null }} anchor
 * @returns {string[]}
 */
export function gainText(best, anchor) {
  const least = Number(best.low_rps) / (anchor.high_rps ?? Number.POSITIVE_INFINITY)
  const most = (best.high_rps ?? Number.POSITIVE_INFINITY) / Number(anchor.low_rps)
  if (!(least > 0)) return []
  const [from, to] = [least, most].map((ratio) => `${ratio.toFixed(1)}x`)
  return [
    `All together: ${Number.isFinite(most) ? `${from} to ${to}` : `at least ${from}`} the capacity of the anchor.`,
  ]
}

/** @param {string} phase @param {string} cell @param {TunePlan} plan @param {Records} records */
export function capacityText(phase, cell, plan, records) {
  const { capacity, limit } = capacityOf(phase, cell, plan, records)
  if (!capacity) return 'no capacity was found'
  return `${ratesText(capacity)}, limit ${limit?.resource ?? 'unknown'}`
}

/** @param {any} run @param {Records} records */
function cellsTable({ plan, not_applied = [] }, records) {
  const goodput = observationsOf(RESPONSES.goodput, records)
  const noise = noiseOf(goodput)
  const rows = plan.cells.map((/** @type {string} */ cell) => {
    const refused = not_applied.find((/** @type {any} */ one) => one.cell === cell)
    if (refused) return [cell, `not applied: ${refused.because}`, ...Array(6).fill(NONE)]
    const of = (/** @type {string} */ kind) => blockTrials(records, kind).filter((record) => record.cell === cell)
    const [below, at, above] = [of('below'), of('at'), of('above')]
    return [
      cell === plan.anchor ? `${cell} (anchor)` : cell,
      ...[below, at, above].map(successText),
      milliseconds(median(at.map(({ traffic }) => traffic.latency_ms?.p99 ?? Number.NaN))),
      numberText(median(above.map(RESPONSES.goodput.value)), 0),
      cell === plan.anchor ? '1' : ratioText(ratioOf(goodput, cell, plan.anchor, noise)),
      numberText(median(below.map((record) => RESPONSES.cpu.value(record) ?? Number.NaN)), 1),
    ]
  })
  const [low, same, high] = Object.values(OFFERED).map((share) => `success at ${share}x`)
  return table(['cell', low, same, high, 'p99 at 1x', 'goodput/s at 1.5x', 'x anchor', 'CPU us at 0.5x'], rows)
}

/**
 * @param {Response} response
 * @param {TunePlan} plan @param {Records} records
 */
function effectsText(response, plan, records) {
  const observations = observationsOf(response, records)
  const noise = noiseOf(observations)
  const effects = plan.knobs.map((knob) => ({ knob, found: mainEffects(observations, knob, noise) }))
  const sentences = effects.map(({ knob, found }) => `- ${effectSentence(knob, found, response.better)}`)
  const rows = effects.flatMap(({ knob, found }) =>
    found.map((effect) => [
      `${knob.name}=${effect.level}`,
      knob.levels[0],
      ratioText(effect),
      String(effect.pairs),
      verdictOf(effect, response.better),
    ]),
  )
  const strongest = interactions(observations, plan.knobs, noise).slice(0, STRONGEST)
  const together = strongest.map((effect) => [
    effect.level,
    ratioText(effect),
    String(effect.pairs),
    !Number.isFinite(effect.high) ? 'too few pairs' : effect.tied ? 'none' : 'yes',
  ])
  return [
    `## ${response.title}`,
    noiseText(noise, 'this'),
    sentences.join('\n'),
    table(
      ['level', 'against', `ratio [${CONFIDENCE * 100} % interval]`, 'pairs', `better is ${response.better}`],
      rows,
    ),
    ...(together.length > 0 ? [table(['together', 'ratio of ratios', 'pairs', 'interaction'], together)] : []),
  ].join('\n\n')
}

/** @param {Noise} noise @param {string} what */
function noiseText({ ratio, pairs }, what) {
  if (pairs === 0) return `Noise floor of ${what}: unknown, no cell was visited twice in a block.`
  return `Noise floor of ${what}: two visits to the same cell in the same block differ by up to x${ratio.toFixed(2)} (95 % of ${pairs} pairs).`
}

/**
 * "20, 40 and 80 are tied; 5 is 0.71x [0.66–0.75]".
 *
 * @param {{ name: string, levels: string[] }} knob
 * @param {Effect[]} found
 * @param {'more' | 'less'} better
 */
export function effectSentence({ name, levels }, found, better) {
  const tied = found.filter((effect) => effect.tied && effect.pairs > 0 && Number.isFinite(effect.high))
  const few = found.filter((effect) => !Number.isFinite(effect.high))
  const others = found.filter((effect) => !effect.tied)
  const parts = [
    ...(tied.length > 0 ? [`${list([levels[0], ...tied.map(({ level }) => level)])} are tied`] : []),
    ...others.map((effect) => `${effect.level} is ${ratioText(effect)} of ${levels[0]} (${verdictOf(effect, better)})`),
    ...(few.length > 0 ? [`too few pairs to say anything about ${list(few.map(({ level }) => level))}`] : []),
  ]
  return `${name}: ${parts.join('; ') || 'nothing was measured'}`
}

/** @param {Effect} effect @param {'more' | 'less'} better */
function verdictOf({ tied, ratio, high }, better) {
  if (!Number.isFinite(high)) return 'too few pairs'
  if (tied) return 'tied'
  return ratio > 1 === (better === 'more') ? 'better' : 'worse'
}

/** @param {Records} trials */
function successText(trials) {
  return trials.length === 0 ? NONE : percent(median(trials.map(({ traffic }) => traffic.success_ratio)))
}

/** @param {number} value @param {number} decimals */
function numberText(value, decimals) {
  return Number.isNaN(value) ? NONE : decimal(value, decimals)
}

/** @param {any} run */
function warningsText({ warnings = [] }) {
  return warnings.length > 0 ? [warnings.map((/** @type {string} */ text) => `- Warning: ${text}.`).join('\n')] : []
}

/** @param {TunePlan} plan @param {Records} records */
function sharesText(plan, records) {
  const shares = Object.values(OFFERED).map((share) => `${share}x`)
  const basis =
    plan.capacity_rps === null
      ? `the anchor's capacity (${capacityText('anchor', plan.anchor, plan, records)})`
      : `${count(plan.capacity_rps)}/s, as it was asked for`
  return `${list(shares)} of ${basis}`
}

/** "1, 2 and 3" @param {string[]} words */
function list(words) {
  return words.length > 1 ? `${words.slice(0, -1).join(', ')} and ${words.at(-1)}` : String(words[0])
}
