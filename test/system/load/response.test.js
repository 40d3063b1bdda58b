import http from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import { readResponse } from '../../support/read-response.js'
import { seeded } from '../../support/seeded.js'

const token = fc.stringMatching(/^[A-Za-z][\w-]{0,12}$/)
const value = fc.stringMatching(/^[!-~]([ -~]{0,20}[!-~])?$/)
const LENGTH_NAMES = /^(content-length|transfer-encoding|connection|upgrade)$/i
const fields = fc.array(
  fc.tuple(
    token.filter((name) => !LENGTH_NAMES.test(name)),
    value,
  ),
  { maxLength: 5 },
)
const body = fc.string({ unit: 'binary-ascii', maxLength: 40 })

const response = fc
  .record({
    minor: fc.constantFrom(0, 1),
    status: fc.oneof(fc.constantFrom(200, 201, 204, 304, 404, 503), fc.integer({ min: 200, max: 599 })),
    reason: fc.stringMatching(/^[ -~]{0,12}$/),
    interim: fc.array(fc.constantFrom(100, 102, 103), { maxLength: 3 }),
    connection: fc.constantFrom(null, 'close', 'keep-alive', 'Keep-Alive, X'),
    framing: fc.constantFrom('length', 'chunked', 'until-close'),
    chunks: fc.array(body, { maxLength: 4 }),
    ...{ fields, trailers: fields },
  })
  .map(({ minor, status, reason, interim, connection, framing, fields, trailers, chunks }) => {
    const lines = (/** @type {[string, string][]} */ pairs) =>
      pairs.map(([name, own]) => `${name}: ${own}\r\n`).join('')
    const text = chunks.join('')
    const chunked = chunks
      .filter((chunk) => chunk !== '')
      .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    const bodies = { length: text, chunked: `${chunked.join('')}0\r\n${lines(trailers)}\r\n`, 'until-close': text }
    const heads = {
      length: `Content-Length: ${text.length}\r\n`,
      chunked: 'Transfer-Encoding: chunked\r\n',
      'until-close': '',
    }
    const isBodiless = status === 204 || status === 304
    return [
      ...interim.map((code) => `HTTP/1.1 ${code} Interim\r\n\r\n`),
      `HTTP/1.${minor} ${status} ${reason}\r\n`,
      ...(connection ? [`Connection: ${connection}\r\n`] : []),
      lines(fields),
      `${heads[framing]}\r\n`,
      isBodiless ? '' : bodies[framing],
    ].join('')
  })

t.test('valid responses are read as Node’s own client reads them, wherever they are cut', async (t) => {
  const property = fc.asyncProperty(response, fc.array(fc.nat(300), { maxLength: 4 }), async (text, cuts) => {
    const node = await readByNode(text)
    const at = [0, ...cuts.map((cut) => cut % text.length).sort((a, b) => a - b), text.length]
    const parts = at
      .slice(1)
      .map((end, i) => text.slice(at[i], end))
      .filter((part) => part !== '')
    const { status } = /** @type {any} */ (readResponse(parts))
    if (status !== node && !waitsInVain(text, node))
      throw new Error(`expected ${node}, got ${JSON.stringify(readResponse(parts))}`)
  })
  await fc.assert(property, seeded(1000))
  t.pass('1,000 responses')
})

t.test('any bytes end in an answer or an error, and what is accepted is accepted by Node, too', async (t) => {
  const mangled = fc.tuple(
    response,
    fc.nat(),
    fc.string({ unit: fc.constantFrom(...'\0\u0001\t\r\n ,;:+-.0159Afx'), maxLength: 3 }),
    fc.nat(3),
  )
  let compared = 0
  const property = fc.asyncProperty(mangled, async ([text, position, put, cut]) => {
    const at = position % text.length
    const bytes = text.slice(0, at) + put + text.slice(at + cut)
    if (bytes === '') return
    const own = readResponse([bytes])
    if (typeof own === 'string' || MORE_LENIENT.test(bytes)) return
    compared++
    const node = await readByNode(bytes)
    if (own.status !== node && !waitsInVain(bytes, node)) throw new Error(`expected ${node}, got ${own.status}`)
  })
  await fc.assert(property, seeded(3000))
  t.ok(compared > 300, `${compared} of 3,000 mangled responses were accepted`)
})

/** A response without a body may state a length (RFC 9110, 8.6); Node 20.19 waits for what its header announces. @param {string} text @param {unknown} node */
function waitsInVain(text, node) {
  return node === 'cut' && /^HTTP\/1\.\d (204|304)/m.test(text) && /content-length|transfer-encoding/i.test(text)
}

/**
 * Where RFC 9112 has a client accept what Node refuses: folded headers, tabs around values, a repeated length, minor versions
 * to come, interim responses of HTTP/1.0, spaces behind a chunk size. A chunk extension without a name is nobody's right, and
 * harms nobody.
 */
const MORE_LENIENT = /\r\n[ \t]|\t|content-length:.*,|HTTP\/1\.[2-9]|HTTP\/1\.0 1|[\da-f] +[\r;]|;\r/i

/**
 * Status of the response that Node's client makes of bytes and the end of the connection behind them.
 * @param {string} text
 * @returns {Promise<number | string>} a code where it is malformed
 */
function readByNode(text) {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read() {},
      write(_bytes, _encoding, done) {
        done()
        socket.push(Buffer.from(text, 'latin1'))
        socket.push(null)
      },
    })
    const req = http.get({ createConnection: () => /** @type {any} */ (socket) })
    req.on('response', (res) => {
      res.on('end', () => resolve(res.complete ? Number(res.statusCode) : 'cut'))
      res.on('error', () => resolve('cut'))
      res.resume()
    })
    req.on('upgrade', () => resolve('upgrade'))
    req.on('error', (error) => resolve(/** @type {any} */ (error).code))
  })
}
