/**
 * A line on which things arrive later, and in order: two timers may fire in the wrong order by a millisecond.
 *
 * @returns {(delay_ms: number, arrive: () => void) => void}
 */
export function createLine() {
  /** @type {(() => void)[]} */
  const onTheWay = []
  let arrivesAt_ms = 0
  return (delay_ms, arrive) => {
    arrivesAt_ms = Math.max(arrivesAt_ms, performance.now() + delay_ms)
    onTheWay.push(arrive)
    // Node cuts off fractions, and nothing may arrive early.
    setTimeout(() => onTheWay.shift()?.(), Math.ceil(arrivesAt_ms - performance.now()))
  }
}
