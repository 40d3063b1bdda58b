/**
 * The head of a request, ending in its empty line.
 *
 * @param {string} url
 * @param {import('../mix.js').Mix} mix
 * @param {{ last?: boolean }} [options] last: the connection is to end with the answer
 * @returns {(body: string | Buffer) => string}
 */
export function headOf(url, mix, { last = false } = {}) {
  const { host, pathname, search } = new URL(url)
  const lines = [
    `${mix.method} ${pathname}${search} HTTP/1.1`,
    `Host: ${host}`,
    ...mix.headers.map((pair) => pair.join(': ')),
    ...(last ? ['Connection: close'] : []),
  ]
  const start = `${lines.join('\r\n')}\r\n`
  // Where a method is expected to carry a body, an empty one has a length too (RFC 9110, 8.6).
  const bodiless = mix.method === 'GET' || mix.method === 'HEAD'
  return (body) => (bodiless && body.length === 0 ? `${start}\r\n` : `${start}Content-Length: ${body.length}\r\n\r\n`)
}
