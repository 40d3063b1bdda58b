import { ApiError } from './errors.js'
import { rawProblem } from './http.js'
import { LAST_ON_CONNECTION, lineOf } from './pipelining.js'

/**
 * @import { ProblemCode } from './errors.js'
 * @import { Duplex } from 'node:stream'
 */

/** What Node's HTTP parser found wrong, as answers of ours; anything else it complains of is malformed_http. */
const PARSER_PROBLEMS = /** @type {Record<string, ProblemCode>} */ ({
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
})

/**
 * For the server's `clientError`: the bytes were no request, or did not come in time.
 *
 * @param {Error & { code?: string }} error
 * @param {Duplex} socket
 * @param {(problem: ApiError) => void} onAnswer
 */
export function refuseBytes({ code = '' }, socket, onAnswer) {
  // ECONNRESET and the like: nobody is there any more.
  if (!socket.writable || !/^(HPE_|ERR_HTTP_)/.test(code)) socket.destroy()
  else refuseMore(PARSER_PROBLEMS[code] ?? 'malformed_http', socket, onAnswer)
}

/**
 * Gives a connection its last answer, after those to the requests that came before it, and closes it.
 *
 * @param {ProblemCode} code
 * @param {Duplex} socket
 * @param {(problem: ApiError) => void} onAnswer called when the answer is sent from here, and not by a request's handler
 */
export function refuseMore(code, socket, onAnswer) {
  // Nothing that still comes on this connection is of use.
  socket.pause()
  const problem = new ApiError(code, undefined, { headers: LAST_ON_CONNECTION })
  const line = lineOf(socket)
  const { newest } = line
  // A request that is broken in its body gets its own answer. Bytes that are no request yet, or that follow an answered
  // request, are answered here.
  if (newest && !newest.complete && newest.listenerCount('error') > 0) {
    newest.emit('error', problem)
    return
  }
  const answer = () => {
    onAnswer(problem)
    socket.end(rawProblem(problem), () => socket.destroy())
  }
  if (line.answered === line.received) answer()
  else line.onAllAnswered = () => setImmediate(answer)
}
