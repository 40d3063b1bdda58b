import { drawn, titled } from '../../../load/report/blocks.js'
import { wholePercent } from '../../../load/report/format.js'
import { xyPicture } from '../../../load/report/picture.js'
import { requestsOf, sharesOf } from './shares.js'

/**
 * @import { Series } from '../../../load/report/picture.js'
 * @import { Figures } from './figures.js'
 * @import { BalancePlan } from './balance.js'
 */

/** Points of a curve over time: the more requests there were, the more can be told apart. */
const POINTS = { least: 6, most: 24, requests: 100 }

/** The endpoints' shares of the requests. @param {BalancePlan} plan @param {Figures['shares']} all */
export function shareBlocks({ sizes }, all) {
  const shares = all.filter(({ part }) => part === 'strategies')
  const columns = shares.map(({ counts }) => sharesOf(counts, { slices: 1, duration_s: sizes.strategies.duration_s }))
  const names = shares[0]?.counts[0].names ?? []
  const rows = names.map((name, i) => [name, ...columns.map((column) => wholePercent(column[i][0]))])
  return titled('**Share of the requests per endpoint**', ['endpoint', ...shares.map(({ strategy }) => strategy)], rows)
}

/** The share of the endpoint that fails, over time. @param {BalancePlan} plan @param {Figures['shares']} all */
export function failingPicture({ sizes, fails }, all) {
  const { duration_s } = sizes.failing
  const { from_s: from, to_s: to } = fails.failing
  const series = all.flatMap(({ part, strategy, counts }) => {
    if (part !== 'failing') return []
    const slices = Math.min(POINTS.most, Math.max(POINTS.least, Math.floor(requestsOf(counts) / POINTS.requests)))
    const own = sharesOf(counts, { slices, duration_s })[counts[0].names.indexOf('failing')]
    const points = own.map((share, slice) => [((slice + 0.5) * duration_s) / slices, share])
    return [/** @type {Series} */ ({ name: strategy, points, as: 'line' })]
  })
  if (series.length === 0) return []
  const about = 'The share of the requests that it got under each strategy, all blocks together.'
  const x = { title: 'seconds', unit: /** @type {const} */ ('s'), max: duration_s }
  const y = { title: 'share of the requests', unit: /** @type {const} */ ('share') }
  const marks = [{ axis: /** @type {const} */ ('x'), from, to, label: 'one fails' }]
  return [drawn(xyPicture('shares-failing', 'The endpoint that fails, over time', about, { x, y, series, marks }))]
}
