import { cellName, isSameCell } from '../../../load/report/format.js'
import { capacityOf } from '../../stats/capacity-of.js'
import { groupBy } from '../../stats/design.js'
import { interactions, ratioOf } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'
import { median } from '../../stats/ranks.js'
import { anchorCapacity, finalistsOf } from './design.js'
import { measured, recommendationOf } from './responses.js'

/**
 * @import { TunePlan } from './design.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

/** Share of what was offered that counts as all of it: the rest is lost at the end of the trial. */
const ALL_RATIO = 0.98

/**
 * What a matrix shows. Pure.
 *
 * @typedef {ReturnType<typeof analyseMatrix>} TuneFindings
 * @typedef {TuneFindings['responses'][number]} ResponseFindings
 *
 * @param {TunePlan} plan
 * @param {TrialRecord[]} records
 */
export function analyseMatrix(plan, records) {
  const { preset, anchor, blocks } = plan
  const capacity_rps = anchorCapacity(plan, records)
  const responses = measured(plan, records)
  const { levels, choices } = recommendationOf(plan, records)
  const isKnown = capacity_rps !== null
  const kept = isKnown ? { recommended: levels, choices } : { recommended: null, choices: [] }
  return {
    problem: problemOf(plan, records),
    kept,
    preset,
    anchor,
    blocks,
    capacity_rps,
    searched: plan.capacity_rps === null ? capacityOf('anchor', anchor, plan, records) : null,
    recommended: kept.recommended,
    choices: choices.map((choice) => ({ ...choice, at_least: choice.by === 'goodput' && tookAll(choice, records) })),
    finals: (isKnown ? finalistsOf(plan, records) : []).map((cell) => {
      return { cell, ...capacityOf('final', cell, plan, records) }
    }),
    responses: responses.map(({ value, ...response }) => {
      const { observations, noise } = response
      return { ...response, interactions: interactions(observations, plan.knobs, noise) }
    }),
    cells: cellsOf(plan, records, responses),
  }
}

/** Whether a level got through whatever was offered, so that its gain is a lower bound. @param {{ name: string, level: string | number }} choice @param {TrialRecord[]} records */
function tookAll({ name, level }, records) {
  const own = trialsAt(records, { kind: 'above' }).filter(({ cell }) => cell?.[name] === level)
  return median(own.map(({ traffic, load }) => traffic.goodput_rps / Number(load.rate_rps))) >= ALL_RATIO
}

/** Medians of each cell, NaN where nothing was measured, and its ratios to the anchor. @param {TunePlan} plan @param {TrialRecord[]} records @param {ReturnType<typeof measured>} responses */
function cellsOf({ cells, anchor }, records, responses) {
  const trials = groupBy(trialsAt(records), ({ cell }) => cellName(cell))
  const observed = responses.map(({ name, observations, noise }) => {
    return { name, noise, byCell: groupBy(observations, ({ cell }) => cellName(cell)) }
  })
  return cells.map((cell) => {
    const own = trials.get(cellName(cell)) ?? []
    const medianOf = (/** @type {string} */ kind, /** @type {(record: TrialRecord) => number | undefined} */ value) => {
      return median(own.filter(({ at }) => at.kind === kind).map((record) => value(record) ?? Number.NaN))
    }
    const success = (/** @type {string} */ kind) => medianOf(kind, ({ traffic }) => traffic.success_ratio)
    const ratios = observed.map(({ name, noise, byCell }) => {
      const both = [cell, anchor].flatMap((one) => byCell.get(cellName(one)) ?? [])
      return [name, ratioOf(both, cell, anchor, noise)]
    })
    return {
      cell,
      is_anchor: isSameCell(cell, anchor),
      is_measured: own.length > 0,
      success_ratio: { below: success('below'), at: success('at'), above: success('above') },
      p99_ms: medianOf('at', ({ traffic }) => traffic.latency_ms?.p99),
      ok_p99_ms: medianOf('at', ({ traffic }) => traffic.ok_latency_ms?.p99),
      goodput_rps: medianOf('above', ({ traffic }) => traffic.goodput_rps),
      cpu_us: medianOf('below', ({ probes }) => probes.api.cpu_us_per_request),
      ratios: /** @type {Record<string, ReturnType<typeof ratioOf>>} */ (Object.fromEntries(ratios)),
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
  return records.at(-1)?.outcome.because ?? 'it could not be had as its knobs want it'
}
