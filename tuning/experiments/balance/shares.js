import { drawn, titled } from '../../../load/report/blocks.js'
import { wholePercent } from '../../../load/report/format.js'
import { xyPicture } from '../../../load/report/picture.js'

/**
 * @import { Series } from '../../../load/report/picture.js'
 * @import { BalancePlan } from './balance.js'
 * @import { Figures } from './figures.js'
 */

/**
 * What the endpoints counted in a trial, by bin; the endpoint named `failing` fails from from_s to to_s.
 * @typedef {{ requests: number[], errors: number[], queued?: number[] }} Bins
 * @typedef {{ bin_ms: number, names: string[], endpoints: Bins[], from_s: number, to_s: number }} Counts
 */

/** Time over which an endpoint's share tells whether it is in use. */
const LOOK_MS = 500

/** Relative to an even share: an endpoint that gets less has been left, one that gets this much is back. */
const LEFT_RATIO = 0.2
const BACK_RATIO = 0.5

/** Points of a curve over time. */
const SLICES = 24

/**
 * The share of the requests per endpoint, per slice of the trials; NaN where a slice has no requests at all.
 * @param {Counts[]} trials of the same endpoints @param {{ slices: number, duration_s: number }} options
 */
export function sharesOf(trials, { slices, duration_s }) {
  const sums = trials[0].names.map(() => Array(slices).fill(0))
  for (const { endpoints, bin_ms } of trials) {
    for (const [i, { requests }] of endpoints.entries()) {
      for (const [bin, count] of requests.entries()) {
        const slice = Math.floor((bin * bin_ms * slices) / (duration_s * 1000))
        if (slice < slices) sums[i][slice] += count
      }
    }
  }
  return sums.map((own) => own.map((count, slice) => count / sumOf(sums.map((counts) => counts[slice]))))
}

/** Share of the requests that found every slot of their endpoint taken and had to wait. @param {Counts[]} trials */
export function queuedRatio(trials) {
  const all = trials.flatMap(({ endpoints }) => endpoints)
  return sumOf(all.flatMap(({ queued = [] }) => queued)) / sumOf(all.flatMap(({ requests }) => requests))
}

/**
 * How long the failing endpoint keeps getting requests, and how long it gets none after it has recovered; null: longer than
 * can be seen. It has been left at the first bin from which, as long as it fails, it gets less than a fifth of an even share in
 * any half second; it is back when a half second begins in which it gets half of one.
 * @param {Counts} counts
 */
export function leavingOf({ bin_ms, names, endpoints, from_s, to_s }) {
  const own = endpoints[names.indexOf('failing')]
  const bins = Math.max(...endpoints.map(({ requests }) => requests.length))
  const window = LOOK_MS / bin_ms
  const isUsed = (/** @type {number} */ bin, /** @type {number} */ least) => {
    const [mine, ...all] = [own, ...endpoints].map(({ requests }) => sumOf(requests.slice(bin, bin + window)))
    return sumOf(all) > 0 && (mine * endpoints.length) / sumOf(all) >= least
  }
  const [from, to] = [from_s, to_s].map((s) => Math.round((s * 1000) / bin_ms))
  const seconds = (/** @type {number} */ binCount) => (binCount * bin_ms) / 1000
  const lastUsed = range(from, to - window).findLast((bin) => isUsed(bin, LEFT_RATIO))
  const isLeft = lastUsed !== to - window
  const back = range(to, bins - window).find((bin) => own.requests[bin] > 0 && isUsed(bin, BACK_RATIO))
  return {
    leave_s: isLeft ? seconds((lastUsed ?? from - 1) + 1 - from) : null,
    back_s: isLeft && back !== undefined ? seconds(back - to) : null,
    errors: sumOf(own.errors),
  }
}

/** @param {number} from @param {number} to included */
function range(from, to) {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
}

/** @param {number[]} counts */
function sumOf(counts) {
  return counts.reduce((sum, count) => sum + count, 0)
}

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
    const own = sharesOf(counts, { slices: SLICES, duration_s })[counts[0].names.indexOf('failing')]
    const points = own.map((share, slice) => [((slice + 0.5) * duration_s) / SLICES, share])
    return [/** @type {Series} */ ({ name: strategy, points, as: 'line' })]
  })
  if (series.length === 0) return []
  const about = 'The share of the requests that it got under each strategy, all blocks together.'
  const x = { title: 'seconds', unit: /** @type {const} */ ('s'), max: duration_s }
  const y = { title: 'share of the requests', unit: /** @type {const} */ ('share') }
  const marks = [{ axis: /** @type {const} */ ('x'), from, to, label: 'one fails' }]
  return [drawn(xyPicture('shares-failing', 'The endpoint that fails, over time', about, { x, y, series, marks }))]
}
