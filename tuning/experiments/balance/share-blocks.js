import { drawn, heading, titled } from '../../../load/report/blocks.js'
import { wholePercent } from '../../../load/report/format.js'
import { xyPicture } from '../../../load/report/picture.js'
import { requestsOf, sharesOf } from './shares.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Series } from '../../../load/report/picture.js'
 * @import { Figures } from './figures.js'
 * @import { BalancePlan } from './plan.js'
 * @import { Counts } from './shares.js'
 */

/** Points of a curve over time: the more requests there were, the more can be told apart. */
const POINTS = { least: 6, most: 24, requests: 100 }

/** The endpoints' shares of the requests, in all. @param {BalancePlan} plan @param {Figures['shares']} all */
export function shareBlocks({ sizes }, all) {
  const shares = all.filter(({ part }) => part === 'strategies')
  const columns = shares.map(({ counts }) => sharesOf(counts, { slices: 1, duration_s: sizes.strategies.duration_s }))
  const names = shares[0]?.counts[0].names ?? []
  const rows = names.map((name, i) => [name, ...columns.map((column) => wholePercent(column[i][0]))])
  return titled('**Share of the requests per endpoint**', ['endpoint', ...shares.map(({ strategy }) => strategy)], rows)
}

/** The same over the time of a trial. @param {BalancePlan} plan @param {Figures['shares']} shares */
export function overTimeBlocks({ sizes, fails }, shares) {
  const curves = shares.map(({ part, strategy, counts }) => {
    return { part, strategy, endpoints: curvesOf(counts, sizes[part].duration_s) }
  })
  const [uneven, failing] = ['strategies', 'failing'].map((name) => curves.filter(({ part }) => part === name))
  /** @type {(part: 'strategies' | 'failing', name: string, title: string, about: string, series: Series[]) => Block} */
  const picture = (part, name, title, about, series) => {
    const { from_s: from, to_s: to } = fails[part]
    const x = { title: 'seconds', unit: /** @type {const} */ ('s'), max: sizes[part].duration_s }
    const y = { title: 'share of the requests', unit: /** @type {const} */ ('share') }
    return drawn(xyPicture(name, title, about, { x, y, series, marks: [{ axis: 'x', from, to, label: 'one fails' }] }))
  }
  const own = 'The share of the requests that each endpoint got, all blocks together.'
  const pictures = uneven.map(({ strategy, endpoints }) => {
    return picture('strategies', `shares-${strategy}`, `Shares over time: ${strategy}`, own, endpoints)
  })
  if (failing.length > 0) {
    const series = failing.flatMap(({ strategy, endpoints }) => {
      return endpoints.filter(({ name }) => name === 'failing').map((curve) => ({ ...curve, name: strategy }))
    })
    const about = 'The share of the requests that it got under each strategy, all blocks together.'
    pictures.push(picture('failing', 'shares-failing', 'The endpoint that fails, over time', about, series))
  }
  return pictures.length > 0 ? [heading('Shares over time', { detail: true }), ...pictures] : []
}

/** A curve for each endpoint. @param {Counts[]} counts @param {number} duration_s @returns {Series[]} */
function curvesOf(counts, duration_s) {
  const slices = Math.min(POINTS.most, Math.max(POINTS.least, Math.floor(requestsOf(counts) / POINTS.requests)))
  return sharesOf(counts, { slices, duration_s }).map((own, i) => {
    const points = own.map((share, slice) => [((slice + 0.5) * duration_s) / slices, share])
    return /** @type {Series} */ ({ name: counts[0].names[i], points, as: 'line' })
  })
}
