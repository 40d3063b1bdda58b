/** @import { Client, Result, Statement } from './connections.js' */

/** Delay before retrying a failed connection while others still serve. */
export const RETRY_MS = 1000

/** Share of the lifetime over which connections opened together are retired, one after another. */
const STAGGER = 0.1

/**
 * A few connections shared by many statements: each statement is sent without waiting for earlier answers.
 * @param {object} options
 * @param {number} options.width maximum number of connections
 * @param {number} options.silence_ms a connection that owes an answer is destroyed after this long without one
 * @param {number} options.lifetime_ms age at which a connection is retired; 0: never
 * @param {() => void} options.onSilence
 * @param {() => Promise<Client>} options.connect waits while `width` connections are open
 * @param {(client: Client, statement: Statement) => Promise<Result>} options.run
 */
export function createPipeline({ width, silence_ms, lifetime_ms, onSilence, connect, run }) {
  /** @type {Set<Line>} */
  const lines = new Set()
  /** @type {Set<Promise<Line>>} */
  const openings = new Set()
  let retryAt_ms = 0
  let inFlight = 0

  /**
   * Adds a statement to the line with the fewest; if all are busy, starts to open another. It counts at once: requests of one read get
   * here before the first of them is sent.
   * @returns {Line | undefined} undefined: no line is open yet
   */
  function take() {
    const line = leastBusy(lines)
    const isBusy = line?.inFlight !== 0
    if (isBusy && lines.size + openings.size < width && (!line || retryAt_ms <= performance.now())) openLine()
    if (line && line.inFlight++ === 0) line.watchdog.refresh()
    return line
  }

  const anyOpening = () => Promise.any(openings).catch(({ errors }) => Promise.reject(errors[0]))

  function openLine() {
    const opening = connect()
      .then(createLine)
      .finally(() => openings.delete(opening))
    openings.add(opening)
    opening.catch(() => {
      retryAt_ms = performance.now() + RETRY_MS
    })
  }

  /** @param {Client} client */
  function createLine(client) {
    const watchdog = setTimeout(() => {
      if (line.inFlight === 0 && !line.isRetired) return
      // pg offers no other way to close a connection whose server is silent.
      void (/** @type {any} */ (client).connection.stream.destroy())
      onSilence()
    }, silence_ms).unref()
    /** @type {Line} */
    const line = { client, watchdog, inFlight: 0, isRetired: false }
    const age_ms = lifetime_ms * (1 - (STAGGER * lines.size) / width)
    const end = lifetime_ms > 0 ? setTimeout(() => retire(line), age_ms).unref() : undefined
    client.once('end', () => {
      clearTimeout(watchdog)
      clearTimeout(end)
      line.isRetired = true
      lines.delete(line)
      client.release(true)
    })
    lines.add(line)
    return line
  }

  /** Takes a line out of service. pg's end() waits for the statements in flight. @param {Line} line */
  function retire(line) {
    if (line.isRetired) return
    lines.delete(line)
    line.isRetired = true
    // From now on, the watchdog guards the shutdown: a silent server never closes its side. While it owes an answer, its time runs.
    if (line.inFlight === 0) line.watchdog.refresh()
    // pg's types omit end() on pool clients.
    void (/** @type {any} */ (line.client).end())
  }

  return {
    /** @param {Statement} statement */
    async query(statement) {
      inFlight++
      try {
        let line = take()
        while (!line) {
          await anyOpening()
          line = take()
        }
        return await send(line, statement)
      } finally {
        inFlight--
      }
    },

    /** Number of statements queued behind others: Postgres runs only the first on each connection. */
    waiting: () => Math.max(0, inFlight - width),

    idle: () => [...lines].filter((line) => line.inFlight === 0).length,

    /** Number of connections in service. */
    open: () => lines.size,

    /** Replaces every open connection. */
    retire: () => lines.forEach(retire),

    /** Replaces one connection. @param {Client} client */
    retireOne: (client) => [...lines].filter((line) => line.client === client).forEach(retire),

    /** Closes each connection when its statements have finished. */
    async end() {
      await Promise.allSettled(openings)
      lines.forEach(retire)
    },
  }

  /** @param {Line} line that counts the statement @param {Statement} statement */
  async function send(line, statement) {
    try {
      return await run(line.client, statement)
    } finally {
      line.inFlight--
      line.watchdog.refresh()
    }
  }
}

/** @typedef {{ client: Client, watchdog: NodeJS.Timeout, inFlight: number, isRetired: boolean }} Line an open connection; once retired, it takes no more statements */

/** @param {Set<Line>} lines */
function leastBusy(lines) {
  /** @type {Line | undefined} */
  let least
  for (const line of lines) if (!least || line.inFlight < least.inFlight) least = line
  return least
}
