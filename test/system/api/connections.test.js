import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { counted, metric, newUser, post, startApi, untilMetric } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { answers, connect, ended, rawPost } from '../../support/socket.js'
import { whileCalm } from '../../support/stalls.js'
import { until } from '../../support/until.js'

const database = await newDatabase(t)
const api = await startApi(t, database.url, { BODY_LIMIT_BYTES: '1000' })
/** Gives up on slow and idle clients, and therefore serves no others: on a busy machine they would be slow, too. */
const impatient = await startApi(t, database.url, {
  REQUEST_TIMEOUT_MS: '1000',
  KEEP_ALIVE_TIMEOUT_MS: '1000',
  BODY_LIMIT_BYTES: '1000',
})

const MALFORMED = 'redline_problems_total{code="malformed_http"}'
const FINE = 'redline_answers_total{status="200"}'
const body = () => JSON.stringify(newUser())

/** Number of rows of a user. @param {{ email: string }} user */
async function stored({ email }) {
  return (await rows(database.url, `SELECT 1 FROM users WHERE email = '${email}'`)).length
}

// Whatever a client did, the next one is served.
t.afterEach(async () => {
  const { status } = await post(api.url, newUser())
  if (status !== 201) throw new Error(`expected 201 afterwards, got ${status}`)
})

t.test('1000 requests in one write get 1000 answers in order', async (t) => {
  const socket = await connect(api.url)
  socket.write(Array.from({ length: 1000 }, () => rawPost(body())).join('') + rawPost('nonsense'))
  t.strictSame(await answers(socket, 1001), [...Array(1000).fill(201), 400])
  socket.destroy()
})

t.test('a request split at every byte is one request', async (t) => {
  const socket = await connect(api.url)
  socket.setNoDelay(true)
  for (const byte of rawPost(body())) {
    socket.write(byte)
    await new Promise(setImmediate)
  }
  t.strictSame(await answers(socket, 1), [201])
  socket.destroy()
})

t.test('a chunked body is a body, and one beyond the limit a 413', async (t) => {
  const head = 'POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
  const chunked = (/** @type {string} */ text) => `${text.length.toString(16)}\r\n${text}\r\n`
  const socket = await connect(api.url)
  socket.write(`${head}${chunked(body())}0\r\n\r\n${head}${chunked('x'.repeat(600))}${chunked('x'.repeat(600))}`)
  t.strictSame(await answers(socket, 2), [201, 413], 'the 413 does not wait for the rest')
  socket.write(`0\r\n\r\n${rawPost(body())}`)
  t.strictSame(await answers(socket, 3), [201, 413, 201], 'and the connection goes on behind it')
  socket.destroy()
})

t.test('a body that is announced too large is refused before it comes', async (t) => {
  const socket = await connect(api.url)
  socket.write(
    'POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n',
  )
  t.strictSame(await answers(socket, 1), [413])
  socket.destroy()
})

const malformed = {
  'no HTTP at all': 'nonsense\r\n\r\n',
  'two lengths': 'POST /user HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
  'a length and chunks':
    'POST /user HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a chunk size that is none':
    'POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  'a NUL in a header': 'GET /user/1 HTTP/1.1\r\nHost: x\r\nX: \0\r\n\r\n',
  'no Host': 'GET /user/1 HTTP/1.1\r\n\r\n',
  'a TLS hello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
}
for (const [about, bytes] of Object.entries(malformed)) {
  t.test(`${about}: 400, and the connection ends`, async (t) => {
    const socket = await connect(api.url)
    socket.write(bytes, 'latin1')
    await ended(socket)
    t.match(socket.text(), /^HTTP\/1\.1 400 /)
    socket.destroy()
  })
}

t.test('what came before a broken request is answered before it', async (t) => {
  const socket = await connect(api.url)
  socket.write(`${rawPost(body())}${rawPost(body())}nonsense\r\n\r\n`)
  t.strictSame(await answers(socket, 3), [201, 201, 400])
})

t.test('what came before a broken request is answered before it, even if the client reads late', async (t) => {
  const socket = await connect(api.url)
  socket.pause()
  const [user, READS] = [newUser(), 1100]
  const reads = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(READS)
  // In one read, the last of which is no request; the answers do not fit into the buffers of the kernel.
  socket.write(`${reads}${rawPost(JSON.stringify(user))}nonsense\r\n\r\n`)
  await until('its row', async () => (await stored(user)) === 1)
  socket.resume()
  t.strictSame(await answers(socket, READS + 2), [...Array(READS).fill(200), 201, 400])
  await ended(socket)
})

t.test('what goes on behind a broken request is refused once', async (t) => {
  const [refused, fine] = [await metric(api, MALFORMED), await counted(api, FINE)]
  const socket = await connect(api.url)
  socket.pause()
  socket.write(`${'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1100)}nonsense\r\n\r\n`)
  socket.write('more nonsense\r\n\r\n'.repeat(20_000))
  // None is in flight, either, before it has read the first.
  await until('every answer', async () => {
    return (await counted(api, FINE)) > fine && (await metric(api, 'redline_in_flight_requests')) === 0
  })
  socket.resume()
  await ended(socket)
  t.equal(await metric(api, MALFORMED), refused + 1)
  socket.destroy()
})

t.test('a request without Host, or for another protocol, is answered, and nothing behind it is stored', async (t) => {
  for (const [head, status, code] of /** @type {[string, number, RegExp][]} */ ([
    ['GET /user/2000000000 HTTP/1.1\r\n\r\n', 400, /"code":"malformed_http"/],
    [
      'GET /user/2000000000 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
      404,
      /"code":"not_found"/,
    ],
  ])) {
    const socket = await connect(api.url)
    const late = newUser()
    socket.write(head + rawPost(JSON.stringify(late)))
    await ended(socket)
    t.strictSame(await answers(socket, 1), [status])
    t.match(socket.text(), /\r\nConnection: close\r\n/i)
    t.match(socket.text(), code)
    await untilMetric(api, 'redline_in_flight_requests', 0)
    t.equal(await stored(late), 0)
    socket.destroy()
  }
})

t.test('headers beyond what Node takes: 431', async (t) => {
  const socket = await connect(api.url)
  socket.write(`GET /user/1 HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)
  await ended(socket)
  t.match(socket.text(), /^HTTP\/1\.1 431 [\s\S]*"code":"headers_too_large"/)
})

t.test('an Expect that nobody knows: 417', async (t) => {
  const socket = await connect(api.url)
  socket.write(rawPost(body(), 'Expect: the unexpected\r\n'))
  t.strictSame(await answers(socket, 1), [417])
  socket.destroy()
})

const slow = {
  'says nothing': '',
  'stops in its headers': 'POST /user HTTP/1.1\r\nHost: x\r\n',
  'stops in its body':
    'POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"email"',
}
for (const [about, bytes] of Object.entries(slow)) {
  t.test(`a client that ${about} is timed out`, async (t) => {
    const socket = await connect(impatient.url)
    socket.write(bytes)
    await ended(socket)
    t.match(socket.text(), /^HTTP\/1\.1 408 [\s\S]*"code":"request_timeout"/)
  })
}

t.test('a client that drips a byte at a time is timed out all the same', async (t) => {
  const socket = await connect(impatient.url)
  const drip = setInterval(() => socket.write('X'), 50)
  socket.write('POST /user HTTP/1.1\r\nHost: x\r\nX-')
  await ended(socket)
  clearInterval(drip)
  t.match(socket.text(), /^HTTP\/1\.1 408 /)
  socket.destroy()
})

t.test('a client that goes on dripping behind its 413 is timed out, too', async (t) => {
  const socket = await connect(impatient.url)
  const head = 'POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
  socket.write(`${rawPost(body())}${head}Transfer-Encoding: chunked\r\n\r\n7d0\r\n${'x'.repeat(2000)}\r\n`)
  const drip = setInterval(() => socket.write('1\r\nx\r\n'), 50)
  await ended(socket)
  clearInterval(drip)
  t.strictSame(await answers(socket, 3), [201, 413, 408], 'and told so')
  socket.destroy()
})

t.test('a connection that is idle behind its answer is closed', async (t) => {
  const socket = await connect(impatient.url)
  socket.write('GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n')
  t.strictSame(await answers(socket, 1), [200])
  await ended(socket)
  t.strictSame(await answers(socket, 2), [200], 'without another answer')
  socket.destroy()
})

t.test('a connection that has been used for longer than its timeout stays open between requests', async (t) => {
  const request = 'GET /user/1 HTTP/1.1\r\nHost: x\r\n\r\n'
  // A client that stands still is idle, too.
  const [sent, answered] = await whileCalm(t, 500, async () => {
    const [used, idle] = [await connect(impatient.url), await connect(impatient.url)]
    idle.write(request)
    t.equal((await answers(idle, 1)).length, 1)
    const isOver = () => idle.readableEnded || idle.destroyed
    let [sent, answered] = [0, 0]
    const use = async () => {
      used.write(request)
      answered = (await answers(used, ++sent)).length
    }
    while (!isOver() && answered === sent) await Promise.all([use(), setTimeout(50)])
    await ended(idle)
    if (answered === sent) await use()
    used.destroy()
    return [sent, answered]
  })
  t.equal(answered, sent, 'though it is older than the one that was closed')
})

t.test('a client that does not read its answers is cut off', async (t) => {
  const settings = { REQUEST_TIMEOUT_MS: '500', POOL_CONNECT_TIMEOUT_MS: '250', STATEMENT_TIMEOUT_MS: '250' }
  const deaf = await startHere(t, database.url, settings)
  const socket = await connect(deaf.url)
  socket.pause()
  const description = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'
  socket.write(description.repeat(5000))
  // A counter stays, where the connection may be gone before somebody looks.
  await until('it to be served', async () => (await counted(deaf, FINE)) > 0)
  await untilMetric(deaf, 'redline_connections', 0)
  socket.destroy()
})

t.test('HEAD is answered without a body, and the next request in full', async (t) => {
  const socket = await connect(api.url)
  socket.write('HEAD /openapi.json HTTP/1.1\r\nHost: x\r\n\r\nGET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n')
  t.strictSame(await answers(socket, 2), [200, 200])
  const lengths = socket.text().match(/(?<=content-length: )\d+/gi) ?? []
  await until('all of the body', () => Buffer.byteLength(socket.text().split('\r\n\r\n')[2]) >= Number(lengths[1]))
  const [, ofHead, body] = socket.text().split('\r\n\r\n')
  t.match(ofHead, /^HTTP\/1\.1 200 /, 'no body between the two heads')
  t.equal(lengths[0], lengths[1])
  t.equal(Buffer.byteLength(body), Number(lengths[1]))
  t.ok(JSON.parse(body).openapi)
  socket.destroy()
})

t.test('a client that closes its side behind its request gets its answer', async (t) => {
  const socket = await connect(api.url)
  socket.end(rawPost(body()))
  await ended(socket)
  t.match(socket.text(), /^HTTP\/1\.1 201 /)
})

t.test('a client that goes away in the middle of its body leaves no row', async (t) => {
  const [{ count: before }] = await rows(database.url, 'SELECT count(*)::int FROM users')
  for (let i = 0; i < 20; i++) {
    const socket = await connect(api.url)
    socket.write(rawPost(body()).slice(0, -5))
    socket.destroy()
  }
  await post(api.url, newUser())
  const [{ count: after }] = await rows(database.url, 'SELECT count(*)::int FROM users')
  t.equal(after - before, 1)
})

t.test('when they are all gone, no connection, descriptor or request is left', async (t) => {
  const descriptors = async () => (await metric(api, 'process_open_fds')) - (await metric(api, 'redline_pool_total'))
  // Those of fetch stay open, or are closed by and by.
  const others = await metric(api, 'redline_connections')
  await untilMetric(api, 'redline_in_flight_requests', 0)
  const before = await descriptors()
  const sockets = await Promise.all(Array.from({ length: 50 }, () => connect(api.url)))
  for (const socket of sockets) socket.write(rawPost(body()).slice(0, -1))
  await untilMetric(api, 'redline_in_flight_requests', 50)
  t.ok((await metric(api, 'redline_connections')) >= 50)
  for (const socket of sockets) socket.destroy()
  await until('as few connections as before', async () => (await metric(api, 'redline_connections')) <= others)
  await untilMetric(api, 'redline_in_flight_requests', 0)
  await until('as many descriptors as before', async () => (await descriptors()) <= before)
})

t.test('clients that are timed out leave no connection, descriptor or request', async (t) => {
  await untilMetric(impatient, 'redline_connections', 0)
  const before = await metric(impatient, 'process_open_fds')
  const sockets = await Promise.all(Array.from({ length: 50 }, () => connect(impatient.url)))
  for (const socket of sockets) socket.write(rawPost(body()).slice(0, -1))
  await Promise.all(sockets.map(ended))
  for (const socket of sockets) t.match(socket.text(), /^HTTP\/1\.1 408 /)
  for (const socket of sockets) socket.destroy()
  await untilMetric(impatient, 'redline_connections', 0)
  await untilMetric(impatient, 'redline_in_flight_requests', 0)
  await until('as many descriptors as before', async () => (await metric(impatient, 'process_open_fds')) <= before)
})
