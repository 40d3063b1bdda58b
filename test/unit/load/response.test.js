import http from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import t from 'tap'
import { ProtocolError, ResponseReader } from '../../../load/drivers/response.js'
import { ENDLESS, MALFORMED, VALID } from '../../support/hostile.js'
import { seeded } from '../../support/seeded.js'

const LINE = 'HTTP/1.1 201 Row\r\n'

/**
 * What a reader makes of bytes that arrive in parts, and of the end of the connection behind them.
 *
 * @param {string[]} parts
 * @param {{ bodiless?: boolean }} [options]
 */
function read(parts, options) {
  const reader = new ResponseReader(options)
  for (const [i, part] of parts.entries()) {
    const answer = reader.read(Buffer.from(part, 'latin1'))
    if (answer instanceof ProtocolError) return 'malformed'
    // What follows an answer belongs to the next one.
    if (answer) return i === parts.length - 1 ? answer : 'more'
  }
  return reader.end() ?? 'cut'
}

/** In two parts, cut at every position, and byte by byte. @param {string} text @returns {string[][]} */
function splits(text) {
  const halves = Array.from({ length: text.length - 1 }, (_, i) => [text.slice(0, i + 1), text.slice(i + 1)])
  return [[text], [...text], ...halves]
}

t.test('valid responses are read the same however they arrive', async (t) => {
  for (const [name, response] of Object.entries(VALID)) {
    for (const parts of splits(response(LINE))) {
      t.strictSame(read(parts), { status: 201, keepAlive: true }, `${name}: ${JSON.stringify(parts)}`)
    }
  }
})

t.test('malformed responses are malformed however they arrive', async (t) => {
  for (const [name, response] of Object.entries(MALFORMED)) {
    for (const parts of splits(response(LINE))) {
      const isSurplus = /behind a response|where there is none/.test(name)
      // Surplus that arrives later is for the connection to judge.
      t.ok(read(parts) === 'malformed' || (isSurplus && read(parts) === 'more'), `${name}: ${JSON.stringify(parts)}`)
    }
  }
})

t.test('endless text is given up within 65 KiB', async (t) => {
  for (const [name, endless] of Object.entries(ENDLESS)) {
    const { first, again } = endless(LINE)
    const reader = new ResponseReader()
    reader.read(Buffer.from(first))
    let bytes = first.length
    while (!(reader.read(Buffer.from(again)) instanceof ProtocolError) && bytes < 2 ** 20) bytes += again.length
    t.ok(bytes < 65 * 1024, `${name}: ${bytes} bytes`)
  }
})

t.test('where a response ends, and whether the connection can be used again', async (t) => {
  const rows = [
    ['HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n', {}, { status: 204, keepAlive: true }, '204 has no body'],
    ['HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', {}, { status: 304, keepAlive: true }, 'nor has 304'],
    [
      `${LINE}Content-Length: 5\r\n\r\n`,
      { bodiless: true },
      { status: 201, keepAlive: true },
      'nor a response to HEAD',
    ],
    [
      `${LINE}Transfer-Encoding: chunked\r\n\r\n`,
      { bodiless: true },
      { status: 201, keepAlive: true },
      'chunked or not',
    ],
    [`${LINE}Content-Length: 5\r\n\r\nabcd`, {}, 'cut', 'a body that is too short'],
    [`${LINE}Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n`, {}, 'cut', 'a body without its end'],
    [`${LINE}\r\nabc`, {}, { status: 201, keepAlive: false }, 'without a length it ends with the connection'],
    [`${LINE}\r\n`, {}, { status: 201, keepAlive: false }, 'also when it is empty'],
    [`${LINE}Transfer-Encoding: gzip\r\n\r\nabc`, {}, { status: 201, keepAlive: false }, 'so does another coding'],
    [`${LINE}Transfer-Encoding: gzip, Chunked\r\n\r\n0\r\n\r\n`, {}, { status: 201, keepAlive: true }, 'chunked last'],
    [
      `${LINE}Transfer-Encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
      {},
      { status: 201, keepAlive: true },
      'in two headers',
    ],
    [`${LINE}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n`, {}, 'malformed', 'chunked twice'],
    [
      `${LINE}Content-Length: 3, 3\r\ncontent-length: 3\r\n\r\nabc`,
      {},
      { status: 201, keepAlive: true },
      'one length, repeated',
    ],
    [`${LINE}Connection: close\r\nContent-Length: 0\r\n\r\n`, {}, { status: 201, keepAlive: false }, 'close'],
    [
      `${LINE}Connection: X, Close\r\nContent-Length: 0\r\n\r\n`,
      {},
      { status: 201, keepAlive: false },
      'close in a list',
    ],
    [
      `${LINE}Connection: disclose\r\nContent-Length: 0\r\n\r\n`,
      {},
      { status: 201, keepAlive: true },
      'a word with close in it',
    ],
    ['HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n', {}, { status: 200, keepAlive: false }, 'HTTP/1.0'],
    [
      'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n',
      {},
      { status: 200, keepAlive: true },
      'HTTP/1.0 with keep-alive',
    ],
    [
      'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      {},
      { status: 200, keepAlive: false },
      'HTTP/1.0 knows no chunks',
    ],
    [`\r\n\r\n${LINE}Content-Length: 0\r\n\r\n\r\n`, {}, { status: 201, keepAlive: true }, 'empty lines around it'],
    [`${LINE}A: b\r\n c\r\nContent-Length: 0\r\n\r\n`, {}, { status: 201, keepAlive: true }, 'a folded header'],
    [`${LINE}\r\n`.replaceAll('\r', ''), {}, 'malformed', 'line ends without CR'],
  ]
  for (const [text, options, expected, about] of /** @type {[string, object, any, string][]} */ (rows)) {
    t.strictSame(read([text], options), expected, about)
  }
})

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
    const { status } = /** @type {any} */ (read(parts))
    if (status !== node) throw new Error(`expected ${node}, got ${JSON.stringify(read(parts))}`)
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
  const property = fc.asyncProperty(mangled, async ([text, position, put, cut]) => {
    const at = position % text.length
    const bytes = text.slice(0, at) + put + text.slice(at + cut)
    if (bytes === '') return
    const own = read([bytes])
    if (typeof own === 'string' || MORE_LENIENT.test(bytes)) return
    const node = await readByNode(bytes)
    if (own.status !== node) throw new Error(`expected ${node}, got ${own.status}`)
  })
  await fc.assert(property, seeded(3000))
  t.pass('3,000 mangled responses')
})

/**
 * Where RFC 9112 has a client accept what Node refuses: folded headers, tabs around values, a repeated length, minor versions
 * to come, interim responses of HTTP/1.0, spaces behind a chunk size. A chunk extension without a name is nobody's right, and
 * harms nobody.
 */
const MORE_LENIENT = /\r\n[ \t]|\t|content-length:.*,|HTTP\/1\.[2-9]|HTTP\/1\.0 1|[\da-f] +[\r;]|;\r/i

/**
 * Status of the response that Node's client makes of bytes and the end of the connection behind them.
 *
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
