import { ApiError } from './errors.js'
import { json, readJson } from './http.js'
import { keyOf } from './idempotency.js'
import { openapi } from './openapi.js'
import { isId } from './users.js'

/**
 * @import { Gate } from './gate.js'
 * @import { Answer } from './http.js'
 * @import { Users } from './users.js'
 * @import { IncomingMessage } from 'node:http'
 */

const CREATED = '{"message":"User created"}'

/**
 * Routes every path and method to its handler.
 * @param {{ users: Users, gate: Gate, bodyLimitBytes: number }} parts
 * @returns {Handler} throws, or rejects with, an ApiError or ClientGone
 * @typedef {(req: IncomingMessage) => Promise<Answer>} Handler
 * @typedef {Record<string, Handler>} Methods
 */
export function createRoutes({ users, gate, bodyLimitBytes }) {
  let description = ''

  /** @type {Methods} */
  const allUsers = {
    async POST(req) {
      const header = req.headers['idempotency-key']
      const key = header === undefined ? undefined : keyOf(header)
      const body = await readJson(req, bodyLimitBytes)
      const stored = key === undefined ? users.create(body) : users.createOnce(body, key)
      try {
        return json(201, CREATED, ['Location', `/user/${await stored}`])
      } finally {
        gate.served()
      }
    },
  }

  /** @param {string} id @returns {Methods} */
  const oneUser = (id) => ({
    async GET(req) {
      // An unexpected body must not accumulate while the database works.
      req.resume()
      // What needs no database must not count as served by it.
      const found = isId(id) && (await users.find(id).finally(gate.served))
      if (!found) throw new ApiError('not_found', 'there is no user with this id')
      return json(200, `{"id":${found}}`, ['Cache-Control', 'no-store'])
    },
  })

  /** @type {Methods} */
  const documentation = {
    async GET() {
      description ||= JSON.stringify(openapi({ bodyLimitBytes }))
      return json(200, description, [])
    },
  }

  /** @param {string} path */
  function methodsOf(path) {
    if (path === '/user') return allUsers
    if (path.startsWith('/user/')) return oneUser(path.slice('/user/'.length))
    if (path === '/openapi.json') return documentation
    throw new ApiError('not_found')
  }

  return (req) => {
    const methods = methodsOf(pathOf(req.url ?? '/'))
    // Node omits the body of an answer to HEAD.
    const handler = methods[req.method === 'HEAD' ? 'GET' : (req.method ?? '')]
    if (handler) return handler(req)
    const allowed = Object.keys(methods).join(', ').replace('GET', 'GET, HEAD')
    throw new ApiError('method_not_allowed', undefined, { headers: ['Allow', allowed] })
  }
}

/** The path of a request target, without its query or the origin of the absolute form (RFC 9112, 3.2.2). @param {string} target */
function pathOf(target) {
  const path = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '')
  const end = path.search(/[?#]/)
  return end === -1 ? path : path.slice(0, end)
}
