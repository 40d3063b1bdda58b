import { drawn, heading, paragraph, table, titled } from '../../../load/report/blocks.js'
import { wholePercent } from '../../../load/report/format.js'
import { SHARED } from './figures.js'
import { requestsOf, sharesOf } from './shares.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Picture, Series } from '../../../load/report/picture.js'
 * @import { Figures } from './figures.js'
 * @import { BalancePlan } from './plan.js'
 * @import { Counts } from './shares.js'
 */

/** @typedef {typeof SHARED[number]} Part */

/** Columns of a table over time. */
const COLUMNS = 6

/** Points of a curve over time: the more requests there were, the more can be told apart. */
const POINTS = { least: 6, most: 24, requests: 100 }

/** The endpoints' shares of the requests, in all. @param {BalancePlan} plan @param {Figures['shares']} all @returns {Block[]} */
export function shareBlocks({ sizes }, all) {
  const shares = all.filter(({ part }) => part === 'strategies')
  const { duration_s } = sizes.strategies
  const columns = shares.map(({ counts }) => sharesOf(counts, { slices: 1, duration_s }))
  const rows = (shares[0]?.counts[0].names ?? []).map((name, i) => [
    name,
    ...columns.map((of) => wholePercent(of[i][0])),
  ])
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
      paragraph(`In all blocks together; the endpoint that fails does so from second ${from_s} to ${to_s}.`, {
        detail: true,
      }),
      ...shares.map(({ strategy, counts }) => {
        const columns = sharesOf(counts, { slices: COLUMNS, duration_s })
        const rows = counts[0].names.map((name, i) => [name, ...columns[i].map(wholePercent)])
        return table([strategy, ...starts], rows, { detail: true })
      }),
    ]
  })
}

/** @param {BalancePlan} plan @param {Part} part @param {Figures['shares']} shares */
function pictures(plan, part, shares) {
  if (part === 'crowded') return []
  const curves = shares.map(({ strategy, counts }) => {
    return { strategy, names: counts[0].names, points: curvesOf(counts, plan.sizes[part].duration_s) }
  })
  if (part === 'failing') {
    const series = curves.map(({ strategy, names, points }) => {
      return { name: strategy, points: points[names.indexOf('failing')] }
    })
    const about = 'The share of the requests that it got under each strategy, in all blocks together.'
    const words = { name: 'shares-failing', title: 'The endpoint that fails, over time', about }
    return [picture(plan, part, words, 'it fails', series)]
  }
  return curves.map(({ strategy, names, points }) => {
    const series = names.map((name, i) => ({ name, points: points[i] }))
    const about = 'The share of the requests that each endpoint got, in all blocks together.'
    const words = { name: `shares-${strategy}`, title: `Shares over time: ${strategy}`, about }
    return picture(plan, part, words, 'one fails', series)
  })
}

/** A curve for each endpoint. @param {Counts[]} counts @param {number} duration_s @returns {Series['points'][]} */
function curvesOf(counts, duration_s) {
  const slices = Math.min(POINTS.most, Math.max(POINTS.least, Math.floor(requestsOf(counts) / POINTS.requests)))
  return sharesOf(counts, { slices, duration_s }).map((own) => {
    return own.map((share, slice) => [((slice + 0.5) * duration_s) / slices, share])
  })
}

/**
 * @param {BalancePlan} plan @param {Part} part @param {Pick<Picture, 'name' | 'title' | 'about'>} words
 * @param {string} label of the time in which an endpoint fails @param {Omit<Series, 'as'>[]} series
 */
function picture({ sizes, fails }, part, words, label, series) {
  const { from_s: from, to_s: to } = fails[part]
  return drawn({
    ...words,
    form: {
      kind: 'xy',
      x: { title: 'seconds', unit: 's', max: sizes[part].duration_s },
      y: { title: 'share of the requests', unit: 'share' },
      series: series.map((one) => ({ ...one, as: 'line' })),
      marks: [{ axis: 'x', from, to, label }],
    },
  })
}
