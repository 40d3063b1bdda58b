import pino from 'pino'

/** @import { DestinationStream } from 'pino' */

/**
 * The log, one JSON object per line.
 *
 * @param {string} level
 * @param {DestinationStream} [destination] default: standard output
 */
export function createLog(level, destination) {
  const options = { level, serializers: { err: describeError } }
  return destination ? pino(options, destination) : pino(options)
}

/** Omits Postgres' error detail, which quotes the row, password included. @param {any} error */
function describeError({ name, code, message, stack }) {
  return { type: name, code, message, stack }
}
