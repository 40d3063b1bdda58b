/** So long a connection that could not be had is not asked for again while others serve. */
const RETRY_MS = 1000

/**
 * A few connections that many statements share: each is sent behind the others without waiting for their answers.
 *
 * @param {object} options
 * @param {number} options.width connections
 * @param {number} options.silence_ms a connection with statements on it that gives no answer for so long is cut
 * @param {() => Promise<import('./pool.js').Client>} options.connect
 * @param {(client: import('./pool.js').Client, statement: import('./pool.js').Statement) => Promise<import('./pool.js').Result>} options.run
 */
export function createPipeline({ width, silence_ms, connect, run }) {
  /** @type {Lane[]} */
  const lanes = Array.from({ length: width }, () => ({ client: null, opening: null, retryAt_ms: 0, inFlight: 0 }))
  let inFlight = 0

  /**
   * The open lane with the least on it. A further one is opened beside it while each has something to do; for the first
   * one everybody waits.
   *
   * @returns {Promise<Lane> | Lane}
   */
  function take() {
    const open = leastBusy(lanes)
    if (open?.inFlight === 0) return open
    const closed = lanes.find(
      (lane) => !lane.client && !lane.opening && (!open || lane.retryAt_ms <= performance.now()),
    )
    if (closed) openLane(closed)
    return (
      open ?? Promise.any(lanes.flatMap(({ opening }) => opening ?? [])).catch((all) => Promise.reject(all.errors[0]))
    )
  }

  /** @param {Lane} lane */
  function openLane(lane) {
    lane.opening = connect().then(
      (client) => {
        const watchdog = setTimeout(() => lane.inFlight > 0 && cut(client), silence_ms).unref()
        client.once('end', () => {
          clearTimeout(watchdog)
          lane.client = null
          client.release(true)
        })
        return Object.assign(lane, { client, watchdog, opening: null })
      },
      (error) => {
        Object.assign(lane, { opening: null, retryAt_ms: performance.now() + RETRY_MS })
        throw error
      },
    )
    lane.opening.catch(() => {})
  }

  return {
    /** @param {import('./pool.js').Statement} statement */
    async query(statement) {
      inFlight++
      try {
        const lane = await take()
        return await send(lane, statement)
      } finally {
        inFlight--
      }
    },

    /** Statements behind others: Postgres works on the first of each connection. */
    waiting: () => Math.max(0, inFlight - width),

    idle: () => lanes.filter((lane) => lane.client && lane.inFlight === 0).length,

    /** Closes each connection when its statements have ended. */
    async end() {
      await Promise.allSettled(lanes.map(({ opening }) => opening))
      for (const { client } of lanes) /** @type {any} */ (client)?.end()
    },
  }

  /** @param {Lane} lane @param {import('./pool.js').Statement} statement */
  async function send(lane, statement) {
    const { client, watchdog } = lane
    if (lane.inFlight++ === 0) watchdog?.refresh()
    try {
      return await run(/** @type {import('./pool.js').Client} */ (client), statement)
    } finally {
      lane.inFlight--
      watchdog?.refresh()
    }
  }
}

/**
 * @typedef {object} Lane
 * @property {import('./pool.js').Client | null} client
 * @property {Promise<Lane> | null} opening
 * @property {NodeJS.Timeout} [watchdog]
 * @property {number} retryAt_ms
 * @property {number} inFlight
 */

/** @param {Lane[]} lanes */
function leastBusy(lanes) {
  /** @type {Lane | undefined} */
  let least
  for (const lane of lanes) if (lane.client && (!least || lane.inFlight < least.inFlight)) least = lane
  return least
}

/** Ends a connection whose server is silent; pg offers no way but its socket. @param {any} client */
function cut(client) {
  client.connection.stream.destroy()
}
