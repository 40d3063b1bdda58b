import { ApiError } from './errors.js'
import { rawProblem } from './http.js'

/**
 * @import { ProblemCode } from './errors.js'
 * @import { IncomingMessage } from 'node:http'
 * @import { Duplex } from 'node:stream'
 */

/** Sent with the response to the newest request on a connection: Node drops requests pipelined after it. */
export const LAST_ON_CONNECTION = ['Connection', 'close']

/** Our answers to errors of Node's HTTP parser; all its other errors become malformed_http. */
const PARSER_PROBLEMS = /** @type {Record<string, ProblemCode>} */ ({
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
})

const LINE = Symbol('line')

/**
 * The requests of one connection, which may be pipelined; Node sends their responses in the same order.
 * @param {any} socket
 * @returns {Line}
 * @typedef {{ received: number, answered: number, newest?: IncomingMessage, last?: IncomingMessage, isEnding?: boolean,
 *   isRefused?: boolean, onAllAnswered?: () => void }} Line newest: the latest request, until it is answered; last: the one whose
 *   answer ends the connection, if that is known; isEnding: nothing that comes from now on is handled; isRefused: refuseMore() was
 *   called
 */
export function lineOf(socket) {
  socket[LINE] ??= { received: 0, answered: 0, newest: undefined, last: undefined, isEnding: false, isRefused: false }
  return socket[LINE]
}

/** Returns whether every request on a connection is answered; false before the first one. @param {any} socket */
export function isIdle(socket) {
  const line = socket[LINE]
  return line !== undefined && line.answered === line.received
}

/** Returns whether a connection waits for us alone: all its requests have arrived, and some are unanswered. @param {any} socket */
export function awaitsAnswer(socket) {
  const line = socket[LINE]
  return line !== undefined && line.answered < line.received && (line.newest?.complete ?? true)
}

/** @param {Line} line @param {IncomingMessage} req */
export function enter(line, req) {
  line.newest = req
  line.received++
}

/** @param {Line} line @param {IncomingMessage} req one that is answered, or never will be */
export function leave(line, req) {
  if (line.newest === req) line.newest = undefined
  if (++line.answered === line.received) line.onAllAnswered?.()
}

/** Handles `clientError`: bad or late input. @param {Error & { code?: string }} error @param {Duplex} socket @param {(problem: ApiError) => void} onAnswer */
export function refuseBytes({ code = '' }, socket, onAnswer) {
  // After ECONNRESET and the like, the client is gone.
  if (!socket.writable || !/^(HPE_|ERR_HTTP_)/.test(code)) socket.destroy()
  else refuseMore(PARSER_PROBLEMS[code] ?? 'malformed_http', socket, onAnswer)
}

/** Handles `connect`, with which Node gives up its parser of the connection. @param {Duplex} socket @param {(problem: ApiError) => void} onAnswer */
export function refuseConnect(socket, onAnswer) {
  // Node removes its own listener.
  socket.on('error', () => {})
  // No method is allowed on the target, which is another server (RFC 9110, 10.2.1).
  refuseMore('method_not_allowed', socket, onAnswer, ['Allow', '', ...LAST_ON_CONNECTION])
}

/**
 * Sends a final answer on a connection, after the answers to earlier requests, and closes it.
 * @param {ProblemCode} code @param {Duplex} socket
 * @param {(problem: ApiError) => void} onAnswer called if the answer is sent here rather than by a request's handler
 */
export function refuseMore(code, socket, onAnswer, headers = LAST_ON_CONNECTION) {
  // Any further input on this connection is useless.
  socket.pause()
  const line = lineOf(socket)
  const { newest } = line
  // A slow client's answers, once read, make Node go on reading.
  if (line.isRefused) return
  Object.assign(line, { isEnding: true, isRefused: true })
  // A request with a malformed body gets its answer from its handler. Bytes that are not yet a request, or that follow an
  // answered one, are answered here.
  if (newest && !newest.complete && newest.listenerCount('error') > 0) {
    line.last = newest
    newest.emit('error', new ApiError(code))
    return
  }
  const answer = () => {
    // Node still holds back answers that come before this one, such as those that a slow client does not read yet, and would drop
    // them. (Undocumented: lib/_http_server.js; tested on Node 20 and 26.)
    const earlier = Reflect.get(socket, '_httpMessage')
    // One that is not ended belongs to a request that came too late to be handled.
    if (earlier?.writableEnded) return void earlier.once('finish', () => setImmediate(answer))
    if (!socket.writable) return void socket.destroy()
    const problem = new ApiError(code, undefined, { headers })
    onAnswer(problem)
    socket.end(rawProblem(problem), () => socket.destroy())
  }
  if (line.answered === line.received) answer()
  else line.onAllAnswered = () => setImmediate(answer)
}
