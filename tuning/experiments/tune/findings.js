import { isValid } from '../../../load/capacity/ladder.js'
import { proven } from '../../../load/capacity/proving.js'
import { cellName, isSameCell } from '../../../load/report/format.js'
import { undosedTexts } from '../../../load/report/proof.js'
import { limitOfRun } from '../../../load/verdict/limit.js'
import { median } from '../../../load/verdict/ranks.js'
import { KNOBS } from '../../knobs/knobs.js'
import { capacityOf, lowestOf } from '../../stats/capacity-of.js'
import { groupBy } from '../../stats/design.js'
import { interactions, mainEffects, noiseOf, observationsOf, ratioOf } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'
import { goodputOf, successOf } from '../../stats/measures.js'
import { effectsByLoad } from './by-load.js'
import { enoughOf, needsOf, reasonsOf, SERVICE, settledPlan } from './limits/needs.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { LevelByLoad } from './by-load.js'
 * @import { TunePlan } from './design.js'
 * @import { Needs } from './limits/needs.js'
 * @import { Cell, NotAppliedCell, TrialRecord } from '../../../load/report/record.js'
 */

/** Knobs that change what a row costs Postgres. */
const GROWTH = ['TABLE_ROWS', 'INDEXES', 'UPKEEP']
/** A level that keeps less than this share of the successes or of the goodput is not recommended for its latency or its CPU. */
const LEAST_KEPT = 1 / 1.1
/** A smaller gain is not worth a setting that differs from the reference; of so many comparisons, noise makes some look like one. */
const LEAST_GAIN = 1.03

/** The load at which a figure is taken, as it ends the figure's title, long and short. */
const LOADS = {
  below: { title: ", at half of the anchor's capacity", short: ' at 0.5x' },
  at: { title: " at the anchor's capacity", short: ' at 1x' },
  above: { title: " when 1.5 x the anchor's capacity is offered", short: ' at 1.5x' },
}

/**
 * Figures for comparing cells, by name. short: title in narrow places, by default the name; kind: of the trials that have the figure;
 * decides: the recommendation uses it, in this order; note: how not to read it; of: only if one of these knobs is turned
 * @type {Record<string, { title: string, short?: string, kind: keyof typeof LOADS, better: 'more' | 'less', decides?: boolean, note?: string, of?: string[], value: ValueOf }>}
 * @typedef {(record: TrialRecord) => number | undefined} ValueOf
 */
const RESPONSES = {
  goodput: { title: 'Goodput', kind: 'above', better: 'more', decides: true, value: goodputOf },
  p99: {
    title: 'p99',
    kind: 'above',
    better: 'less',
    decides: true,
    note: 'p99 includes errors: where goodput falls, a low p99 means quick failures.',
    value: ({ traffic }) => traffic.latency_ms?.p99,
  },
  cpu: {
    title: 'CPU of the API per request',
    short: 'CPU',
    kind: 'below',
    better: 'less',
    decides: true,
    value: ({ probes }) => probes.api.cpu_us_per_request,
  },
  success: { title: 'Success ratio', kind: 'above', better: 'more', value: successOf },
  p50: { title: 'p50', kind: 'at', better: 'less', value: ({ traffic }) => traffic.latency_ms?.p50 },
  memory: { title: 'Memory of the API', kind: 'above', better: 'less', value: ({ probes }) => probes.api.rss_bytes },
  'postgres-cpu': {
    title: 'CPU of Postgres per row',
    short: "Postgres' CPU us per row",
    kind: 'below',
    better: 'less',
    of: GROWTH,
    value: ({ probes, traffic, load }) =>
      (1e6 * Number(probes.postgres?.cpu_core_ratio) * load.duration_s) / traffic.ok,
  },
  wal: {
    title: 'Write-ahead log per row',
    short: 'WAL bytes per row',
    kind: 'below',
    better: 'less',
    of: GROWTH,
    value: ({ probes, traffic }) => Number(probes.postgres?.wal_bytes) / traffic.ok,
  },
}

/**
 * Analyses the trials of a matrix. Pure.
 * @typedef {ReturnType<typeof analyseMatrix>} TuneFindings
 * @typedef {TuneFindings['responses'][number]} ResponseFindings
 * @param {TunePlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} [notApplied]
 */
export function analyseMatrix(plan, records, notApplied = []) {
  const settled = settledPlan(plan, records, notApplied)
  const isKnown = settled !== null && anchorCapacity(settled, records) !== null
  const { preset, anchor, blocks, knobs } = settled ?? plan
  const responses = responsesOf({ knobs }, records)
  const { levels, choices } = recommendationOf({ knobs }, records)
  const searched = searchedOf(plan, records)
  const proof = searched?.elasticities && { elasticities: searched.elasticities }
  const needs = preset === 'limits' ? needsOf(plan, records) : null
  const by_load = effectsByLoad(knobs, records)
  return {
    problem: problemOf(settled, records),
    kept: {
      ...(isKnown ? { recommended: levels, choices } : { recommended: null, choices: [] }),
      ...(needs && { needs }),
      ...proof,
    },
    preset,
    anchor: shownCell(plan, anchor),
    blocks,
    capacity_rps: isKnown ? anchorCapacity(settled, records) : null,
    searched,
    plateau_rps: needs && plan.capacity_rps === null ? Math.round(needs.capacity_rps) : null,
    fixed: preset === 'limits' ? SERVICE : onlyLevels(knobs),
    undosed: undosedTexts(records),
    choices,
    finals: (isKnown ? finalistsOf(settled, records) : []).map((cell) => {
      return { cell, ...capacityOf('final', cell, plan, records) }
    }),
    responses: responses.map(({ value, observations, of, ...response }) => {
      return { ...response, interactions: interactions(observations, knobs, response.noise) }
    }),
    cells: settled ? cellsOf(settled, records, responses) : [],
    by_load,
    reasons: needs ? reasonsOf(needs, plan.connections[0], poolOf(needs, knobs, by_load, responses)) : {},
  }
}

/**
 * Pool sizes that do the same in every measure that clients see; null if there are none.
 * @param {Needs} needs @param {TunePlan['knobs']} knobs @param {LevelByLoad[]} by_load @param {ReturnType<typeof responsesOf>} responses
 */
function poolOf({ busy }, knobs, by_load, responses) {
  const knob = knobs.find(({ name }) => name === 'POOL_MAX')
  if (!knob) return null
  const isOfPool = (/** @type {{ name: string }} */ { name }) => name === knob.name
  const seen = by_load.filter(isOfPool).flatMap(({ loads }) => loads.flatMap(({ effects }) => effects))
  const compared = responses.filter(({ name }) => ['goodput', 'p50'].includes(name))
  return enoughOf(knob, busy, [...seen, ...compared.flatMap(({ effects }) => effects.filter(isOfPool))])
}

/** Knobs with a single level, which all cells share. @param {TunePlan['knobs']} knobs @returns {Cell} */
function onlyLevels(knobs) {
  return Object.fromEntries(knobs.flatMap(({ name, levels }) => (levels.length === 1 ? [[name, levels[0]]] : [])))
}

/** The anchor's limit and its proof, and its capacity if it was searched for; null if neither. @param {TunePlan} plan @param {TrialRecord[]} records */
function searchedOf(plan, records) {
  if (plan.preset !== 'limits')
    return plan.capacity_rps === null ? capacityOf('anchor', plan.anchor, plan, records) : null
  const dosed = records.filter(({ at }) => at.phase === 'proof')
  return dosed.length > 0 ? { capacity: null, ...proven(limitOfRun(dosed), records) } : null
}

/** A cell without the settings that all cells share. @param {Pick<TunePlan, 'preset'>} plan @param {Cell} cell @returns {Cell} */
function shownCell({ preset }, cell) {
  if (preset !== 'limits') return cell
  return Object.fromEntries(Object.entries(cell).filter(([name]) => !(name in SERVICE)))
}

/**
 * Medians of each cell, NaN if nothing was measured, and its ratios to the anchor, one for each response.
 * @param {TunePlan} plan @param {TrialRecord[]} records @param {ReturnType<typeof responsesOf>} responses
 */
function cellsOf({ preset, cells, anchor }, records, responses) {
  const trials = groupBy(trialsAt(records), ({ cell }) => cellName(cell))
  return cells.map((cell) => {
    const own = trials.get(cellName(cell)) ?? []
    const medianOf = (/** @type {string} */ kind, /** @type {ValueOf} */ value) => {
      return median(trialsAt(own, { kind }).map((record) => value(record)))
    }
    const success = (/** @type {string} */ kind) => medianOf(kind, ({ traffic }) => traffic.success_ratio)
    const costs = responses.filter(({ of }) => of)
    return {
      cell: shownCell({ preset }, cell),
      is_anchor: isSameCell(cell, anchor),
      success_ratio: { below: success('below'), at: success('at'), above: success('above') },
      p99_ms: medianOf('at', ({ traffic }) => traffic.latency_ms?.p99),
      goodput_rps: medianOf('above', ({ traffic }) => traffic.goodput_rps),
      cpu_us: medianOf('below', ({ probes }) => probes.api.cpu_us_per_request),
      costs: costs.map(({ short, kind, value }) => ({ short, figure: medianOf(kind, value) })),
      ratios: responses.map(({ observations, noise }) => ratioOf(observations, cell, anchor, noise)),
    }
  })
}

/** @param {TunePlan | null} plan null if its first trials failed @param {TrialRecord[]} records */
function problemOf(plan, records) {
  if (!plan) return `the first trials, which find the levels, failed: ${lastReason(records)}`
  if (anchorCapacity(plan, records) === null) {
    return `the anchor (${cellName(plan.anchor)}) has no capacity: ${lastReason(records)}`
  }
  const measured = records.filter(({ at }) => at.phase === 'block')
  if (measured.some(isValid)) return null
  return measured.length === 0 ? 'no cell was measured' : `no trial of a cell was valid: ${lastReason(measured)}`
}

/** The reason why a search found nothing. @param {TrialRecord[]} records */
export function lastReason(records) {
  return records.at(-1)?.outcome.because ?? 'its knobs could not be applied'
}

/**
 * Recommends the level of each knob with the highest goodput; on a tie, with the lowest p99 beyond the anchor's capacity, unless fewer
 * requests may succeed; on a further tie, with the least CPU; if all are ties, or too few pairs tell, the reference. Never recommends a
 * level that costs something else, such as durability or a log. Pure.
 * @param {Pick<TunePlan, 'knobs'>} plan @param {TrialRecord[]} records
 */
export function recommendationOf(plan, records) {
  const all = responsesOf(plan, records)
  const known = all.filter(({ decides }) => decides)
  // Six pairs leave even a large loss undecided if one of them differs.
  const isWorse = (/** @type {{ verdict: string, ratio: number }} */ { verdict, ratio }) => {
    return verdict === 'worse' || ratio < LEAST_KEPT
  }
  const kept = all.flatMap(({ name, effects }) => (['success', 'goodput'].includes(name) ? effects : []))
  const isLosing = (/** @type {string} */ name, /** @type {string | number} */ level) => {
    return kept.some((effect) => effect.name === name && effect.level === level && isWorse(effect))
  }
  const choices = plan.knobs.map(({ name, levels }) => {
    /** by: the response in which the level is better; null for the reference */
    const reference = { name, level: levels[0], by: null, effect: null }
    if (!KNOBS[name].advised) return reference
    let candidates = levels.slice(1)
    for (const { name: by, better, effects } of known) {
      // Only a higher goodput is worth fewer successes.
      if (by !== 'goodput') candidates = candidates.filter((level) => !isLosing(name, level))
      const own = effects.filter((effect) => effect.name === name && candidates.includes(effect.level))
      const gainOf = (/** @type {{ ratio: number }} */ { ratio }) => (better === 'more' ? ratio : 1 / ratio)
      const gains = own.filter((effect) => effect.verdict === 'better' && gainOf(effect) >= LEAST_GAIN)
      const [best] = gains.sort((a, b) => gainOf(b) - gainOf(a))
      if (best) return { name, level: best.level, by, effect: best }
      // With too few pairs, a level may be far worse.
      candidates = own.filter(({ verdict }) => verdict === 'tied' || verdict === 'better').map(({ level }) => level)
    }
    return reference
  })
  return { levels: Object.fromEntries(choices.map(({ name, level }) => [name, level])), choices }
}

/** The capacity of which the rates of a matrix are shares. @param {TunePlan} plan @param {TrialRecord[]} records */
export function anchorCapacity(plan, records) {
  return plan.capacity_rps ?? lowestOf('anchor', plan.anchor, plan, records)
}

/** The best cell and the anchor, or none if the anchor is the best. @param {TunePlan} plan @param {TrialRecord[]} records */
export function finalistsOf(plan, records) {
  const { levels: best } = recommendationOf(plan, records)
  if (!plan.searches) return []
  return isSameCell(best, plan.anchor) ? [] : [best, plan.anchor]
}

/** The effects of all knobs on each response. @param {Pick<TunePlan, 'knobs'>} plan @param {TrialRecord[]} records */
function responsesOf({ knobs }, records) {
  const asked = Object.entries(RESPONSES).filter(([, { of }]) => !of || knobs.some(({ name }) => of.includes(name)))
  return asked.map(([name, { title, short = name, ...response }]) => {
    const load = LOADS[response.kind]
    const observations = observationsOf(trialsAt(records, { kind: response.kind }), response.value)
    const noise = noiseOf(observations)
    const effects = knobs.flatMap((knob) =>
      mainEffects(observations, knob, noise).map((effect) => {
        return { name: knob.name, reference: knob.levels[0], ...effect, verdict: verdictOf(effect, response.better) }
      }),
    )
    return { name, title: title + load.title, short: short + load.short, ...response, observations, noise, effects }
  })
}

/** @param {Effect} effect @param {'more' | 'less'} better */
function verdictOf({ tied, ratio, high }, better) {
  if (!Number.isFinite(high)) return 'too few pairs'
  if (tied) return 'tied'
  return ratio > 1 === (better === 'more') ? 'better' : 'worse'
}
