import { NONE } from '../../../load/report/format.js'
import { table } from '../../stats/spread.js'
import { measuredIn } from './figures.js'
import { sharesOf } from './shares.js'
import { trialsOf } from './steps.js'

/** @import { BalancePlan, Records } from './steps.js' */

/** Columns of a table over time. */
const SLICES = 6

/**
 * Who got how many of the requests, in all.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 */
export function shareTable(plan, records) {
  const strategies = measuredIn('strategies', plan, records)
  if (strategies.length === 0) return ''
  const shares = strategies.map((strategy) => {
    const slices = sharesOf(countsOf(records, 'strategies', strategy), {
      slices: 1,
      duration_s: plan.sizes.strategies.duration_s,
    })
    return slices.map(([share]) => share)
  })
  const names = namesOf(records, 'strategies', strategies[0])
  const rows = names.map((name, i) => [name, ...shares.map((own) => shareText(own[i]))])
  return `**Share of the requests per endpoint**\n\n${table(['endpoint', ...strategies], rows)}`
}

/**
 * The same over the time of a trial, a table for each strategy.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 * @returns {string[]}
 */
export function overTimeTables(plan, records) {
  return /** @type {const} */ (['strategies', 'crowded', 'failing']).flatMap((part) => {
    const { duration_s } = plan.sizes[part]
    const { from_s, to_s } = plan.fails[part]
    const tables = measuredIn(part, plan, records).map((strategy) => {
      const shares = sharesOf(countsOf(records, part, strategy), { slices: SLICES, duration_s })
      const names = namesOf(records, part, strategy)
      const rows = names.map((name, i) => [name, ...shares[i].map(shareText)])
      const head = Array.from({ length: SLICES }, (_, i) => `from ${((i * duration_s) / SLICES).toFixed(1)} s`)
      return table([strategy, ...head], rows)
    })
    const about = `In all blocks together; the endpoint that fails does so from second ${from_s} to ${to_s}.`
    return tables.length > 0 ? [`## Shares over time: ${part}`, about, ...tables] : []
  })
}

/** @param {Records} records @param {'strategies' | 'crowded' | 'failing'} part @param {string} strategy */
function countsOf(records, part, strategy) {
  return trialsOf(records, part, strategy).map(({ probes }) => probes.target)
}

/** @param {Records} records @param {'strategies' | 'crowded' | 'failing'} part @param {string} strategy @returns {string[]} */
function namesOf(records, part, strategy) {
  return countsOf(records, part, strategy)[0].names
}

/** @param {number} share */
function shareText(share) {
  return Number.isNaN(share) ? NONE : `${(share * 100).toFixed(0)} %`
}
