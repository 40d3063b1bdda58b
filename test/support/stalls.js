import { until } from './until.js'

/** Between two looks at the clock. */
const LOOK_MS = 1

/**
 * Watches how long this process stands still: other processes may have its core, or other guests of the same host.
 * @param {any} t
 * @returns {() => number} the longest time (ms) between two turns of the event loop since the last call
 */
export function watchStalls(t) {
  let last_ms = performance.now()
  let longest_ms = 0
  const look = () => {
    const now_ms = performance.now()
    longest_ms = Math.max(longest_ms, now_ms - last_ms)
    last_ms = now_ms
  }
  const looking = setInterval(look, LOOK_MS)
  t.teardown(() => clearInterval(looking))
  return () => {
    look()
    const found_ms = longest_ms
    longest_ms = 0
    return found_ms
  }
}

/**
 * What comes of work in which this process has to be in time: if it stood still for so long meanwhile, the work is done once more.
 * @template T
 * @param {any} t
 * @param {number} most_ms
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function whileCalm(t, most_ms, work) {
  const stalled_ms = watchStalls(t)
  let result = /** @type {any} */ (undefined)
  await until(`work in which this process never stands still for ${most_ms} ms`, async () => {
    stalled_ms()
    result = await work()
    return stalled_ms() < most_ms
  })
  return result
}

/** Between two looks of the clock below, and the most that it moves from one to the next. */
const TICK_MS = 50
const MOST_MS = 250

/**
 * A clock that counts no more than a moment of each time that this process stands still, for bounds on what other processes do: where the
 * machine stood still, they did, too.
 * @param {any} t
 * @returns {() => number} ms since it was started
 */
export function startOwnClock(t) {
  let [last_ms, own_ms] = [performance.now(), 0]
  const look = () => {
    const now_ms = performance.now()
    own_ms += Math.min(now_ms - last_ms, MOST_MS)
    last_ms = now_ms
  }
  const looking = setInterval(look, TICK_MS)
  t.teardown(() => clearInterval(looking))
  return () => {
    look()
    return own_ms
  }
}
