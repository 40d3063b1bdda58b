import { drawn, heading, paragraph, table, titled } from '../../../load/report/blocks.js'
import { wholePercent } from '../../../load/report/format.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Picture, Series, Xy } from '../../../load/report/picture.js'
 * @import { ShareFigures } from './figures.js'
 * @import { BalancePlan } from './steps.js'
 */

/** Which endpoint got how many of the requests, in all. @param {ShareFigures[]} all @returns {Block[]} */
export function shareBlocks(all) {
  const shares = all.filter(({ part }) => part === 'strategies')
  const names = shares[0]?.names ?? []
  const rows = names.map((name, i) => [name, ...shares.map(({ whole }) => wholePercent(whole[i]))])
  return titled('**Share of the requests per endpoint**', ['endpoint', ...shares.map(({ strategy }) => strategy)], rows)
}

/** The same over the time of a trial, a table for each strategy. @param {BalancePlan} plan @param {ShareFigures[]} shares @returns {Block[]} */
export function overTimeBlocks(plan, shares) {
  return /** @type {const} */ (['strategies', 'crowded', 'failing']).flatMap((part) => {
    const { duration_s } = plan.sizes[part]
    const { from_s, to_s } = plan.fails[part]
    const own = shares.filter((one) => one.part === part)
    if (own.length === 0) return []
    const pictures =
      part === 'failing'
        ? failingPicture(plan, own)
        : part === 'strategies'
          ? own.map((one) => sharesPicture(plan, one))
          : []
    return [
      heading(`Shares over time: ${part}`, { detail: true }),
      ...pictures.map(drawn),
      paragraph(`In all blocks together; the endpoint that fails does so from second ${from_s} to ${to_s}.`, {
        detail: true,
      }),
      ...own.map(({ strategy, names, columns }) => {
        const starts = columns[0].map((_, i) => `from ${((i * duration_s) / columns[0].length).toFixed(1)} s`)
        const rows = names.map((name, i) => [name, ...columns[i].map(wholePercent)])
        return table([strategy, ...starts], rows, { detail: true })
      }),
    ]
  })
}

/** @param {BalancePlan} plan @param {ShareFigures} shares @returns {Picture} */
function sharesPicture(plan, { strategy, names, points }) {
  const { duration_s } = plan.sizes.strategies
  const curves = names.map((name, i) => curve(name, points[i], duration_s))
  return {
    name: `shares-${strategy}`,
    title: `Shares over time: ${strategy}`,
    about: 'The share of the requests that each endpoint got, in all blocks together.',
    form: overTime(plan, 'strategies', curves, 'one fails'),
  }
}

/** @param {BalancePlan} plan @param {ShareFigures[]} shares @returns {Picture[]} */
function failingPicture(plan, shares) {
  const { duration_s } = plan.sizes.failing
  const curves = shares.flatMap(({ strategy, names, points }) => {
    const own = points[names.indexOf('failing')]
    return own ? curve(strategy, own, duration_s) : []
  })
  if (curves.length === 0) return []
  return [
    {
      name: 'shares-failing',
      title: 'The endpoint that fails, over time',
      about: 'The share of the requests that it got under each strategy, in all blocks together.',
      form: overTime(plan, 'failing', curves, 'it fails'),
    },
  ]
}

/** @param {string} name @param {number[]} shares in slices of a trial @param {number} duration_s @returns {Series} */
function curve(name, shares, duration_s) {
  const middle_s = (/** @type {number} */ slice) => ((slice + 0.5) * duration_s) / shares.length
  return { name, points: shares.map((share, slice) => [middle_s(slice), share]), as: 'line' }
}

/** @param {BalancePlan} plan @param {'strategies' | 'failing'} part @param {Series[]} series @param {string} label @returns {Xy} */
function overTime({ sizes, fails }, part, series, label) {
  const { from_s, to_s } = fails[part]
  return {
    kind: 'xy',
    x: { title: 'seconds', unit: 's', max: sizes[part].duration_s },
    y: { title: 'share of the requests', unit: 'share' },
    series,
    marks: to_s > from_s ? [{ axis: 'x', from: from_s, to: to_s, label }] : [],
  }
}
