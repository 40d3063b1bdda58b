import { ApiError } from './errors.js'
import { ClientGone, rawProblem, readJson, send, sendProblem } from './http.js'
import { openapi } from './openapi.js'

const JSON_HEADERS = ['Content-Type', 'application/json', 'Cache-Control', 'no-store']
const CREATED = '{"message":"User created"}'

/** Said with the answer to the newest request of a connection, since Node drops what is behind it. */
const LAST_ON_CONNECTION = ['Connection', 'close']
const QUEUE = Symbol('queue')

/** What Node's HTTP parser found wrong, as answers of ours; anything else it complains of is malformed_http. */
const PARSER_PROBLEMS = /** @type {Record<string, import('./errors.js').ProblemCode>} */ ({
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
})

/**
 * The routes, and how each request ends in exactly one answer. Knows nothing of listening, of the environment or of pg.
 *
 * @param {object} parts
 * @param {import('./users.js').Users} parts.users
 * @param {import('pino').Logger} parts.log
 * @param {number} parts.bodyLimitBytes
 */
export function createApp({ users, log, bodyLimitBytes }) {
  const description = JSON.stringify(openapi({ bodyLimitBytes }))
  const stats = { inFlight: 0, answers: /** @type {Record<string, number>} */ ({}) }
  let draining = false

  /** @type {Record<string, Handler>} */
  const userRoutes = {
    async POST(req) {
      const id = await users.create(await readJson(req, bodyLimitBytes))
      return { status: 201, headers: [...JSON_HEADERS, 'Location', `/user/${id}`], body: CREATED }
    },
  }

  /** @param {string} id @returns {Record<string, Handler>} */
  const oneUserRoutes = (id) => ({
    async GET() {
      const user = await users.find(id)
      if (!user) throw new ApiError('not_found', 'there is no user with this id')
      return { status: 200, headers: JSON_HEADERS, body: JSON.stringify(user) }
    },
  })

  /** @type {Record<string, Handler>} */
  const openapiRoutes = {
    async GET() {
      return { status: 200, headers: ['Content-Type', 'application/json'], body: description }
    },
  }

  /** @param {string} path */
  function routesOf(path) {
    if (path === '/user') return userRoutes
    if (path.startsWith('/user/')) return oneUserRoutes(path.slice('/user/'.length))
    if (path === '/openapi.json') return openapiRoutes
    throw new ApiError('not_found')
  }

  /** @type {Handler} */
  async function route(req) {
    const routes = routesOf(pathOf(req.url ?? '/'))
    // Node leaves out the body of an answer to HEAD.
    const handler = routes[req.method === 'HEAD' ? 'GET' : (req.method ?? '')]
    if (!handler) throw new ApiError('method_not_allowed', undefined, { headers: ['Allow', allowed(routes)] })
    return handler(req)
  }

  /**
   * @param {import('node:http').IncomingMessage} req
   * @param {import('node:http').ServerResponse} res
   */
  async function handle(req, res) {
    const queue = queueOf(req.socket)
    const number = ++queue.received
    queue.unanswered.add(req)
    const connection = () => (draining && number === queue.received ? LAST_ON_CONNECTION : [])
    stats.inFlight++
    try {
      const { status, headers, body } = await route(req)
      send(res, status, [...headers, ...connection()], body)
      count(status)
    } catch (error) {
      answerError(error, req, res, connection())
    } finally {
      stats.inFlight--
      queue.unanswered.delete(req)
      if (queue.unanswered.size === 0) queue.onAllAnswered?.()
      log.debug({ method: req.method, url: req.url, status: res.statusCode }, 'request')
    }
  }

  /**
   * @param {unknown} error
   * @param {import('node:http').IncomingMessage} req
   * @param {import('node:http').ServerResponse} res
   * @param {string[]} headers
   */
  function answerError(error, req, res, headers) {
    if (error instanceof ClientGone) return res.destroy()
    if (!(error instanceof ApiError)) log.error({ err: error, method: req.method, url: req.url }, 'unforeseen error')
    const problem = error instanceof ApiError ? error : new ApiError('internal_error')
    sendProblem(res, problem, headers)
    count(problem.status)
  }

  /** @param {number} status */
  function count(status) {
    stats.answers[status] = (stats.answers[status] ?? 0) + 1
  }

  return {
    handle,
    stats,

    /** For the server's `checkExpectation`: an Expect header that is not 100-continue. */
    refuseExpectation: (/** @type {any} */ _req, /** @type {import('node:http').ServerResponse} */ res) => {
      const error = new ApiError('expectation_failed')
      sendProblem(res, error, [])
      count(error.status)
    },

    /**
     * For the server's `clientError`: the bytes were no request, or did not come in time.
     *
     * @param {Error & { code?: string }} error
     * @param {import('node:stream').Duplex} socket
     */
    clientError(error, socket) {
      // ECONNRESET and the like: nobody is there any more.
      if (!socket.writable || !/^(HPE_|ERR_HTTP_)/.test(error.code ?? '')) return socket.destroy()
      const code = PARSER_PROBLEMS[error.code ?? ''] ?? 'malformed_http'
      const problem = new ApiError(code, undefined, { headers: LAST_ON_CONNECTION })
      const answer = () => {
        count(problem.status)
        socket.end(rawProblem(problem), () => socket.destroy())
      }
      const queue = queueOf(socket)
      const broken = [...queue.unanswered].find((req) => !req.complete && req.listenerCount('error') > 0)
      // Broken in its body, a request has its own answer; broken before it was one, or behind its answer, it is answered
      // here, after those that came before it.
      if (broken) broken.emit('error', problem)
      else if (queue.unanswered.size === 0) answer()
      else queue.onAllAnswered = () => setImmediate(answer)
    },

    drain() {
      draining = true
    },
  }
}

/** @typedef {ReturnType<typeof createApp>} App */
/** @typedef {{ status: number, headers: string[], body: string }} Answer */
/** @typedef {(req: import('node:http').IncomingMessage) => Promise<Answer>} Handler */

/**
 * The requests of one connection, which may be pipelined: how many have come, and which have no answer yet.
 *
 * @param {any} socket
 * @returns {{ received: number, unanswered: Set<import('node:http').IncomingMessage>, onAllAnswered?: () => void }}
 */
function queueOf(socket) {
  socket[QUEUE] ??= { received: 0, unanswered: new Set() }
  return socket[QUEUE]
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
