import { awaitsAnswer, isIdle } from './pipelining.js'

/** @import { Socket } from 'node:net' */

/** Number of checks within the shorter timeout: a connection is closed at most two intervals late. */
const LOOKS_PER_TIMEOUT = 10
const MIN_INTERVAL_MS = 10

/**
 * Closes connections without traffic: idle ones, and those whose clients neither read nor continue to send. Node would use a timer per
 * socket and reset it several times per request, which costs 8 % of a request that stores nothing. Checking byte counts from time to
 * time costs a request nothing.
 * @param {{ idle_ms: number, stuck_ms: number }} timeouts idle_ms: limit without traffic after an answer; stuck_ms: limit while the client
 *   still has to read or send
 * @returns {{ sockets: Pick<Map<Socket, unknown>, 'keys'>, add: (socket: Socket) => void }} sockets: open connections
 */
export function createQuietWatch({ idle_ms, stuck_ms }) {
  /** @type {Map<Socket, Traffic>} */
  const traffic = new Map()
  const interval_ms = Math.max(MIN_INTERVAL_MS, Math.min(idle_ms, stuck_ms) / LOOKS_PER_TIMEOUT)

  const look = () => {
    const now_ms = performance.now()
    for (const [socket, last] of traffic) {
      const isSent = socket.writableLength === 0
      const [isDone, isDue] = [isSent && isIdle(socket), isSent && awaitsAnswer(socket)]
      const seen = { bytes: bytesOf(socket), isIdle: isDone, isDue }
      if (isOver(last, seen, now_ms, { idle_ms, stuck_ms })) socket.destroy()
    }
  }
  // A late timer may run before requests that have already arrived are read; an immediate runs afterwards.
  setInterval(() => setImmediate(look), interval_ms).unref()

  return {
    sockets: traffic,
    add(socket) {
      // Disables Node's own timer of the socket, which Node resets at every request and answer.
      socket.setTimeout = () => socket
      traffic.set(socket, { bytes: 0, since_ms: performance.now() })
      socket.on('close', () => traffic.delete(socket))
    },
  }
}

/** @typedef {{ bytes: number, since_ms: number }} Traffic bytes: transferred so far; since_ms: when this number was first seen */

/**
 * Returns whether a connection has been quiet for too long; never true while it waits for our answer. Updates `last`.
 * @param {Traffic} last @param {{ bytes: number, isIdle: boolean, isDue?: boolean }} seen isIdle: all its requests are answered and the
 *   answers sent; isDue: its requests have arrived, but an answer is not ready
 * @param {number} now_ms @param {{ idle_ms: number, stuck_ms: number }} timeouts
 */
export function isOver(last, { bytes, isIdle, isDue = false }, now_ms, { idle_ms, stuck_ms }) {
  if (bytes !== last.bytes || isDue) {
    last.bytes = bytes
    last.since_ms = now_ms
  }
  return now_ms - last.since_ms >= (isIdle ? idle_ms : stuck_ms)
}

/** Counts the bytes transferred in both directions, except those that the client has yet to read. @param {Socket} socket */
const bytesOf = (socket) => socket.bytesRead + socket.bytesWritten - socket.writableLength
