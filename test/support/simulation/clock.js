/** The real ones, whatever a simulation has put in their place. */
const { setImmediate: realImmediate } = globalThis
const NAMES = /** @type {const} */ ([
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
])

/**
 * A virtual clock in place of Node's timers, immediates and `performance`, for the code under test and for the packages
 * it uses. Time passes only in `run`, and only when nothing is left to do at the current instant.
 * @param {object} [options]
 * @param {() => number} [options.pick] 0 or 1: whether immediates run before (0) or after (1) what else is due
 * @returns {Clock} `uninstall` it before the next one is installed
 */
export function installClock({ pick = () => 0 } = {}) {
  /** @type {Set<VirtualTimer>} */
  const timers = new Set()
  /** @type {VirtualTimer[]} */
  let immediates = []
  let sleeping = 0
  const clock = {
    now_ms: 0,

    /** Share of the time for which the event loop is busy, as `performance.eventLoopUtilization` tells it. */
    utilization: 0,

    /** What callbacks threw: in a process of its own, each would be the end of it. @type {unknown[]} */
    crashes: [],

    /** Timers of the code under test that have neither fired nor been cleared. */
    timers: () => timers.size - sleeping,

    /** For the rest of the simulated world. @param {number} delay_ms */
    async sleep(delay_ms) {
      sleeping++
      await new Promise((resolve) => void schedule(resolve, delay_ms, [], false))
      sleeping--
    },

    sleeping: () => sleeping,

    /** The event loop does nothing for a while, so that whatever is due by then is late. @param {number} stall_ms */
    stall(stall_ms) {
      clock.now_ms += stall_ms
    },

    /**
     * Runs everything that is due until something is so, or for `limit_ms`.
     * @param {() => unknown} isDone
     * @param {number} limit_ms
     * @returns {Promise<boolean>} whether it came to be so
     */
    async run(isDone, limit_ms) {
      const last_ms = clock.now_ms + limit_ms
      for (;;) {
        await settled()
        if (isDone()) return true
        const timer = next()
        const isDue = timer !== undefined && timer.at_ms <= clock.now_ms
        if (immediates.length > 0 && (!isDue || pick() === 0)) await runImmediates()
        else if (timer === undefined || timer.at_ms > last_ms) {
          clock.now_ms = Math.max(clock.now_ms, last_ms)
          return false
        } else fire(timer)
      }
    },

    uninstall() {
      Object.assign(globalThis, real)
      Reflect.deleteProperty(performance, 'now')
      Reflect.deleteProperty(performance, 'eventLoopUtilization')
    },
  }

  function next() {
    /** @type {VirtualTimer | undefined} */
    let first
    for (const timer of timers) if (first === undefined || timer.at_ms < first.at_ms) first = timer
    return first
  }

  /** @param {VirtualTimer} timer */
  function fire(timer) {
    clock.now_ms = Math.max(clock.now_ms, timer.at_ms)
    timers.delete(timer)
    if (timer.repeats) timer.refresh()
    call(timer)
  }

  async function runImmediates() {
    const due = immediates
    immediates = []
    for (const immediate of due) {
      call(immediate)
      await settled()
    }
  }

  /** @param {VirtualTimer} timer */
  function call({ callback, args }) {
    try {
      callback(...args)
    } catch (error) {
      clock.crashes.push(/** @type {never} */ (error))
    }
  }

  /** @param {(...args: any[]) => void} callback @param {number | undefined} delay_ms @param {any[]} args @param {boolean} repeats */
  function schedule(callback, delay_ms, args, repeats) {
    const timer = {
      at_ms: 0,
      callback,
      args,
      repeats,
      isCleared: false,
      refresh() {
        // As in Node: a timer that has been cleared stays so, and the one refreshed last is the last of its time.
        if (timer.isCleared) return timer
        timers.delete(timer)
        // Node has no shorter delay.
        timer.at_ms = clock.now_ms + Math.max(1, delay_ms ?? 1)
        timers.add(timer)
        return timer
      },
      ref: () => timer,
      unref: () => timer,
    }
    return timer.refresh()
  }

  const real = Object.fromEntries(NAMES.map((name) => [name, globalThis[name]]))
  const clear = (/** @type {VirtualTimer | undefined} */ timer) => {
    if (timer) timer.isCleared = true
    if (timer) timers.delete(timer)
  }
  Object.assign(globalThis, {
    setTimeout: (/** @type {any} */ callback, /** @type {number} */ delay_ms, /** @type {any[]} */ ...args) =>
      schedule(callback, delay_ms, args, false),
    setInterval: (/** @type {any} */ callback, /** @type {number} */ delay_ms, /** @type {any[]} */ ...args) =>
      schedule(callback, delay_ms, args, true),
    setImmediate: (/** @type {any} */ callback, /** @type {any[]} */ ...args) =>
      void immediates.push(/** @type {any} */ ({ callback, args })),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: () => {
      throw new Error('not simulated: clearImmediate')
    },
  })
  Object.defineProperty(performance, 'now', { value: () => clock.now_ms, configurable: true })
  Object.defineProperty(performance, 'eventLoopUtilization', {
    value: () => ({ utilization: clock.utilization, idle: 0, active: 0 }),
    configurable: true,
  })
  return clock
}

/** Node runs every microtask and `process.nextTick` before the next immediate. */
const settled = () => new Promise((resolve) => void realImmediate(resolve))

/**
 * @typedef {object} VirtualTimer
 * @property {number} at_ms
 * @property {(...args: any[]) => void} callback
 * @property {any[]} args
 * @property {boolean} repeats
 * @property {boolean} isCleared
 * @property {() => VirtualTimer} refresh
 * @typedef {object} Clock
 * @property {number} now_ms
 * @property {number} utilization
 * @property {unknown[]} crashes
 * @property {() => number} timers
 * @property {(delay_ms: number) => Promise<void>} sleep
 * @property {() => number} sleeping
 * @property {(stall_ms: number) => void} stall
 * @property {(isDone: () => unknown, limit_ms: number) => Promise<boolean>} run
 * @property {() => void} uninstall
 */
