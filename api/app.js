import { boundPieces } from './body.js'
import { ApiError, RowRefused } from './errors.js'
import { ClientGone, json, problem, rawProblem, readJson, send } from './http.js'
import { keyOf } from './idempotency.js'
import { openapi } from './openapi.js'
import { createRefusalLog } from './refusal-log.js'

/**
 * @import { ProblemCode } from './errors.js'
 * @import { Gate } from './gate.js'
 * @import { Answer } from './http.js'
 * @import { Users } from './users.js'
 * @import { IncomingMessage, ServerResponse } from 'node:http'
 * @import { Duplex } from 'node:stream'
 * @import { Logger } from 'pino'
 */

const CREATED = '{"message":"User created"}'

/** Sent with the response to the newest request on a connection: Node drops any that are pipelined behind it. */
const LAST_ON_CONNECTION = ['Connection', 'close']
const LINE = Symbol('line')

/** What Node's HTTP parser found wrong, as answers of ours; anything else it complains of is malformed_http. */
const PARSER_PROBLEMS = /** @type {Record<string, ProblemCode>} */ ({
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
})

/**
 * The routes, and how each request ends in exactly one answer. Independent of listening, of the environment and of pg.
 *
 * @param {object} parts
 * @param {Users} parts.users
 * @param {Gate} parts.gate
 * @param {Logger} parts.log
 * @param {number} parts.bodyLimitBytes
 */
export function createApp({ users, gate, log, bodyLimitBytes }) {
  let description = ''
  const stats = { inFlight: 0, answers: counters(), problems: counters() }
  /** @type {WeakSet<object>} causes that were logged: many requests share one */
  const logged = new WeakSet()
  const logRowRefusal = createRefusalLog(log, 'a rule of the database forbids a user: answering 500')
  const logsRequests = log.isLevelEnabled('debug')
  let draining = false

  /** @type {Record<string, Handler>} */
  const userRoutes = {
    async POST(req) {
      const header = req.headers['idempotency-key']
      const key = header === undefined ? undefined : keyOf(header)
      const body = await readJson(req, bodyLimitBytes)
      const id = await served(key === undefined ? users.create(body) : users.createOnce(body, key))
      return json(201, CREATED, ['Location', `/user/${id}`])
    },
  }

  /** @param {string} id @returns {Record<string, Handler>} */
  const oneUserRoutes = (id) => ({
    async GET(req) {
      // A body that nobody wants must not pile up while the database works.
      req.resume()
      const found = await served(users.find(id))
      if (!found) throw new ApiError('not_found', 'there is no user with this id')
      return json(200, `{"id":${found}}`, ['Cache-Control', 'no-store'])
    },
  })

  /** @type {Record<string, Handler>} */
  const openapiRoutes = {
    async GET() {
      description ||= JSON.stringify(openapi({ bodyLimitBytes }))
      return json(200, description, [])
    },
  }

  /** Counts only requests that reached the database towards the service rate. @template T @param {Promise<T>} work */
  async function served(work) {
    try {
      return await work
    } finally {
      gate.served()
    }
  }

  /** @param {string} path */
  function routesOf(path) {
    if (path === '/user') return userRoutes
    if (path.startsWith('/user/')) return oneUserRoutes(path.slice('/user/'.length))
    if (path === '/openapi.json') return openapiRoutes
    throw new ApiError('not_found')
  }

  /** @type {Handler} */
  function route(req) {
    const routes = routesOf(pathOf(req.url ?? '/'))
    // Node leaves out the body of an answer to HEAD.
    const handler = routes[req.method === 'HEAD' ? 'GET' : (req.method ?? '')]
    if (!handler) throw new ApiError('method_not_allowed', undefined, { headers: ['Allow', allowed(routes)] })
    return handler(req)
  }

  /**
   * @param {IncomingMessage} req
   * @param {ServerResponse} res
   * @param {Handler} [handler]
   */
  async function handle(req, res, handler = route) {
    const line = lineOf(req.socket)
    const number = ++line.received
    line.newest = req
    stats.inFlight++
    if (req.headers['transfer-encoding'] !== undefined) {
      boundPieces(req, () => refuse('chunks_too_small', req.socket))
    }
    let answer
    if (gate.lets()) {
      try {
        answer = await handler(req)
      } catch (error) {
        answer = answerTo(error, req)
      }
    } else {
      answer = overloaded()
      countProblem('overloaded')
    }
    // What is left of a body that was not read must not pile up behind answers that are still to come.
    if (!req.complete) req.resume()
    if (answer) {
      if (draining && number === line.received) answer.headers.push(...LAST_ON_CONNECTION)
      send(res, answer)
      count(answer.status)
    } else {
      res.destroy()
    }
    stats.inFlight--
    if (line.newest === req) line.newest = undefined
    if (++line.answered === line.received) line.onAllAnswered?.()
    if (logsRequests) log.debug({ method: req.method, url: req.url, status: res.statusCode }, 'request')
  }

  /**
   * @param {unknown} error
   * @param {IncomingMessage} req
   * @returns {Answer | null} null: there is nobody to answer
   */
  function answerTo(error, req) {
    if (error instanceof ClientGone) return null
    if (error instanceof RowRefused)
      return answerTo(new ApiError('row_refused', undefined, { cause: error.cause }), req)
    const known = error instanceof ApiError ? error : new ApiError('internal_error')
    if (known !== error) log.error({ err: error, method: req.method, url: req.url }, 'unforeseen error')
    if (known.code === 'outcome_unknown') logOnce(known.cause)
    if (known.code === 'row_refused') logRowRefusal(known.cause instanceof Error ? known.cause : known)
    countProblem(known.code)
    return problem(known)
  }

  /** @param {any} cause */
  function logOnce(cause) {
    if (logged.has(cause)) return
    logged.add(cause)
    log.warn({ err: cause }, 'no response to a statement: answering 504, since its rows may be stored')
  }

  /** @param {number} status */
  function count(status) {
    stats.answers[status] = (stats.answers[status] ?? 0) + 1
  }

  /** @param {ProblemCode} code */
  function countProblem(code) {
    stats.problems[code] = (stats.problems[code] ?? 0) + 1
  }

  /**
   * Gives a connection its last answer, after those to the requests that came before it, and closes it.
   *
   * @param {ProblemCode} code
   * @param {Duplex} socket
   */
  function refuse(code, socket) {
    // Nothing that still comes on this connection is of use.
    socket.pause()
    const problem = new ApiError(code, undefined, { headers: LAST_ON_CONNECTION })
    const answer = () => {
      count(problem.status)
      countProblem(problem.code)
      socket.end(rawProblem(problem), () => socket.destroy())
    }
    const line = lineOf(socket)
    const { newest } = line
    // A request that is broken in its body gets its own answer. Bytes that are no request yet, or that follow an answered
    // request, are answered here.
    if (newest && !newest.complete && newest.listenerCount('error') > 0) newest.emit('error', problem)
    else if (line.answered === line.received) answer()
    else line.onAllAnswered = () => setImmediate(answer)
  }

  return {
    handle,
    stats,

    /** For the server's `checkExpectation`: an Expect header that is not 100-continue. */
    refuseExpectation: (/** @type {IncomingMessage} */ req, /** @type {ServerResponse} */ res) => {
      return handle(req, res, async () => {
        throw new ApiError('expectation_failed')
      })
    },

    /**
     * For the server's `clientError`: the bytes were no request, or did not come in time.
     *
     * @param {Error & { code?: string }} error
     * @param {Duplex} socket
     */
    clientError(error, socket) {
      // ECONNRESET and the like: nobody is there any more.
      if (!socket.writable || !/^(HPE_|ERR_HTTP_)/.test(error.code ?? '')) return socket.destroy()
      refuse(PARSER_PROBLEMS[error.code ?? ''] ?? 'malformed_http', socket)
    },

    drain() {
      draining = true
    },
  }
}

const OVERLOADED = problem(new ApiError('overloaded'))

/** Made once: to turn somebody away has to cost next to nothing. Its body, if any, is dropped unread. */
const overloaded = () => ({ ...OVERLOADED, headers: [...OVERLOADED.headers] })

/** @returns {Record<string, number>} */
const counters = () => ({})

/** @typedef {ReturnType<typeof createApp>} App */
/** @typedef {(req: IncomingMessage) => Promise<Answer>} Handler */

/**
 * The requests of one connection, which may be pipelined: how many have come and been answered, and the one that came
 * last, while it has no answer.
 *
 * @param {any} socket
 * @returns {{ received: number, answered: number, newest?: IncomingMessage, onAllAnswered?: () => void }}
 */
function lineOf(socket) {
  socket[LINE] ??= { received: 0, answered: 0, newest: undefined, onAllAnswered: undefined }
  return socket[LINE]
}

/** The path of a request target: without its query, and without the origin of the absolute form (RFC 9112, 3.2.2). @param {string} target */
function pathOf(target) {
  const path = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
  const end = path.search(/[?#]/)
  return end === -1 ? path : path.slice(0, end)
}

/** @param {Record<string, Handler>} routes */
function allowed(routes) {
  return Object.keys(routes)
    .flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .join(', ')
}
