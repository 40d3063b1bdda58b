/**
 * A clock that moves only when a test moves it. Timers run in the order of their times; an interval starts anew when it has
 * run, as Node's do.
 * @param {{ late_ms?: () => number }} [options] late_ms: how long after its time a timer runs
 */
export function virtualClock({ late_ms = () => 0 } = {}) {
  /** @type {Map<number, { at_ms: number, every_ms: number | null, run: () => void }>} */
  const timers = new Map()
  let now_ms = 0
  let ids = 0

  /** @param {() => void} run @param {number} ms @param {number | null} every_ms */
  function add(run, ms, every_ms) {
    timers.set(++ids, { at_ms: now_ms + ms + late_ms(), every_ms, run })
    return /** @type {any} */ (ids)
  }

  /** Runs the timers that are due until then. @param {number} until_ms */
  function runUntil(until_ms) {
    for (;;) {
      let first = 0
      let first_ms = until_ms
      for (const [id, { at_ms }] of timers) {
        if (at_ms > first_ms || (at_ms === first_ms && first > 0)) continue
        first = id
        first_ms = at_ms
      }
      if (first === 0) break
      const timer = /** @type {NonNullable<ReturnType<typeof timers.get>>} */ (timers.get(first))
      now_ms = Math.max(now_ms, first_ms)
      if (timer.every_ms === null) timers.delete(first)
      else timer.at_ms = now_ms + timer.every_ms + late_ms()
      timer.run()
    }
    now_ms = Math.max(now_ms, until_ms)
  }

  return {
    now: () => now_ms,
    setTimeout: /** @type {any} */ ((/** @type {() => void} */ run, ms = 0) => add(run, ms, null)),
    setInterval: /** @type {any} */ ((/** @type {() => void} */ run, ms = 0) => add(run, ms, ms)),
    clearTimeout: /** @type {any} */ ((/** @type {number} */ id) => timers.delete(id)),
    clearInterval: /** @type {any} */ ((/** @type {number} */ id) => timers.delete(id)),
    runUntil,
    /** Time passes and nothing runs: the process stands still. @param {number} ms */
    stall: (ms) => {
      now_ms += ms
    },
    timers: () => timers.size,
  }
}
