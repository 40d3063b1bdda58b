/**
 * @import { Mix, Request } from '../mix.js'
 * @import { Header } from '../../report/record.js'
 */

/**
 * The head of a request, ending in its empty line.
 *
 * @param {string} url
 * @param {Pick<Mix, 'method' | 'headers'>} mix
 * @param {{ last?: boolean }} [options] last: the connection is to end with the answer
 * @returns {(body: string | Buffer) => string}
 */
export function headOf(url, mix, options = {}) {
  const { host, pathname, search } = new URL(url)
  const start = `${mix.method} ${pathname}${search} ${headersOf(host, mix, options)}`
  return (body) => start + lengthOf(mix.method, body)
}

/**
 * The same where each request has a method and a path of its own.
 *
 * @param {string} url
 * @param {{ last?: boolean }} [options]
 * @returns {(request: Request) => string}
 */
export function headsOf(url, options = {}) {
  const { host } = new URL(url)
  return (request) => {
    const { method, path, body } = request
    return `${method} ${path} ${headersOf(host, request, options)}${lengthOf(method, body)}`
  }
}

/**
 * From the version on, without the empty line.
 *
 * @param {string} host
 * @param {{ headers: Header[] }} mix
 * @param {{ last?: boolean }} options
 */
export function headersOf(host, { headers }, { last = false }) {
  const lines = ['HTTP/1.1', `Host: ${host}`, ...headers.map((pair) => pair.join(': '))]
  if (last) lines.push('Connection: close')
  return `${lines.join('\r\n')}\r\n`
}

/** @param {string} method @param {string | Buffer} body */
function lengthOf(method, body) {
  // Where a method is expected to carry a body, an empty one has a length too (RFC 9110, 8.6).
  const bodiless = body.length === 0 && (method === 'GET' || method === 'HEAD')
  return bodiless ? '\r\n' : `Content-Length: ${body.length}\r\n\r\n`
}
