import pino from 'pino'

/** @import { DestinationStream, Logger } from 'pino' */

/** The same refusal is logged again after this long. */
const REPEAT_MS = 60_000

/** Bounds the memory for texts that differ each time. */
const MAX_TEXTS = 100

/** The log, one JSON object per line. @param {string} level @param {DestinationStream} [destination] default: stdout */
export function createLog(level, destination) {
  // Without Postgres' error detail, which quotes the row, password included.
  const err = (/** @type {any} */ { name, code, message, stack }) => ({ type: name, code, message, stack })
  const options = { level, serializers: { err } }
  return destination ? pino(options, destination) : pino(options)
}

/**
 * Logs why Postgres refuses statements: once per cause and minute, however many requests run into it.
 *
 * @param {Logger} log @param {string} message @returns {(error: Error & { code?: string }) => void}
 */
export function createRefusalLog(log, message) {
  /** @type {Map<string, number>} */
  const loggedAt_ms = new Map()
  return (error) => {
    const text = `${error.code} ${error.message}`
    const now_ms = performance.now()
    if (now_ms - (loggedAt_ms.get(text) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return
    if (loggedAt_ms.size >= MAX_TEXTS) loggedAt_ms.clear()
    loggedAt_ms.set(text, now_ms)
    log.error({ err: error }, message)
  }
}
