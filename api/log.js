import pino from 'pino'

/** @import { DestinationStream, Logger } from 'pino' */

/** Minimum interval between log entries for the same cause. */
const REPEAT_MS = 60_000

/** Limits memory if every error is another cause. */
const MAX_CAUSES = 100

/** Lines that could not be written yet; beyond, further ones are dropped. */
const MAX_WAITING_BYTES = 1 << 20

/** Creates the log: one JSON object per line. @param {string} level @param {DestinationStream} [destination] default: stdout */
export function createLog(level, destination = createOutput()) {
  // Omits Postgres' error detail, which quotes the row, password included.
  const err = (/** @type {any} */ { name, code, message, stack }) => ({ type: name, code, message, stack })
  return pino({ level, serializers: { err } }, destination)
}

/** Writes to stdout. A full disk must not stop the service: what could not be written is tried again with the next line. */
function createOutput() {
  const output = pino.destination({ fd: 1, sync: true, minLength: 1, maxLength: MAX_WAITING_BYTES })
  output.on('error', () => {})
  // The destination only drops, and would never try again.
  output.on('drop', () => output.flush())
  return output
}

/**
 * Logs an error about once a minute per cause, however many requests it affects. Postgres' texts may quote a row, so its causes are
 * told apart by SQLSTATE, place in its source or in a trigger's, and constraint; texts of class 42 name objects only. @param {Logger} log @param {string} message
 */
export function createCauseLog(log, message) {
  /** @type {Map<string, number>} */
  const loggedAt_ms = new Map()
  return (/** @type {any} */ error) => {
    const { code = '', routine, where, message: text, constraint } = error
    const place = routine === 'exec_stmt_raise' ? where : /^42/.test(code) ? text : (routine ?? text)
    const cause = [code, place, constraint].join()
    const now_ms = performance.now()
    if (now_ms - (loggedAt_ms.get(cause) ?? Number.NEGATIVE_INFINITY) < REPEAT_MS) return
    if (loggedAt_ms.size >= MAX_CAUSES) loggedAt_ms.clear()
    loggedAt_ms.set(cause, now_ms)
    log.error({ err: error }, message)
  }
}
