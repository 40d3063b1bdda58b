/**
 * What the endpoints counted, by bin of a trial, in which the failing one fails from from_s to to_s.
 *
 * @typedef {{ requests: number[], errors: number[], queued?: number[] }} Bins
 * @typedef {{ bin_ms: number, names: string[], endpoints: Bins[], from_s: number, to_s: number }} Counts
 */

/** Time that is looked at to say whether an endpoint is in use. */
const LOOK_MS = 500

/** Of an even share: with less it was left, with this much it is back. */
const LEFT_RATIO = 0.2
const BACK_RATIO = 0.5

/**
 * The share of the requests per endpoint, per slice of the trials; NaN where a slice has no requests at all.
 *
 * @param {Counts[]} trials
 * @param {{ slices: number, duration_s: number }} options
 */
export function sharesOf(trials, { slices, duration_s }) {
  const sums = trials[0]?.names.map(() => Array(slices).fill(0)) ?? []
  for (const { endpoints, bin_ms } of trials) {
    for (const [i, { requests }] of endpoints.entries()) {
      for (const [bin, count] of requests.entries()) {
        const slice = Math.floor((bin * bin_ms * slices) / (duration_s * 1000))
        if (slice < slices) sums[i][slice] += count
      }
    }
  }
  const totals = Array.from({ length: slices }, (_, slice) => sumOf(sums.map((own) => own[slice])))
  return sums.map((own) => own.map((count, slice) => (totals[slice] === 0 ? Number.NaN : count / totals[slice])))
}

/** Of the requests, those that found every slot of their endpoint taken and waited. @param {Counts[]} trials */
export function queuedRatio(trials) {
  const endpoints = trials.flatMap((trial) => trial.endpoints)
  return sumOf(endpoints.flatMap(({ queued = [] }) => queued)) / sumOf(endpoints.flatMap(({ requests }) => requests))
}

/**
 * How long an endpoint that fails goes on getting requests, and how long one that is well again goes without; null: to the end
 * of what can be seen. Left: from now on, as long as it fails, it gets less than a fifth of an even share in any half second;
 * back: in the half second that begins now it gets half of one. Both to a bin.
 *
 * @param {Counts} counts
 * @param {number} endpoint the one that fails
 */
export function leavingOf({ bin_ms, endpoints, from_s, to_s }, endpoint) {
  const own = endpoints[endpoint]
  const bins = Math.max(...endpoints.map(({ requests }) => requests.length))
  const window = LOOK_MS / bin_ms
  const isUsed = (/** @type {number} */ bin, /** @type {number} */ least) => {
    const [all, mine] = [endpoints, [own]].map((some) => {
      return sumOf(some.flatMap(({ requests }) => requests.slice(bin, bin + window)))
    })
    return all > 0 && (mine * endpoints.length) / all >= least
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
