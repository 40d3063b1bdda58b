/** @import { Request } from '../mix.js' */

/**
 * The heads of requests to a URL, each ending in its empty line.
 *
 * @param {string} url
 * @param {boolean} [last] the connection is to end with the answer
 * @returns {(request: Request) => string}
 */
export function headsOf(url, last) {
  const { host, pathname, search } = new URL(url)
  /** Of requests without a path of their own, which are all of one kind. */
  let common = ''
  const startOf = (/** @type {Request} */ { method, path, headers }) => {
    return `${method} ${path ?? pathname + search} ${headersOf(host, headers, last)}`
  }
  return (request) => {
    const { method, path, body } = request
    if (path === null) common ||= startOf(request)
    const start = path === null ? common : startOf(request)
    // Where a method is expected to carry a body, an empty one has a length too (RFC 9110, 8.6).
    const isBodiless = body.length === 0 && (method === 'GET' || method === 'HEAD')
    return start + (isBodiless ? '\r\n' : `Content-Length: ${body.length}\r\n\r\n`)
  }
}

/** From the version on, without length and empty line. @param {string} host @param {Request['headers']} headers @param {boolean} [last] */
export function headersOf(host, headers, last = false) {
  const lines = ['HTTP/1.1', `Host: ${host}`, ...headers.map((pair) => pair.join(': '))]
  if (last) lines.push('Connection: close')
  return `${lines.join('\r\n')}\r\n`
}
