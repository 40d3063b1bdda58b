import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { newUser, post, startApi, untilMetric } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { blockTable, rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { answers, connect, ended, rawPost } from '../../support/socket.js'
import { within } from '../../support/until.js'

/** Halfway between what the floods below take (90 MB) and what they would if each piece were kept (180 MB). */
const MAX_RSS_MB = 140
/** Of a body of ten thousand pieces, what Node's parser may pass on. The API counts them: seconds of CPU would depend on the machine. */
const MAX_PIECES = 500
/** As many as any body may have (api/body.js): a refusal has counted more. */
const FREE_PIECES = 128

const JSON_TYPE = { 'Content-Type': 'application/json' }
const ATTACKER = fileURLToPath(new URL('../../support/tiny-chunks.js', import.meta.url))

const HEAD = 'POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
const GET_WITH_BODY = 'GET /user/2000000000 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n'
const database = await newDatabase(t)
const api = await startHere(t, database.url)

/** @param {number} bytes length of the JSON of a user, as the password fills it up */
function userOf(bytes) {
  const short = JSON.stringify({ ...newUser(), more: '' })
  return short.replace('"more":""', `"more":"${'x'.repeat(bytes - short.length)}"`)
}

/** @param {string} text @param {number} chunkBytes @param {string} [extension] of every chunk */
function chunked(text, chunkBytes, extension = '') {
  const chunks = text.match(new RegExp(`.{1,${chunkBytes}}`, 'gs')) ?? []
  return `${chunks.map((chunk) => `${chunk.length.toString(16)}${extension}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`
}

/** @type {[string, string][]} */
const wellFramed = [
  ['one chunk', chunked(userOf(16_000), 16_000)],
  ['one-byte chunks, as long as the body is short', chunked(userOf(120), 1)],
  ['16-byte chunks', chunked(userOf(2000), 16)],
  ['64-byte chunks up to the limit of the body', chunked(userOf(16_000), 64)],
  ['chunks with extensions', chunked(userOf(4000), 64, `;name="${'x'.repeat(100)}"`)],
  ['chunks and trailers', chunked(userOf(500), 50).replace(/\r\n$/, 'X-Checksum: 1\r\n\r\n')],
]
for (const [about, body] of wellFramed) {
  t.test(`a body in ${about} is accepted, whole and split`, async (t) => {
    const socket = await connect(api.url)
    socket.setNoDelay(true)
    socket.write(HEAD + body)
    t.strictSame(await answers(socket, 1), [201])
    const middle = Math.floor(body.length / 2)
    for (const part of [HEAD.slice(0, 20), HEAD.slice(20), body.slice(0, middle), body.slice(middle)]) {
      socket.write(part)
      await new Promise(setImmediate)
    }
    t.strictSame(await answers(socket, 2), [201, 201], 'on the same connection')
    socket.destroy()
  })
}

t.test('a chunk that trickles in byte by byte is accepted', async (t) => {
  const socket = await connect(api.url)
  socket.setNoDelay(true)
  socket.write(HEAD)
  for (const byte of chunked(userOf(1000), 1000)) {
    socket.write(byte)
    await new Promise(setImmediate)
  }
  t.strictSame(await answers(socket, 1), [201])
  socket.destroy()
})

/** @type {[string, string, number[], RegExp][]} */
const absurd = [
  ['one-byte chunks', HEAD + '1\r\nx\r\n'.repeat(10_000), [400], /"code":"chunks_too_small"/],
  [
    'one-byte chunks for a path that reads no body',
    `${GET_WITH_BODY}${'1\r\nx\r\n'.repeat(10_000)}`,
    [404, 400],
    /small/,
  ],
  ['one-byte chunks behind a 415', HEAD.replace('json', 'xml') + '1\r\nx\r\n'.repeat(10_000), [415, 400], /small/],
  ['one-byte chunks behind a request', rawPost(userOf(100)) + HEAD + '1\r\nx\r\n'.repeat(9000), [201, 400], /small/],
  [
    'one-byte chunks behind a 417',
    HEAD.replace('\r\n\r\n', '\r\nExpect: nonsense\r\n\r\n') + '1\r\nx\r\n'.repeat(10_000),
    [417, 400],
    /small/,
  ],
  [
    'one-byte chunks behind a request that ends its connection',
    `GET /openapi.json HTTP/1.1\r\n\r\n${HEAD}${'1\r\nx\r\n'.repeat(10_000)}`,
    [400],
    /malformed_http/,
  ],
  ['an endless chunk extension', `${HEAD}1;${'x'.repeat(60_000)}`, [400], /"code":"malformed_http"/],
  ['endless trailers', `${HEAD}1\r\nx\r\n0\r\n${'X: y\r\n'.repeat(10_000)}`, [431], /"code":"headers_too_large"/],
]
for (const [about, bytes, statuses, code] of absurd) {
  t.test(`${about}: refused, and the connection is closed`, async (t) => {
    const pieces = t.capture(IncomingMessage.prototype, 'push', IncomingMessage.prototype.push)
    const socket = await connect(api.url)
    socket.write(bytes)
    await ended(socket)
    t.strictSame(await answers(socket, statuses.length), statuses)
    t.match(socket.text(), code)
    const { length } = pieces()
    const least = String(code).includes('small') ? FREE_PIECES : 0
    t.ok(length >= least && length < MAX_PIECES, `Node's parser passed ${length} pieces to the API`)
    socket.destroy()
    t.equal((await post(api.url, newUser())).status, 201, 'the next client is served')
  })
}

t.test('a whole body of tiny chunks is refused, and neither it nor what came with it is a row', async (t) => {
  for (const behind of ['', rawPost(userOf(100))]) {
    const before = await rows(database.url, 'SELECT count(*) FROM users')
    const socket = await connect(api.url)
    socket.write(HEAD + chunked(userOf(1000), 1) + behind)
    await ended(socket)
    t.strictSame(await answers(socket, 1), [400])
    t.match(socket.text(), /\r\nConnection: close\r\n[\s\S]*"code":"chunks_too_small"/i)
    await untilMetric(api, 'redline_in_flight_requests', 0)
    t.strictSame(await rows(database.url, 'SELECT count(*) FROM users'), before)
    socket.destroy()
  }
})

t.test('what follows a refused body in the same read is not stored', async (t) => {
  const socket = await connect(api.url)
  socket.setNoDelay(true)
  const late = newUser()
  socket.write(HEAD + '1\r\nx\r\n'.repeat(100))
  await untilMetric(api, 'redline_in_flight_requests', 1)
  socket.write(`${'1\r\nx\r\n'.repeat(100)}0\r\n\r\n${rawPost(JSON.stringify(late))}`)
  await ended(socket)
  t.strictSame(await answers(socket, 1), [400])
  await untilMetric(api, 'redline_in_flight_requests', 0)
  t.strictSame(await rows(database.url, `SELECT 1 FROM users WHERE email = '${late.email}'`), [])
})

t.test('tiny chunks behind the head of a request that waits end its connection once it is answered', async (t) => {
  const release = await blockTable(t, database.url)
  const socket = await connect(api.url)
  socket.setNoDelay(true)
  const late = newUser()
  socket.write(GET_WITH_BODY)
  await untilMetric(api, 'redline_in_flight_requests', 1)
  socket.write(`${'1\r\nx\r\n'.repeat(300)}0\r\n\r\n${rawPost(JSON.stringify(late))}`)
  await release()
  await ended(socket)
  t.strictSame(await answers(socket, 2), [404, 400])
  await untilMetric(api, 'redline_in_flight_requests', 0)
  t.strictSame(await rows(database.url, `SELECT 1 FROM users WHERE email = '${late.email}'`), [])
  socket.destroy()
})

t.test('floods of chunks behind requests that wait are not read, and every request gets its answer', async (t) => {
  const PIECES = 300
  const PIECE = Buffer.from('1\r\nx\r\n'.repeat(10_000))
  const release = await blockTable(t, database.url)
  const sockets = await Promise.all(Array.from({ length: 5 }, () => connect(api.url)))
  let taken = 0
  for (const socket of sockets) {
    socket.write(rawPost(userOf(100)) + GET_WITH_BODY.replace('/user/2000000000', '/openapi.json'))
    for (let i = 0; i < PIECES; i++) {
      socket.write(PIECE, (error) => {
        if (!error) taken++
      })
    }
  }
  // Whatever fits into the buffers of both kernels goes out, and no more.
  for (let before = -1; before < taken; await new Promise((resolve) => setTimeout(resolve, 700))) before = taken
  t.ok(taken < (PIECES / 2) * sockets.length, `${taken} pieces were taken while the first requests waited`)
  await release()
  for (const socket of sockets) {
    t.strictSame(await answers(socket, 3), [201, 200, 400])
    socket.destroy()
  }
})

t.test('after a refusal, bodies in chunks are accepted again on every connection', async (t) => {
  const refused = await Promise.all(Array.from({ length: 20 }, () => connect(api.url)))
  for (const socket of refused) socket.write(HEAD + '1\r\nx\r\n'.repeat(10_000))
  await Promise.all(refused.map((socket) => answers(socket, 1)))
  const fine = await Promise.all(Array.from({ length: 40 }, () => connect(api.url)))
  for (const socket of fine) socket.write(HEAD + chunked(userOf(100), 10))
  const statuses = await Promise.all(fine.map((socket) => answers(socket, 1)))
  t.strictSame([...new Set(statuses.flat())], [201])
  for (const socket of [...refused, ...fine]) socket.destroy()
})

const skip = existsSync('/proc/self/status') ? undefined : 'the peak of the memory is read from /proc'

t.test('a flood of unfinished bodies: bounded memory, and others are served', { skip }, async (t) => {
  // With a large young generation, the peak would show when V8 collects rather than what the bodies hold.
  const api = await startApi(t, database.url, {}, ['--max-semi-space-size=1'])
  t.equal((await post(api.url, newUser())).status, 201)
  for (const [about, connections, chunkBytes] of /** @type {[string, number, number][]} */ ([
    ['the smallest chunks that are accepted', 750, 44],
    ['one-byte chunks', 250, 1],
  ])) {
    const program = [ATTACKER, api.url, connections, chunkBytes, 16_000].map(String)
    const attacker = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => attacker.kill('SIGKILL'))
    const lines = createInterface(attacker.stdout)[Symbol.asyncIterator]()
    t.equal((await within('open connections', lines.next())).value, 'open')
    let isOver = false
    const over = lines.next().finally(() => {
      isOver = true
    })
    const statuses = []
    do {
      statuses.push((await post(api.url, newUser(), { ...JSON_TYPE, Connection: 'close' })).status)
    } while (!isOver)
    t.strictSame([...new Set(statuses)], [201], `${about}: every answer of ${statuses.length} is a 201`)
    t.match(JSON.parse((await over).value), { sent: connections }, 'beside all that the attacker has to send')
    const peak_mb = peakRss(api.pid)
    t.ok(peak_mb < MAX_RSS_MB, `${about}: peak RSS ${Math.round(peak_mb)} MB`)
    attacker.kill('SIGKILL')
    await untilMetric(api, 'redline_in_flight_requests', 0)
  }
})

/** @param {number} pid @returns {number} MB, the most that it has had */
function peakRss(pid) {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
