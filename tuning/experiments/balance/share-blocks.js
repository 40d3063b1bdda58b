import { drawn, heading, paragraph, table, titled } from '../../../load/report/blocks.js'
import { wholePercent } from '../../../load/report/format.js'
import { xyPicture } from '../../../load/report/picture.js'
import { SHARED } from './figures.js'
import { requestsOf, sharesOf } from './shares.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Series } from '../../../load/report/picture.js'
 * @import { Figures } from './figures.js'
 * @import { BalancePlan } from './plan.js'
 */

/** Columns of a table over time. */
const COLUMNS = 6

/** Points of a curve over time: the more requests there were, the more can be told apart. */
const POINTS = { least: 6, most: 24, requests: 100 }

/** The endpoints' shares of the requests, in all. @param {BalancePlan} plan @param {Figures['shares']} all @returns {Block[]} */
export function shareBlocks({ sizes }, all) {
  const shares = all.filter(({ part }) => part === 'strategies')
  const columns = shares.map(({ counts }) => sharesOf(counts, { slices: 1, duration_s: sizes.strategies.duration_s }))
  const names = shares[0]?.counts[0].names ?? []
  const rows = names.map((name, i) => [name, ...columns.map((column) => wholePercent(column[i][0]))])
  return titled('**Share of the requests per endpoint**', ['endpoint', ...shares.map(({ strategy }) => strategy)], rows)
}

/** The same over the time of a trial. @param {BalancePlan} plan @param {Figures['shares']} all @returns {Block[]} */
export function overTimeBlocks(plan, all) {
  return SHARED.flatMap((part) => {
    const { duration_s } = plan.sizes[part]
    const { from_s, to_s } = plan.fails[part]
    const shares = all.filter((one) => one.part === part)
    if (shares.length === 0) return []
    const starts = Array.from({ length: COLUMNS }, (_, i) => `from ${((i * duration_s) / COLUMNS).toFixed(1)} s`)
    return [
      heading(`Shares over time: ${part}`, { detail: true }),
      ...pictures(plan, part, shares),
      paragraph(`All blocks together; one endpoint fails from second ${from_s} to ${to_s}.`),
      ...shares.map(({ strategy, counts }) => {
        const columns = sharesOf(counts, { slices: COLUMNS, duration_s })
        const rows = counts[0].names.map((name, i) => [name, ...columns[i].map(wholePercent)])
        return table([strategy, ...starts], rows)
      }),
    ]
  })
}

/** @param {BalancePlan} plan @param {typeof SHARED[number]} part @param {Figures['shares']} shares */
function pictures({ sizes, fails }, part, shares) {
  if (part === 'crowded') return []
  const { duration_s } = sizes[part]
  const { from_s: from, to_s: to } = fails[part]
  const curves = shares.map(({ strategy, counts }) => {
    const slices = Math.min(POINTS.most, Math.max(POINTS.least, Math.floor(requestsOf(counts) / POINTS.requests)))
    const endpoints = sharesOf(counts, { slices, duration_s }).map((own, i) => {
      const points = own.map((share, slice) => [((slice + 0.5) * duration_s) / slices, share])
      return /** @type {Series} */ ({ name: counts[0].names[i], points, as: 'line' })
    })
    return { strategy, endpoints }
  })
  /** @type {(name: string, title: string, about: string, series: Series[]) => Block} */
  const picture = (name, title, about, series) => {
    const x = { title: 'seconds', unit: /** @type {const} */ ('s'), max: duration_s }
    const y = { title: 'share of the requests', unit: /** @type {const} */ ('share') }
    return drawn(xyPicture(name, title, about, { x, y, series, marks: [{ axis: 'x', from, to, label: 'one fails' }] }))
  }
  if (part === 'failing') {
    const about = 'The share of the requests that it got under each strategy, all blocks together.'
    const series = curves.flatMap(({ strategy, endpoints }) => {
      return endpoints.filter(({ name }) => name === 'failing').map((own) => ({ ...own, name: strategy }))
    })
    return [picture('shares-failing', 'The endpoint that fails, over time', about, series)]
  }
  const about = 'The share of the requests that each endpoint got, all blocks together.'
  return curves.map(({ strategy, endpoints }) => {
    return picture(`shares-${strategy}`, `Shares over time: ${strategy}`, about, endpoints)
  })
}
