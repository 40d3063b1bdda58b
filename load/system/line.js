/**
 * Node's timers count whole milliseconds from the start of an event loop turn, so that one may fire up to a millisecond early or late.
 * Waiting for another millisecond whenever one is early would lengthen a round trip through a proxy by most of a millisecond.
 */
const EARLY_MS = 0.5

/**
 * A delay line that preserves order: two plain timers, a millisecond apart, may fire in the wrong order. Delays are
 * accurate to half a millisecond either way, as far as this process gets CPU in time.
 * @param {{ now: () => number, setTimeout: (run: () => void, ms: number) => unknown }} [clock]
 * @returns {(delay_ms: number, arrive: () => void) => void}
 */
export function createLine(clock = { now: () => performance.now(), setTimeout }) {
  /** @type {(() => void)[]} */
  const onTheWay = []
  let last_ms = 0
  return (delay_ms, arrive) => {
    const arrivesAt_ms = Math.max(last_ms, clock.now() + delay_ms)
    last_ms = arrivesAt_ms
    onTheWay.push(arrive)
    wait()

    function wait() {
      const left_ms = arrivesAt_ms - clock.now()
      if (left_ms > EARLY_MS) clock.setTimeout(wait, left_ms)
      else onTheWay.shift()?.()
    }
  }
}
