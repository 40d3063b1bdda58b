import { drawn, heading, paragraph, table, titled } from '../../../load/report/blocks.js'
import { wholePercent } from '../../../load/report/format.js'
import { SHARED } from './figures.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Picture, Xy } from '../../../load/report/picture.js'
 * @import { Figures } from './figures.js'
 * @import { BalancePlan } from './plan.js'
 */

/** @typedef {typeof SHARED[number]} Part */

/** The endpoints' shares of the requests, in all. @param {Figures['shares']} all @returns {Block[]} */
export function shareBlocks(all) {
  const shares = all.filter(({ part }) => part === 'strategies')
  const names = shares[0]?.names ?? []
  const rows = names.map((name, i) => [name, ...shares.map(({ whole }) => wholePercent(whole[i]))])
  return titled('**Share of the requests per endpoint**', ['endpoint', ...shares.map(({ strategy }) => strategy)], rows)
}

/** The same over the time of a trial. @param {BalancePlan} plan @param {Figures['shares']} all @returns {Block[]} */
export function overTimeBlocks(plan, all) {
  return SHARED.flatMap((part) => {
    const { duration_s } = plan.sizes[part]
    const { from_s, to_s } = plan.fails[part]
    const shares = all.filter((one) => one.part === part)
    if (shares.length === 0) return []
    return [
      heading(`Shares over time: ${part}`, { detail: true }),
      ...pictures(plan, part, shares),
      paragraph(`In all blocks together; the endpoint that fails does so from second ${from_s} to ${to_s}.`, {
        detail: true,
      }),
      ...shares.map(({ strategy, names, columns }) => {
        const starts = columns[0].map((_, i) => `from ${((i * duration_s) / columns[0].length).toFixed(1)} s`)
        const rows = names.map((name, i) => [name, ...columns[i].map(wholePercent)])
        return table([strategy, ...starts], rows, { detail: true })
      }),
    ]
  })
}

/** @param {BalancePlan} plan @param {Part} part @param {Figures['shares']} shares */
function pictures(plan, part, shares) {
  if (part === 'failing') {
    const curves = shares.map(({ strategy, names, points }) => ({
      name: strategy,
      shares: points[names.indexOf('failing')],
    }))
    const about = 'The share of the requests that it got under each strategy, in all blocks together.'
    const words = { name: 'shares-failing', title: 'The endpoint that fails, over time', about }
    return [picture(plan, part, words, 'it fails', curves)]
  }
  if (part === 'crowded') return []
  return shares.map(({ strategy, names, points }) => {
    const about = 'The share of the requests that each endpoint got, in all blocks together.'
    const words = { name: `shares-${strategy}`, title: `Shares over time: ${strategy}`, about }
    const curves = names.map((name, i) => ({ name, shares: points[i] }))
    return picture(plan, part, words, 'one fails', curves)
  })
}

/**
 * @param {BalancePlan} plan
 * @param {Part} part
 * @param {Pick<Picture, 'name' | 'title' | 'about'>} words
 * @param {string} label of the time in which an endpoint fails
 * @param {{ name: string, shares: number[] }[]} curves
 */
function picture({ sizes, fails }, part, words, label, curves) {
  const { duration_s } = sizes[part]
  const { from_s: from, to_s: to } = fails[part]
  /** @type {Xy} */
  const form = {
    kind: 'xy',
    x: { title: 'seconds', unit: 's', max: duration_s },
    y: { title: 'share of the requests', unit: 'share' },
    series: curves.map(({ name, shares }) => {
      const middle_s = (/** @type {number} */ slice) => ((slice + 0.5) * duration_s) / shares.length
      return { name, points: shares.map((share, slice) => [middle_s(slice), share]), as: 'line' }
    }),
    marks: to > from ? [{ axis: 'x', from, to, label }] : [],
  }
  return drawn({ ...words, form })
}
