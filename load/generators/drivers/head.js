/** @import { Request } from '../mix.js' */

/**
 * Creates the heads of requests to a URL, each ending in an empty line.
 * @param {string} url @param {boolean} [last] whether the server should close the connection after the response
 * @returns {(request: Request) => string}
 */
export function headsOf(url, last) {
  const { host, pathname, search } = new URL(url)
  /** Start of every request without its own path: they share method and headers. */
  let common = ''
  const startOf = (/** @type {Request} */ { method, path, headers }) => {
    return `${method} ${path ?? pathname + search} ${headersOf(host, headers, last)}`
  }
  return (request) => {
    const { method, path, body } = request
    if (path === null) common ||= startOf(request)
    const start = path === null ? common : startOf(request)
    // Methods that normally carry a body need a Content-Length even if the body is empty (RFC 9110, 8.6).
    const isBodiless = body.length === 0 && (method === 'GET' || method === 'HEAD')
    return start + (isBodiless ? '\r\n' : `Content-Length: ${body.length}\r\n\r\n`)
  }
}

/** Head from the HTTP version on, without Content-Length and the final empty line. @param {string} host @param {Request['headers']} headers @param {boolean} [last] */
export function headersOf(host, headers, last = false) {
  const lines = ['HTTP/1.1', `Host: ${host}`, ...headers.map((pair) => pair.join(': '))]
  if (last) lines.push('Connection: close')
  return `${lines.join('\r\n')}\r\n`
}
