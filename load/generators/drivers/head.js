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
  const own = pathname + search
  /** Few entries share them, and putting them together costs more than the rest. @type {Map<unknown, string>} */
  const known = new Map()
  return ({ method, path, headers, body }) => {
    let text = known.get(headers)
    if (text === undefined) {
      text = headersOf(host, headers, last)
      known.set(headers, text)
    }
    // Where a method is expected to carry a body, an empty one has a length too (RFC 9110, 8.6).
    const isBodiless = body.length === 0 && (method === 'GET' || method === 'HEAD')
    const length = isBodiless ? '' : `Content-Length: ${body.length}\r\n`
    return `${method} ${path ?? own} ${text}${length}\r\n`
  }
}

/** From the version on, without length and empty line. @param {string} host @param {Request['headers']} headers @param {boolean} [last] */
export function headersOf(host, headers, last = false) {
  const lines = ['HTTP/1.1', `Host: ${host}`, ...headers.map((pair) => pair.join(': '))]
  if (last) lines.push('Connection: close')
  return `${lines.join('\r\n')}\r\n`
}
