/** @import { Client, Result, Statement } from './connections.js' */

/** Delay before retrying a failed connection while others still serve. */
const RETRY_MS = 1000

/** Share of the lifetime over which connections opened together are retired, one after another. */
const STAGGER = 0.1

/**
 * A few connections shared by many statements: each statement is sent without waiting for earlier answers.
 *
 * @param {object} options
 * @param {number} options.width maximum number of connections
 * @param {number} options.silence_ms a connection that owes an answer is destroyed after this long without one
 * @param {number} options.lifetime_ms age at which a connection is retired; 0: never
 * @param {() => void} options.onSilence called after a connection is destroyed for silence
 * @param {() => Promise<Client>} options.connect
 * @param {(client: Client, statement: Statement) => Promise<Result>} options.run
 */
export function createPipeline({ width, silence_ms, lifetime_ms, onSilence, connect, run }) {
  /** @type {Lane[]} */
  const lanes = Array.from({ length: width }, (_, i) => {
    return { line: null, opening: null, retryAt_ms: 0, lifetime_ms: lifetime_ms * (1 - (STAGGER * i) / width) }
  })
  let inFlight = 0

  /** Returns the open line with the fewest statements; if all are busy, starts to open another. @returns {Promise<Line> | Line} */
  function take() {
    const open = leastBusy(lanes)
    if (open?.inFlight === 0) return open
    const closed = lanes.find((lane) => !lane.line && !lane.opening && (!open || lane.retryAt_ms <= performance.now()))
    if (closed) openLane(closed)
    return (
      open ?? Promise.any(lanes.flatMap(({ opening }) => opening ?? [])).catch((all) => Promise.reject(all.errors[0]))
    )
  }

  /** @param {Lane} lane */
  function openLane(lane) {
    lane.opening = connect().then(
      (client) => Object.assign(lane, { line: createLine(lane, client), opening: null }).line,
      (error) => {
        Object.assign(lane, { opening: null, retryAt_ms: performance.now() + RETRY_MS })
        throw error
      },
    )
    lane.opening.catch(() => {})
  }

  /** @param {Lane} lane @param {Client} client @returns {Line} */
  function createLine(lane, client) {
    const watchdog = setTimeout(() => {
      if (line.inFlight === 0 && !line.isRetired) return
      // pg offers no other way to end a connection whose server is silent.
      void (/** @type {any} */ (client).connection.stream.destroy())
      onSilence()
    }, silence_ms).unref()
    /** @type {Line} */
    const line = { client, watchdog, inFlight: 0, isRetired: false }
    const end = lifetime_ms > 0 ? setTimeout(() => retire(lane), lane.lifetime_ms).unref() : undefined
    client.once('end', () => {
      clearTimeout(watchdog)
      clearTimeout(end)
      line.isRetired = true
      if (lane.line === line) lane.line = null
      client.release(true)
    })
    return line
  }

  return {
    /** @param {Statement} statement */
    async query(statement) {
      inFlight++
      try {
        let line = await take()
        // Its lifetime may have ended while we waited.
        while (line.isRetired) line = await take()
        return await send(line, statement)
      } finally {
        inFlight--
      }
    },

    /** Number of statements queued behind others: Postgres runs only the first on each connection. */
    waiting: () => Math.max(0, inFlight - width),

    idle: () => lanes.filter(({ line }) => line?.inFlight === 0).length,

    /** Replaces every open connection. */
    retire: () => lanes.forEach(retire),

    /** Closes each connection when its statements have finished. */
    async end() {
      await Promise.allSettled(lanes.map(({ opening }) => opening))
      lanes.forEach(retire)
    },
  }

  /** @param {Line} line @param {Statement} statement */
  async function send(line, statement) {
    if (line.inFlight++ === 0) line.watchdog.refresh()
    try {
      return await run(line.client, statement)
    } finally {
      line.inFlight--
      line.watchdog.refresh()
    }
  }
}

/**
 * A lane is a slot for one connection. A line is an open connection; once retired, it takes no more statements.
 *
 * @typedef {{ line: Line | null, opening: Promise<Line> | null, retryAt_ms: number, lifetime_ms: number }} Lane
 * @typedef {{ client: Client, watchdog: NodeJS.Timeout, inFlight: number, isRetired: boolean }} Line
 */

/** @param {Lane[]} lanes */
function leastBusy(lanes) {
  /** @type {Line | undefined} */
  let least
  for (const { line } of lanes) if (line && (!least || line.inFlight < least.inFlight)) least = line
  return least
}

/**
 * Removes a connection from its lane. pg's end() waits for the statements in flight, and the successor waits for end(), so
 * there are never more than `width` connections.
 *
 * @param {Lane} lane
 */
function retire(lane) {
  const { line } = lane
  if (!line) return
  lane.line = null
  line.isRetired = true
  // From now on, the watchdog guards the shutdown: a silent server never closes its side.
  line.watchdog.refresh()
  // pg's types omit end() on pool clients.
  void (/** @type {any} */ (line.client).end())
}
