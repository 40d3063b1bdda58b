import { performance } from 'node:perf_hooks'
import { admit, affordableRefusals, serviceRate } from './admission.js'

/** @import { Limits } from './admission.js' */

/** Window long enough to include some answers, yet short compared with any wait worth limiting. */
const WINDOW_MS = 50

/** The first window is longer, since a new service is still connecting and compiling. */
const FIRST_WINDOW_MS = 500

/** Decides whether to admit each request. @param {{ waiting: () => number, limits: Limits }} parts waiting: requests queued for the database */
export function createGate({ waiting, limits }) {
  const signals = { waiting: 0, rate_rps: Number.POSITIVE_INFINITY, loop_delay_ms: 0, refusals: 0 }
  const shed = { queue_requests: 0, queue_ms: 0, loop_delay_ms: 0 }
  let done = 0
  let handled = 0
  let alwaysBusy = false
  let windowStart_ms = performance.now()
  let tick_ms = windowStart_ms
  let lastDelay_ms = 0
  let loop = performance.eventLoopUtilization()

  setInterval(() => {
    const now_ms = performance.now()
    // A single stall is over once we detect it, and refusing the requests it delayed would not help, so a delay counts only
    // if it occurs twice in a row.
    const delay_ms = Math.max(0, now_ms - tick_ms - WINDOW_MS)
    signals.loop_delay_ms = Math.min(delay_ms, lastDelay_ms)
    lastDelay_ms = delay_ms
    const { utilization } = performance.eventLoopUtilization(loop)
    signals.refusals = affordableRefusals({ seconds: (now_ms - tick_ms) / 1000, utilization, handled })
    handled = 0
    tick_ms = now_ms
    loop = performance.eventLoopUtilization()

    const isFirst = signals.rate_rps === Number.POSITIVE_INFINITY
    if (isFirst && alwaysBusy && now_ms - windowStart_ms < FIRST_WINDOW_MS) return
    const seconds = (now_ms - windowStart_ms) / 1000
    signals.rate_rps = serviceRate(signals.rate_rps, { done, seconds, alwaysBusy })
    windowStart_ms = now_ms
    done = 0
    alwaysBusy = waiting() > 0
  }, WINDOW_MS).unref()

  return {
    shed,
    signals: () => ({ ...signals, waiting: waiting() }),

    /** Called when a request arrives. Returns true if it is admitted. */
    lets() {
      signals.waiting = waiting()
      if (signals.waiting === 0) alwaysBusy = false
      const limit = admit(signals, limits)
      if (limit === null) return true
      signals.refusals--
      handled++
      shed[limit]++
      return false
    },

    /** Called when the database work of an admitted request is done. */
    served() {
      done++
      handled++
      if (alwaysBusy && waiting() === 0) alwaysBusy = false
    },
  }
}

/** @typedef {ReturnType<typeof createGate>} Gate */
