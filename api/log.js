import pino from 'pino'

/** @import { DestinationStream, Logger } from 'pino' */

/** Minimum interval between log entries for the same refusal. */
const REPEAT_MS = 60_000

/** Limits memory if every error text is different. */
const MAX_TEXTS = 100

/** Creates the log: one JSON object per line. @param {string} level @param {DestinationStream} [destination] default: stdout */
export function createLog(level, destination) {
  // Omits Postgres' error detail, which quotes the row, password included.
  const err = (/** @type {any} */ { name, code, message, stack }) => ({ type: name, code, message, stack })
  const options = { level, serializers: { err } }
  return destination ? pino(options, destination) : pino(options)
}

/**
 * Logs why Postgres refuses statements, once a minute per cause, however many requests are affected.
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
