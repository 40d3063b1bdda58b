/** @import { Probe } from './index.js' */

/** Wait events and queues come and go within milliseconds: 10 looks a second. The page of the service costs it a millisecond. */
export const SAMPLE_MS = { api: 250, postgres: 100, kernel: 250, here: 250, generator: 1000, target: 1000 }

/** Samples again and again, never twice at once. @param {number} interval_ms @param {Probe | null} probe */
export function every(interval_ms, probe) {
  let sampling = Promise.resolve()
  let busy = false
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    // What cannot be looked at once is looked at the next time; a trial does not end by it.
    sampling = Promise.resolve(probe?.sample()).then(done, done)
  }, interval_ms)
  function done() {
    busy = false
  }
  return { stop: () => clearInterval(timer), idle: () => sampling }
}
