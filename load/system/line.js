/**
 * A delay line that preserves order: two plain timers, a millisecond apart, may fire in the wrong order.
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

    /** Rechecks the clock: Node's timers count whole milliseconds from the start of an event loop turn, and so may fire early. */
    function wait() {
      const left_ms = arrivesAt_ms - clock.now()
      if (left_ms > 0) clock.setTimeout(wait, left_ms)
      else onTheWay.shift()?.()
    }
  }
}
