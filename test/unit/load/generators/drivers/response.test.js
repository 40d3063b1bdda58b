import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { ProtocolError, ResponseReader } from '../../../../../load/generators/drivers/response.js'
import { ENDLESS, MALFORMED, VALID } from '../../../../support/hostile.js'
import { readResponse } from '../../../../support/read-response.js'

const LINE = 'HTTP/1.1 201 Row\r\n'

/** In two parts, cut at every position, and byte by byte. @param {string} text @returns {string[][]} */
function splits(text) {
  const halves = Array.from({ length: text.length - 1 }, (_, i) => [text.slice(0, i + 1), text.slice(i + 1)])
  return [[text], [...text], ...halves]
}

t.test('valid responses are read the same however they arrive', async (t) => {
  for (const [name, response] of Object.entries(VALID)) {
    const wrong = splits(response(LINE)).filter((parts) => {
      return !isDeepStrictEqual(readResponse(parts), { status: 201, keepAlive: true })
    })
    t.strictSame(wrong, [], name)
  }
})

t.test('malformed responses are malformed however they arrive', async (t) => {
  for (const [name, response] of Object.entries(MALFORMED)) {
    // Surplus that arrives later is for the connection to judge.
    const isSurplus = /behind a response|where there is none/.test(name)
    const allowed = isSurplus ? ['malformed', 'more'] : ['malformed']
    const wrong = splits(response(LINE)).filter((parts) => !allowed.includes(String(readResponse(parts))))
    t.strictSame(wrong, [], name)
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
    t.strictSame(readResponse([text], options), expected, about)
  }
})

t.test('a response of a known shape is read like any other', async (t) => {
  /** @param {string} path @param {number | string} length @param {string} body @param {string} [line] */
  const text = (path, length, body, line = LINE) => {
    return `${line}Location: ${path}\r\nContent-Length: ${length}\r\nConnection: keep-alive\r\n\r\n${body}`
  }
  /** @type {any[]} */
  const shapes = []
  const read = (/** @type {string} */ one) => readResponse([one], { shapes })
  t.strictSame(read(text('/user/1', 2, 'ab')), { status: 201, keepAlive: true })
  t.strictSame(read(text('/user/23', 3, 'abc')), { status: 201, keepAlive: true })
  t.equal(shapes.length, 1, 'where values differ that do not matter, nothing is learned again')
  const others = [
    text('/user/1', 0, ''),
    text('/user/1', 3, 'ab'),
    text('/user/1', 1, 'ab'),
    text('/user/1', '+2', 'ab'),
    text('/user/1', '2, 2', 'ab'),
    text('/user/\0', 2, 'ab'),
    text('/user/1\r\nConnection: close', 2, 'ab'),
    text('/user/1', 2, 'ab').replace('keep-alive', 'close'),
    text('/user/1', 2, 'ab').replace('Location', 'Transfer-Encoding'),
    text('/user/1', 2, 'ab', 'HTTP/1.1 503 Row\r\n'),
    text('/user/1', 2, 'ab', 'HTTP/1.0 201 Row\r\n'),
    text('/user/1', 2, 'ab').repeat(2),
    text(`/${'x'.repeat(2000)}`, 2, 'ab'),
  ]
  const slowly = others.map((one) => readResponse([one], { shapes: [] }))
  t.ok(new Set(slowly.map((one) => JSON.stringify(one))).size >= 5)
  t.strictSame(others.map(read), slowly)
})

t.test('no more shapes are kept than help', async (t) => {
  /** @type {any[]} */
  const shapes = []
  for (let i = 0; i < 100; i++) readResponse([`${LINE}X-${i}: a\r\nContent-Length: 0\r\n\r\n`], { shapes })
  t.equal(shapes.length, 16)
})

t.test('a body is kept if asked for, however it arrives, and for one response only', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\n'
  const responses = {
    length: `${head}Content-Length: 7\r\n\r\n{"a":"ä"}`.replace('7', '10'),
    chunked: `${head}Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n7\r\n":"ä"}\r\n0\r\n\r\n`,
    close: `${head}\r\n{"a":"ä"}`,
    interim: `HTTP/1.1 100 Continue\r\n\r\n${head}Content-Length: 10\r\n\r\n{"a":"ä"}`,
  }
  for (const [name, text] of Object.entries(responses)) {
    const bytes = Buffer.from(text)
    for (let cut = 1; cut < bytes.length; cut++) {
      const reader = new ResponseReader()
      reader.keepsBody = true
      const parts = [bytes.subarray(0, cut), bytes.subarray(cut)]
      const read = parts.map((part) => {
        // As a connection does, which reads into the same buffer each time.
        const own = Buffer.from(part)
        const answer = reader.read(own)
        own.fill(0)
        return answer
      })
      const isWhole = name === 'close' ? reader.end() : read[1]
      if (!isWhole || reader.body !== '{"a":"ä"}') t.fail(`${name}, cut at ${cut}: ${reader.body}`)
    }
  }
  const reader = new ResponseReader()
  const plain = Buffer.from(responses.length)
  reader.read(plain)
  t.equal(reader.body, '', 'not asked for')
  reader.keepsBody = true
  t.strictSame(reader.read(plain), { status: 200, keepAlive: true })
  t.equal(reader.body, '{"a":"ä"}', 'also where its head is known by now')
  reader.keepsBody = false
  reader.read(plain)
  t.equal(reader.body === '{"a":"ä"}' && reader.keepsBody, false)
})

t.test('a body of more than a mebibyte is not kept', async (t) => {
  const reader = new ResponseReader()
  reader.keepsBody = true
  const head = Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${(1 << 20) + 1}\r\n\r\n`)
  t.equal(reader.read(head), null)
  t.equal(reader.read(Buffer.alloc(1 << 20, 'a')), null)
  t.equal(reader.body.length, 1 << 20)
  t.strictSame(reader.read(Buffer.from('a')), { status: 200, keepAlive: true })
  t.equal(reader.body, '')
})
