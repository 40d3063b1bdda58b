/**
 * Counts of the endpoints in a trial, by bin; the endpoint named `failing` fails from from_s to to_s.
 * @typedef {{ requests: number[], errors: number[], queued?: number[] }} Bins
 * @typedef {{ bin_ms: number, names: string[], endpoints: Bins[], from_s: number, to_s: number }} Counts
 */

/** Window over which an endpoint's share shows whether it is in use. */
const LOOK_MS = 500

/** Shares relative to an even one: below the first, an endpoint has been dropped; from the second on, it is back. */
const LEFT_RATIO = 0.2
const BACK_RATIO = 0.5

/** Share of the requests, by endpoint. @param {Counts[]} trials of the same endpoints */
export function sharesOf(trials) {
  const [{ names }] = trials
  const counts = names.map((_, i) => sumOf(trials.flatMap(({ endpoints }) => endpoints[i].requests)))
  return Object.fromEntries(counts.map((count, i) => [names[i], count / sumOf(counts)]))
}

/** Share of the requests that found every slot of their endpoint taken and had to wait. @param {Counts[]} trials */
export function queuedRatio(trials) {
  const all = trials.flatMap(({ endpoints }) => endpoints)
  return sumOf(all.flatMap(({ queued = [] }) => queued)) / sumOf(all.flatMap(({ requests }) => requests))
}

/**
 * Time for which the failing endpoint stays in use, and time until it is in use again after its recovery; null: longer than the
 * trial shows. It is dropped at the first bin from which, while it fails, it gets less than a fifth of an even share in every half
 * second. It is back when a half second begins in which it gets half of an even share.
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

/** @param {number} from @param {number} to inclusive */
function range(from, to) {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
}

/** @param {number[]} counts */
function sumOf(counts) {
  return counts.reduce((sum, count) => sum + count, 0)
}
