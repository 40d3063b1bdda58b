import { awaitsAnswer, isIdle } from './pipelining.js'

/** @import { Socket } from 'node:net' */

/** Number of looks within the shorter timeout: a connection is closed at most this share late. */
const LOOKS_PER_TIMEOUT = 10
const MIN_INTERVAL_MS = 10

/**
 * Closes connections without traffic: idle ones, and those of clients that neither read nor go on sending. Node would do so with a
 * timer per socket that it resets several times per request, which costs 8 % of a request that stores nothing. Looking at byte counts
 * once in a while costs a request nothing.
 * @param {{ idle_ms: number, stuck_ms: number }} timeouts idle_ms: without traffic after an answer; stuck_ms: without traffic while the
 *   client has to read, or to send
 * @returns {{ sockets: Pick<Map<Socket, unknown>, 'keys'>, add: (socket: Socket) => void }} sockets: open connections
 */
export function createQuietWatch({ idle_ms, stuck_ms }) {
  /** @type {Map<Socket, Traffic>} */
  const traffic = new Map()
  const interval_ms = Math.max(MIN_INTERVAL_MS, Math.min(idle_ms, stuck_ms) / LOOKS_PER_TIMEOUT)

  setInterval(() => {
    const now_ms = performance.now()
    for (const [socket, last] of traffic) {
      const isSent = socket.writableLength === 0
      const [isDone, isDue] = [isSent && isIdle(socket), isSent && awaitsAnswer(socket)]
      const seen = { bytes: bytesOf(socket), isIdle: isDone, isDue }
      if (isOver(last, seen, now_ms, { idle_ms, stuck_ms })) socket.destroy()
    }
  }, interval_ms).unref()

  return {
    sockets: traffic,
    add(socket) {
      // Node's own timer of each socket, which it sets at every request and answer.
      socket.setTimeout = () => socket
      traffic.set(socket, { bytes: 0, since_ms: performance.now() })
      socket.on('close', () => traffic.delete(socket))
    },
  }
}

/** @typedef {{ bytes: number, since_ms: number }} Traffic bytes: transferred so far; since_ms: when this number was first seen */

/**
 * Whether a connection has been quiet for too long; one that waits for our answer is never closed. Remembers what it sees.
 * @param {Traffic} last @param {{ bytes: number, isIdle: boolean, isDue?: boolean }} seen isIdle: its requests are answered, and the answers
 *   sent; isDue: its requests have arrived, and the answer to one is not ready
 * @param {number} now_ms @param {{ idle_ms: number, stuck_ms: number }} timeouts
 */
export function isOver(last, { bytes, isIdle, isDue = false }, now_ms, { idle_ms, stuck_ms }) {
  if (bytes !== last.bytes || isDue) {
    last.bytes = bytes
    last.since_ms = now_ms
  }
  return now_ms - last.since_ms >= (isIdle ? idle_ms : stuck_ms)
}

/** Bytes transferred in both directions, without those that still wait for the client to read. @param {Socket} socket */
const bytesOf = (socket) => socket.bytesRead + socket.bytesWritten - socket.writableLength
