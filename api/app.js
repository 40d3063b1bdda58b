import { boundPieces, discard } from './body.js'
import { ApiError } from './errors.js'
import { ClientGone, problem, send } from './http.js'
import { createCauseLog } from './log.js'
import { enter, LAST_ON_CONNECTION, leave, lineOf, refuseBytes, refuseConnect, refuseMore } from './pipelining.js'
import { createRoutes } from './routes.js'

/**
 * @import { Gate } from './gate.js'
 * @import { Answer } from './http.js'
 * @import { Handler } from './routes.js'
 * @import { Users } from './users.js'
 * @import { IncomingMessage, ServerResponse } from 'node:http'
 * @import { Duplex } from 'node:stream'
 * @import { Logger } from 'pino'
 */

/**
 * Gives every request exactly one answer, unless its client is gone or an earlier answer has ended the connection.
 * @param {{ users: Users, gate: Gate, log: Logger, bodyLimitBytes: number }} parts
 */
export function createApp({ users, gate, log, bodyLimitBytes }) {
  const route = createRoutes({ users, gate, bodyLimitBytes })
  const stats = { inFlight: 0, answers: /** @type {Counters} */ ({}), problems: /** @type {Counters} */ ({}) }
  const answerTo = createErrorAnswers(log, stats.problems)
  const logsRequests = log.isLevelEnabled('debug')
  let draining = false

  const countRefused = (/** @type {ApiError} */ { status, code }) => {
    count(stats.answers, status)
    count(stats.problems, code)
  }

  /** @param {IncomingMessage} req @param {ServerResponse} res @param {Handler} [handler] */
  async function handle(req, res, handler = route) {
    const line = lineOf(req.socket)
    // Node closes the connection after that answer, so what is stored for this request could not be acknowledged.
    if (line.isEnding) return discard(req)
    enter(line, req)
    stats.inFlight++
    if (req.headers['transfer-encoding'] !== undefined) {
      boundPieces(req, () => refuseMore('chunks_too_small', req.socket, countRefused))
    }
    const fault = faultOf(req)
    if (fault || asksForAnother(req)) Object.assign(line, { last: req, isEnding: true })
    let answer
    if (gate.lets()) {
      try {
        answer = await (fault ? Promise.reject(new ApiError('malformed_http', fault)) : handler(req))
      } catch (error) {
        answer = answerTo(error, req)
      }
    } else {
      answer = overloaded()
      count(stats.problems, 'overloaded')
    }
    // The unread rest of a body must not accumulate while earlier answers are pending.
    if (!req.complete) req.resume()
    if (answer) {
      if (line.last === req || (draining && line.newest === req)) {
        answer.headers.push(...LAST_ON_CONNECTION)
        line.isEnding = true
      }
      send(res, answer)
      count(stats.answers, answer.status)
    } else {
      res.destroy()
    }
    stats.inFlight--
    leave(line, req)
    if (logsRequests) log.debug({ method: req.method, url: req.url, status: res.statusCode }, 'request')
  }

  return {
    handle,
    stats,
    /** Handles the server's `checkExpectation`: rejects an Expect header other than 100-continue. @type {typeof handle} */
    refuseExpectation: (req, res) => handle(req, res, () => Promise.reject(new ApiError('expectation_failed'))),
    /** Handles the server's `clientError`. @param {Error & { code?: string }} error @param {Duplex} socket */
    clientError: (error, socket) => refuseBytes(error, socket, countRefused),
    /** Handles the server's `connect`: this is no proxy. @param {IncomingMessage} _req @param {Duplex} socket */
    refuseConnect: (_req, socket) => refuseConnect(socket, countRefused),
    drain() {
      draining = true
    },
  }
}

/** @typedef {ReturnType<typeof createApp>} App */

/** An address in brackets or a name, which may be empty, and a port (RFC 3986, 3.2). */
const HOST = /^(\[[\w.~:%-]+\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?$/

/**
 * Describes what HTTP/1.1 forbids in a head although Node's parser lets it pass (RFC 9112, 3.2 and 6.1). The server joins repeated Hosts
 * with a comma and a space, which no host contains. Where codings are in doubt, a proxy may see another end of the body.
 * @param {IncomingMessage} req
 */
function faultOf({ headers: { host, 'transfer-encoding': coding }, httpVersion }) {
  if (host === undefined ? httpVersion !== '1.0' : !HOST.test(host)) return 'expected one Host header'
  if (coding === undefined || (httpVersion === '1.1' && coding.toLowerCase() === 'chunked')) return undefined
  return 'expected no Transfer-Encoding but chunked, in HTTP/1.1'
}

/**
 * Whether a request asks for another protocol, which it does not get. Node discards what it has read behind it, so the client has to
 * know that nothing of that was received. @param {IncomingMessage} req
 */
function asksForAnother({ headers }) {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '')
}

/** @typedef {Record<string, number>} Counters */

const OVERLOADED = problem(new ApiError('overloaded'))

/** Copies a constant: a refusal must cost next to nothing. The request's body, if any, is discarded unread. */
const overloaded = () => ({ ...OVERLOADED, headers: [...OVERLOADED.headers] })

/** @param {Logger} log @param {Counters} problems counts answers by problem code */
function createErrorAnswers(log, problems) {
  /** Each cause is logged once, although many requests share one. */
  const logCause = {
    row_refused: createCauseLog(log, 'a rule of the database forbids a user: answering 500'),
    outcome_unknown: createCauseLog(log, 'no response to a statement: answering 504, since its rows may be stored'),
  }

  return (/** @type {unknown} */ error, /** @type {IncomingMessage} */ req) => {
    if (error instanceof ClientGone) return null
    const known = error instanceof ApiError ? error : new ApiError('internal_error')
    if (known.code === 'internal_error') log.error({ err: error, method: req.method, url: req.url }, 'unforeseen error')
    if (known.code === 'row_refused' || known.code === 'outcome_unknown') logCause[known.code](known.cause ?? known)
    count(problems, known.code)
    return problem(known)
  }
}

/** @param {Counters} counters @param {string | number} key */
function count(counters, key) {
  counters[key] = (counters[key] ?? 0) + 1
}
