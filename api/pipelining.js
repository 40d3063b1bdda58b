/** @import { IncomingMessage } from 'node:http' */

/** Sent with the response to the newest request on a connection: Node drops requests pipelined after it. */
export const LAST_ON_CONNECTION = ['Connection', 'close']

const LINE = Symbol('line')

/**
 * The requests of one connection, which may be pipelined; Node sends their responses in the same order.
 *
 * @param {any} socket
 * @returns {Line}
 *
 * @typedef {{ received: number, answered: number, newest?: IncomingMessage, onAllAnswered?: () => void }} Line newest: the
 *   latest request, until it is answered
 */
export function lineOf(socket) {
  socket[LINE] ??= { received: 0, answered: 0, newest: undefined, onAllAnswered: undefined }
  return socket[LINE]
}

/** @param {Line} line @param {IncomingMessage} req @returns {number} its position in the line, from 1 */
export function enter(line, req) {
  line.newest = req
  return ++line.received
}

/** @param {Line} line @param {IncomingMessage} req answered, or never to be answered */
export function leave(line, req) {
  if (line.newest === req) line.newest = undefined
  if (++line.answered === line.received) line.onAllAnswered?.()
}
