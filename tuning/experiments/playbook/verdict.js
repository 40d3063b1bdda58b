import { levelsOf } from '../../stats/design.js'
import { ratioOf } from '../../stats/effects.js'
import { MEASURES } from './measures.js'
import { cellsOf, countsOf, experimentOf } from './steps.js'

/**
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Effect } from '../../stats/effects.js'
 * @import { Claim } from './claims.js'
 */

/**
 * What the trials say about a claim. Pure.
 *
 * Reproduced: the interval leaves 1 on the side that was claimed, and the typical ratio is an effect of interest; for
 * `same`, the whole interval is too small to be one. Refuted: the whole interval is against it. Else undecided.
 *
 * @param {Claim} claim
 * @param {TrialRecord[]} records
 * @returns {Result}
 *
 * @typedef {object} Result
 * @property {Claim} claim
 * @property {Effect} effect of the second cell, as a ratio to the first
 * @property {number[][]} values of both cells
 * @property {'reproduced' | 'refuted' | 'undecided' | 'not measured'} verdict
 */
export function resultOf(claim, records) {
  const [reference, other] = cellsOf(claim.experiment)
  const observations = records.flatMap((record) => {
    if (experimentOf(record) !== claim.experiment || !countsOf(claim.experiment, record)) return []
    const value = MEASURES[claim.measure].value(record)
    const cell = String(record.cell)
    const block = Number(record.experiment.split('/')[1])
    return value === undefined || !(value > 0) ? [] : [{ block, cell, levels: levelsOf(cell), value }]
  })
  // There is no anchor here: the interval alone decides.
  const effect = ratioOf(observations, other, reference, { ratio: 1, deviation: 0, pairs: 0 })
  const values = [reference, other].map((name) =>
    observations.filter(({ cell }) => cell === name).map(({ value }) => value),
  )
  return { claim, effect, values, verdict: verdictOf(claim, effect) }
}

/**
 * @param {Pick<Claim, 'expect' | 'least_ratio'>} claim
 * @param {Pick<Effect, 'ratio' | 'low' | 'high' | 'pairs'>} effect
 * @returns {Result['verdict']}
 */
export function verdictOf({ expect, least_ratio }, { ratio, low, high, pairs }) {
  if (pairs === 0) return 'not measured'
  if (!Number.isFinite(high)) return 'undecided'
  if (expect === 'less') {
    return verdictOf({ expect: 'more', least_ratio }, { ratio: 1 / ratio, low: 1 / high, high: 1 / low, pairs })
  }
  if (expect === 'same') {
    if (low >= 1 / least_ratio && high <= least_ratio) return 'reproduced'
    return low > least_ratio || high < 1 / least_ratio ? 'refuted' : 'undecided'
  }
  if (low > 1 && ratio >= least_ratio) return 'reproduced'
  return high < least_ratio ? 'refuted' : 'undecided'
}
