/** Shortest time between two looks: each takes a connection for as long as it lasts. */
const INTERVAL_MS = 100

/** How long the shortest counts: the way may have become longer since, after a failover for one. */
const WINDOW_MS = 10_000

/**
 * The time of a round trip to the database. A busy core makes some of them longer, on either side, so the shortest of the last
 * seconds is nearest to the truth.
 *
 * @param {() => Promise<number>} measure in ms
 *
 * @typedef {ReturnType<typeof createRoundTrip>} RoundTrip
 */
export function createRoundTrip(measure) {
  let isMeasuring = false
  let next_ms = 0
  let windowEnd_ms = 0
  let [before_ms, now_ms] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]

  return {
    /** Of the last ten to twenty seconds with statements; Infinity: none is known. */
    shortest_ms: () => Math.min(before_ms, now_ms),

    /** Called after each statement, so that an idle service asks nothing. */
    sample() {
      const at_ms = performance.now()
      if (isMeasuring || at_ms < next_ms) return
      isMeasuring = true
      if (at_ms >= windowEnd_ms) {
        windowEnd_ms = at_ms + WINDOW_MS
        before_ms = now_ms
        now_ms = Number.POSITIVE_INFINITY
      }
      measure()
        .then((took_ms) => {
          now_ms = Math.min(now_ms, took_ms)
        })
        .catch(() => {})
        .finally(() => {
          isMeasuring = false
          next_ms = performance.now() + INTERVAL_MS
        })
    },
  }
}
