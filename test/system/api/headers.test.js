import t from 'tap'
import { metric, newUser } from '../../support/api.js'
import { startHere } from '../../support/api-here.js'
import { rows } from '../../support/database.js'
import { newDatabase } from '../../support/postgres.js'
import { answers, connect, ended, rawPost } from '../../support/socket.js'

const database = await newDatabase(t)
const api = await startHere(t, database.url)

/** More than the 1,000 header fields that Node keeps by default, in less than the 16 KiB that it reads. */
const MANY = 'a:\r\n'.repeat(1500)

/** @param {{ email: string }} user */
const stored = async ({ email }) => (await rows(database.url, 'SELECT FROM users WHERE email = $1', [email])).length

t.test('an Idempotency-Key behind a thousand other headers is read', async (t) => {
  const user = newUser()
  const request = rawPost(JSON.stringify(user), `${MANY}Idempotency-Key: late-${process.pid}\r\n`)
  const socket = await connect(api.url)
  socket.write(request + request)
  t.strictSame(await answers(socket, 2), [201, 201])
  t.equal(await stored(user), 1)
  socket.destroy()
})

t.test('a body in tiny chunks is refused behind a thousand other headers, too', async (t) => {
  const socket = await connect(api.url)
  const head = `POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${MANY}Transfer-Encoding: chunked\r\n\r\n`
  socket.write(head + '1\r\nx\r\n'.repeat(10_000))
  await ended(socket)
  t.match(socket.text(), /^HTTP\/1\.1 400 [\s\S]*"code":"chunks_too_small"/)
})

t.test('two Host headers: 400, and nothing behind them is stored', async (t) => {
  const late = newUser()
  const socket = await connect(api.url)
  socket.write(`GET /openapi.json HTTP/1.1\r\nHost: x\r\nhost: y\r\n\r\n${rawPost(JSON.stringify(late))}`)
  await ended(socket)
  t.strictSame(await answers(socket, 1), [400])
  t.match(socket.text(), /"code":"malformed_http","detail":"expected one Host header"/)
  t.equal(await stored(late), 0)
})

const BODY = JSON.stringify(newUser())
const CHUNK = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
const FAULTY = {
  'a Host that is none': `POST /user HTTP/1.1\r\nHost: x/y\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
  'a Host with two ports': `GET /openapi.json HTTP/1.1\r\nHost: x:1:2\r\n\r\n`,
  'a version without Host that is not 1.0': 'GET /openapi.json HTTP/2.0\r\n\r\n',
  'chunks in HTTP/1.0': chunkedHead('1.0', 'chunked\r\nConnection: keep-alive') + CHUNK,
  'a coding below the chunks': chunkedHead('1.1', 'gzip, chunked') + CHUNK,
  'an empty coding before a length': `${chunkedHead('1.1', `\r\nContent-Length: ${BODY.length}`)}${BODY}`,
}
for (const [about, request] of Object.entries(FAULTY)) {
  t.test(`${about}: 400, and neither it nor what comes behind it is stored`, async (t) => {
    const late = newUser()
    const socket = await connect(api.url)
    socket.write(request + rawPost(JSON.stringify(late)))
    await ended(socket)
    t.strictSame(await answers(socket, 1), [400])
    t.match(socket.text(), /\r\nConnection: close\r\n[\s\S]*"code":"malformed_http"/)
    t.strictSame([await stored(JSON.parse(BODY)), await stored(late)], [0, 0])
  })
}

/** @param {string} version of HTTP @param {string} coding */
function chunkedHead(version, coding) {
  return `POST /user HTTP/${version}\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: ${coding}\r\n\r\n`
}

const HOSTS = ['', 'x', 'x:', 'a-b.example:8080', '127.0.0.1:3000', '[::1]:3000', 'a_b', '%7Ea', "!$&'()*+,;=~"]
t.test('every Host that HTTP allows is accepted', async (t) => {
  const socket = await connect(api.url)
  for (const host of HOSTS) socket.write(`GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  t.strictSame(
    await answers(socket, HOSTS.length),
    HOSTS.map(() => 200),
  )
  socket.destroy()
})

t.test('CONNECT: 405 behind the answers to earlier requests, and the connection ends', async (t) => {
  const refused = await metric(api, 'redline_problems_total{code="method_not_allowed"}').catch(() => 0)
  const [user, late] = [newUser(), newUser()]
  const connects = 'CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n'
  for (const [before, statuses] of /** @type {[string, number[]][]} */ ([
    ['', [405]],
    [rawPost(JSON.stringify(user)), [201, 405]],
  ])) {
    const socket = await connect(api.url)
    socket.write(before + connects + rawPost(JSON.stringify(late)))
    await ended(socket)
    t.strictSame(await answers(socket, statuses.length), statuses)
    t.match(socket.text(), /\r\nAllow: \r\n/)
    t.match(socket.text(), /"code":"method_not_allowed"/)
    socket.destroy()
  }
  t.equal(await stored(late), 0)
  t.equal(await metric(api, 'redline_problems_total{code="method_not_allowed"}'), refused + 2)
})
