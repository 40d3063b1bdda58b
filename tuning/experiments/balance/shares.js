/**
 * How many requests each endpoint got in every bin of a trial, as the endpoints counted them.
 *
 * @typedef {object} Counts
 * @property {number} bin_ms
 * @property {string[]} names
 * @property {{ requests: number[], errors: number[], queued?: number[] }[]} endpoints
 * @property {number} from_s the failing endpoint fails from here
 * @property {number} to_s to here
 */

/** So long a time is looked at to say whether an endpoint is in use. */
const LOOK_MS = 500

/** Of an even share: with less it was left, with this much it is back. */
const LEFT_RATIO = 0.2
const BACK_RATIO = 0.5

/**
 * The share of the requests per endpoint, in slices of the trials.
 *
 * @param {Counts[]} trials
 * @param {{ slices: number, duration_s: number }} options
 * @returns {number[][]} per endpoint, per slice; NaN where a slice has no requests at all
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
  const totals = Array.from({ length: slices }, (_, slice) => sums.reduce((sum, own) => sum + own[slice], 0))
  return sums.map((own) => own.map((count, slice) => (totals[slice] === 0 ? Number.NaN : count / totals[slice])))
}

/** Of the requests, those that found every place of their endpoint taken and waited. @param {Counts[]} trials */
export function queuedRatio(trials) {
  const sum = (/** @type {'requests' | 'queued'} */ name) => {
    const counts = trials.flatMap(({ endpoints }) => endpoints.flatMap((own) => own[name] ?? []))
    return counts.reduce((total, count) => total + count, 0)
  }
  return sum('queued') / sum('requests')
}

/**
 * How long an endpoint that fails goes on getting requests, and how long one that is well again goes without. Left: from
 * now on, as long as it fails, it gets less than a fifth of an even share in any half second; back: in the half second that
 * begins now it gets half of one. Both to a bin.
 *
 * @param {Counts} counts
 * @param {number} endpoint the one that fails
 * @returns {{ leave_s: number | null, back_s: number | null, errors: number }} null: not within the trial; errors: its
 *   answers that were errors
 */
export function leavingOf({ bin_ms, endpoints, from_s, to_s }, endpoint) {
  const own = endpoints[endpoint]
  const bins = Math.max(...endpoints.map(({ requests }) => requests.length))
  const window = LOOK_MS / bin_ms
  const sumOf = (/** @type {number[]} */ counts, /** @type {number} */ bin) => {
    return counts.slice(bin, bin + window).reduce((sum, count) => sum + count, 0)
  }
  const ratioAt = (/** @type {number} */ bin) => {
    const all = endpoints.reduce((sum, { requests }) => sum + sumOf(requests, bin), 0)
    return all === 0 ? 0 : (sumOf(own.requests, bin) * endpoints.length) / all
  }
  const [from, to] = [from_s, to_s].map((s) => Math.round((s * 1000) / bin_ms))
  const seconds = (/** @type {number | null} */ bin, /** @type {number} */ since) => {
    return bin === null ? null : ((bin - since) * bin_ms) / 1000
  }
  const left = afterLast(from, to - window + 1, (bin) => ratioAt(bin) >= LEFT_RATIO)
  const back = first(to, bins - window + 1, (bin) => own.requests[bin] > 0 && ratioAt(bin) >= BACK_RATIO)
  return {
    leave_s: seconds(left, from),
    back_s: left === null ? null : seconds(back, to),
    errors: own.errors.reduce((sum, count) => sum + count, 0),
  }
}

/**
 * @param {number} from
 * @param {number} to
 * @param {(bin: number) => boolean} test
 * @returns {number | null} null: it holds to the end
 */
function afterLast(from, to, test) {
  for (let bin = to - 1; bin >= from; bin--) if (test(bin)) return bin === to - 1 ? null : bin + 1
  return from
}

/** @param {number} from @param {number} to @param {(bin: number) => boolean} test @returns {number | null} */
function first(from, to, test) {
  for (let bin = from; bin < to; bin++) if (test(bin)) return bin
  return null
}
