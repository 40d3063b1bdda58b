/** Minimum interval between measurements: each occupies a connection. */
const INTERVAL_MS = 100

/** Length of a window: older minima are dropped, since the route may have become longer, for example after a failover. */
const WINDOW_MS = 10_000

/**
 * Estimates the round-trip time to the database. A busy core on either side lengthens some measurements, so the shortest recent
 * one is closest to the truth.
 * @param {() => Promise<number>} measure resolves to a round-trip time in ms
 * @typedef {ReturnType<typeof createRoundTrip>} RoundTrip
 */
export function createRoundTrip(measure) {
  let isMeasuring = false
  let next_ms = 0
  let windowEnd_ms = 0
  let [before_ms, now_ms] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]

  return {
    /** Minimum over the last 10 to 20 s with statements; Infinity if unknown. */
    shortest_ms: () => Math.min(before_ms, now_ms),

    /** Called after each statement, so that an idle service sends no measurements. */
    sample() {
      const at_ms = performance.now()
      if (isMeasuring || at_ms < next_ms) return
      isMeasuring = true
      if (at_ms >= windowEnd_ms) {
        windowEnd_ms = at_ms + WINDOW_MS
        before_ms = now_ms
        now_ms = Number.POSITIVE_INFINITY
      }
      const end = (took_ms = Number.POSITIVE_INFINITY) => {
        now_ms = Math.min(now_ms, took_ms)
        isMeasuring = false
        next_ms = performance.now() + INTERVAL_MS
      }
      measure().then(end, () => end())
    },
  }
}
