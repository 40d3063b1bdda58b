import { cellName, isSameCell } from '../../../load/report/format.js'
import { capacityOf } from '../../stats/capacity-of.js'
import { groupBy } from '../../stats/design.js'
import { interactions, ratioOf } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'
import { median } from '../../stats/ranks.js'
import { anchorCapacity, finalistsOf } from './design.js'
import { measured, RESPONSES, recommendationOf } from './responses.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { TunePlan } from './design.js'
 * @import { Choice, Response } from './responses.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

/** Share of what was offered that counts as all of it: the rest is lost at the end of the trial. */
const ALL_RATIO = 0.98

/**
 * What a matrix shows. Pure.
 *
 * @typedef {ReturnType<typeof analyseMatrix>} TuneFindings
 * @typedef {TuneFindings['responses'][number]} ResponseFindings
 * @typedef {TuneFindings['cells'][number]} CellFindings
 *
 * @param {TunePlan} plan
 * @param {TrialRecord[]} records
 */
export function analyseMatrix(plan, records) {
  const { preset, anchor, blocks } = plan
  const capacity_rps = anchorCapacity(plan, records)
  const responses = measured(plan, records).map(({ value, ...response }) => ({
    ...response,
    interactions: interactions(response.observations, plan.knobs, response.noise),
  }))
  const { levels, choices } = recommendationOf(plan, records)
  const isKnown = capacity_rps !== null
  return {
    problem: problemOf(plan, records),
    kept: isKnown ? { recommended: levels, choices } : { recommended: null, choices: [] },
    preset,
    anchor,
    blocks,
    capacity_rps,
    searched: plan.capacity_rps === null ? capacityOf('anchor', anchor, plan, records) : null,
    recommended: isKnown ? levels : null,
    choices: choices.map((choice) => ({ ...choice, at_least: tookAll(choice, records) })),
    finals: (isKnown ? finalistsOf(plan, records) : []).map((cell) => {
      return { cell, ...capacityOf('final', cell, plan, records) }
    }),
    responses,
    cells: cellsOf(plan, records, responses),
  }
}

/** Whether a level got through whatever was offered, so that its gain is a lower bound. @param {Choice} choice @param {TrialRecord[]} records */
function tookAll({ name, level, by }, records) {
  const own = trialsAt(records, { kind: 'above' }).filter(({ cell }) => cell?.[name] === level)
  return (
    by === 'goodput' && median(own.map(({ traffic, load }) => traffic.goodput_rps / Number(load.rate_rps))) >= ALL_RATIO
  )
}

/**
 * Medians of each cell, NaN where nothing was measured, and its ratios to the anchor.
 *
 * @param {TunePlan} plan
 * @param {TrialRecord[]} records
 * @param {Pick<ReturnType<typeof measured>[number], 'name' | 'observations' | 'noise'>[]} responses
 */
function cellsOf({ cells, anchor }, records, responses) {
  const trials = groupBy(trialsAt(records), ({ cell }) => cellName(cell))
  const observed = responses.map(({ name, observations, noise }) => {
    return { name, noise, byCell: groupBy(observations, ({ cell }) => cellName(cell)) }
  })
  return cells.map((cell) => {
    const own = trials.get(cellName(cell)) ?? []
    const of = (/** @type {string} */ kind, /** @type {Response['value']} */ value) => {
      return median(own.filter(({ at }) => at.kind === kind).map((record) => value(record) ?? Number.NaN))
    }
    const success = (/** @type {string} */ kind) => of(kind, ({ traffic }) => traffic.success_ratio)
    const ratios = observed.map(({ name, noise, byCell }) => {
      const both = [cell, anchor].flatMap((one) => byCell.get(cellName(one)) ?? [])
      return [name, ratioOf(both, cell, anchor, noise)]
    })
    return {
      cell,
      is_anchor: isSameCell(cell, anchor),
      is_measured: own.length > 0,
      success_ratio: { below: success('below'), at: success('at'), above: success('above') },
      p99_ms: of('at', ({ traffic }) => traffic.latency_ms?.p99),
      ok_p99_ms: of('at', ({ traffic }) => traffic.ok_latency_ms?.p99),
      goodput_rps: of('above', RESPONSES.goodput.value),
      cpu_us: of('below', RESPONSES.cpu.value),
      ratios: /** @type {Record<string, Effect>} */ (Object.fromEntries(ratios)),
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

/** @param {TrialRecord[]} records */
export function lastReason(records) {
  return records.at(-1)?.outcome.because ?? 'it could not be had as its knobs want it'
}
