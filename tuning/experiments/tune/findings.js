import { cellName, isSameCell } from '../../../load/report/format.js'
import { undosedTexts } from '../../../load/report/proof.js'
import { median } from '../../../load/verdict/ranks.js'
import { KNOBS } from '../../knobs/knobs.js'
import { capacityOf, lowestOf } from '../../stats/capacity-of.js'
import { groupBy } from '../../stats/design.js'
import { interactions, mainEffects, noiseOf, observationsOf, ratioOf } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { TunePlan } from './design.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

/**
 * The figures by which cells are compared, in order of importance. kind: of the trials that have it
 * @type {{ name: string, title: string, short: string, kind: 'below' | 'above', better: 'more' | 'less', value: ValueOf }[]}
 * @typedef {(record: TrialRecord) => number | undefined} ValueOf
 */
const RESPONSES = [
  {
    name: 'goodput',
    title: "Goodput when 1.5 x the anchor's capacity is offered",
    short: 'goodput at 1.5x',
    kind: 'above',
    better: 'more',
    // Zero has no logarithm.
    value: ({ traffic }) => Math.max(1, traffic.goodput_rps),
  },
  {
    name: 'p99',
    title: "p99 when 1.5 x the anchor's capacity is offered",
    short: 'p99 at 1.5x',
    kind: 'above',
    better: 'less',
    value: ({ traffic }) => traffic.latency_ms?.p99,
  },
  {
    name: 'cpu',
    title: "CPU of the API per request, at half of the anchor's capacity",
    short: 'CPU at 0.5x',
    kind: 'below',
    better: 'less',
    value: ({ probes }) => probes.api.cpu_us_per_request,
  },
]

/**
 * What a matrix shows. Pure.
 * @typedef {ReturnType<typeof analyseMatrix>} TuneFindings
 * @typedef {TuneFindings['responses'][number]} ResponseFindings
 * @param {TunePlan} plan @param {TrialRecord[]} records
 */
export function analyseMatrix(plan, records) {
  const { preset, anchor, blocks, knobs } = plan
  const capacity_rps = anchorCapacity(plan, records)
  const isKnown = capacity_rps !== null
  const responses = responsesOf(plan, records)
  const { levels, choices } = recommendationOf(plan, records)
  const searched = plan.capacity_rps === null ? capacityOf('anchor', anchor, plan, records) : null
  const proof = searched?.elasticities && { elasticities: searched.elasticities }
  return {
    problem: problemOf(plan, records),
    kept: { ...(isKnown ? { recommended: levels, choices } : { recommended: null, choices: [] }), ...proof },
    preset,
    anchor,
    blocks,
    capacity_rps,
    searched,
    undosed: undosedTexts(records),
    choices,
    finals: (isKnown ? finalistsOf(plan, records) : []).map((cell) => {
      return { cell, ...capacityOf('final', cell, plan, records) }
    }),
    responses: responses.map(({ value, observations, ...response }) => {
      return { ...response, interactions: interactions(observations, knobs, response.noise) }
    }),
    cells: cellsOf(plan, records, responses),
  }
}

/**
 * Medians of each cell, NaN where nothing was measured, and its ratios to the anchor, one for each response.
 * @param {TunePlan} plan @param {TrialRecord[]} records @param {ReturnType<typeof responsesOf>} responses
 */
function cellsOf({ cells, anchor }, records, responses) {
  const trials = groupBy(trialsAt(records), ({ cell }) => cellName(cell))
  return cells.map((cell) => {
    const own = trials.get(cellName(cell)) ?? []
    const medianOf = (/** @type {string} */ kind, /** @type {ValueOf} */ value) => {
      return median(trialsAt(own, { kind }).map((record) => value(record)))
    }
    const success = (/** @type {string} */ kind) => medianOf(kind, ({ traffic }) => traffic.success_ratio)
    return {
      cell,
      is_anchor: isSameCell(cell, anchor),
      success_ratio: { below: success('below'), at: success('at'), above: success('above') },
      p99_ms: medianOf('at', ({ traffic }) => traffic.latency_ms?.p99),
      goodput_rps: medianOf('above', ({ traffic }) => traffic.goodput_rps),
      cpu_us: medianOf('below', ({ probes }) => probes.api.cpu_us_per_request),
      ratios: responses.map(({ observations, noise }) => ratioOf(observations, cell, anchor, noise)),
    }
  })
}

/** @param {TunePlan} plan @param {TrialRecord[]} records */
function problemOf(plan, records) {
  if (anchorCapacity(plan, records) === null) {
    return `the anchor (${cellName(plan.anchor)}) has no capacity: ${lastReason(records)}`
  }
  return records.some(({ at }) => at.phase === 'block') ? null : 'no cell was measured'
}

/** Why a search found nothing. @param {TrialRecord[]} records */
export function lastReason(records) {
  return records.at(-1)?.outcome.because ?? 'its knobs could not be applied'
}

/**
 * The level of each knob with the highest goodput; where that is a tie, with the lowest p99 beyond the anchor's capacity; where that
 * is one too, with the least CPU; where all are ties, the reference. A level that costs something else, such as durability or a
 * log, is never recommended. Pure.
 * @param {Pick<TunePlan, 'knobs'>} plan @param {TrialRecord[]} records
 */
export function recommendationOf(plan, records) {
  const known = responsesOf(plan, records)
  const choices = plan.knobs.map(({ name, levels }) => {
    /** by: the response in which the level is better; null: it is the reference */
    const reference = { name, level: levels[0], by: null, effect: null }
    if (!KNOBS[name].advised) return reference
    let candidates = levels.slice(1)
    for (const { name: by, better, effects } of known) {
      const own = effects.filter((effect) => effect.name === name && candidates.includes(effect.level))
      const gainOf = (/** @type {{ ratio: number }} */ { ratio }) => (better === 'more' ? ratio : 1 / ratio)
      const [best] = own.filter(({ verdict }) => verdict === 'better').sort((a, b) => gainOf(b) - gainOf(a))
      if (best) return { name, level: best.level, by, effect: best }
      candidates = own.filter(({ tied, pairs }) => tied && pairs > 0).map(({ level }) => level)
    }
    return reference
  })
  return { levels: Object.fromEntries(choices.map(({ name, level }) => [name, level])), choices }
}

/** What the rates of a matrix are shares of. @param {TunePlan} plan @param {TrialRecord[]} records */
export function anchorCapacity(plan, records) {
  return plan.capacity_rps ?? lowestOf('anchor', plan.anchor, plan, records)
}

/** The best cell and the anchor, or none if the anchor is the best. @param {TunePlan} plan @param {TrialRecord[]} records */
export function finalistsOf(plan, records) {
  const { levels: best } = recommendationOf(plan, records)
  return isSameCell(best, plan.anchor) ? [] : [best, plan.anchor]
}

/** The effects of all knobs on each response. @param {Pick<TunePlan, 'knobs'>} plan @param {TrialRecord[]} records */
function responsesOf({ knobs }, records) {
  return RESPONSES.map((response) => {
    const observations = observationsOf(trialsAt(records, { kind: response.kind }), response.value)
    const noise = noiseOf(observations)
    const effects = knobs.flatMap((knob) =>
      mainEffects(observations, knob, noise).map((effect) => {
        return { name: knob.name, reference: knob.levels[0], ...effect, verdict: verdictOf(effect, response.better) }
      }),
    )
    return { ...response, observations, noise, effects }
  })
}

/** @param {Effect} effect @param {'more' | 'less'} better */
function verdictOf({ tied, ratio, high }, better) {
  if (!Number.isFinite(high)) return 'too few pairs'
  if (tied) return 'tied'
  return ratio > 1 === (better === 'more') ? 'better' : 'worse'
}
