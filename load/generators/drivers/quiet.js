/** Silence after which a load counts as over, though requests are still in flight. It dilutes the shares of a trial of 2 s by 5 %. */
const PATIENCE_MS = 100

/**
 * Finds the end of a load. A request that is never answered ends only with its timeout; until then, everything is idle, which would
 * dilute every share of the time that probes measure. So the end is reported when no answer has come for a while, and again if one
 * comes after all: the last report counts. The patience doubles each time, so that answers that trickle in cause few reports.
 */
export class Quiet {
  #onEnd
  #patience_ms = PATIENCE_MS
  #answered = -1
  #since_ms = 0
  /** Number of answers at the last report. */
  #reported = -1

  /** @param {() => void} onEnd */
  constructor(onEnd) {
    this.#onEnd = onEnd
  }

  /** Call often once the schedule or the time of a load is over. @param {number} now_ms @param {number} answered number of answers so far */
  look(now_ms, answered) {
    if (answered !== this.#answered) {
      this.#answered = answered
      this.#since_ms = now_ms
    }
    if (this.#reported === answered || now_ms - this.#since_ms < this.#patience_ms) return
    this.#patience_ms *= 2
    this.end(answered)
  }

  /** Call when no request is in flight any more. @param {number} answered */
  end(answered) {
    if (this.#reported === answered) return
    this.#reported = answered
    this.#onEnd()
  }
}
