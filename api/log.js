import pino from 'pino'

/** @import { DestinationStream, Logger } from 'pino' */

/** Minimum interval between log entries for the same cause. */
const REPEAT_MS = 60_000

/** Limits memory if every error text is different. */
const MAX_TEXTS = 100

/** Creates the log: one JSON object per line. @param {string} level @param {DestinationStream} [destination] default: stdout */
export function createLog(level, destination) {
  // Omits Postgres' error detail, which quotes the row, password included.
  const err = (/** @type {any} */ { name, code, message, stack }) => ({ type: name, code, message, stack })
  return pino({ level, serializers: { err } }, destination)
}

/** Logs an error once a minute per cause, however many requests it affects. @param {Logger} log @param {string} message */
export function createCauseLog(log, message) {
  /** @type {Map<string, number>} */
  const loggedAt_ms = new Map()
  return (/** @type {any} */ error) => {
    const text = `${error.code} ${error.message}`
    const now_ms = performance.now()
    if (now_ms - (loggedAt_ms.get(text) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return
    if (loggedAt_ms.size >= MAX_TEXTS) loggedAt_ms.clear()
    loggedAt_ms.set(text, now_ms)
    log.error({ err: error }, message)
  }
}
